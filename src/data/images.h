/* SPDX-License-Identifier: MIT */
/* Images as rows of bytes: [N,H,W,C], C = 1 (grey) or 3. A network reads x = (byte - shift) * scale. */
#ifndef LLI_DATA_IMAGES_H
#define LLI_DATA_IMAGES_H

#include "data/dataset.h"

/* The parts that a source of images has; each may be NULL. */
struct ll_images {
    ll_dataset *train, *test, *out;
    int32_t *classes; /* [K] original numbers of the classes, in the order of the labels; NULL without labels */
    int64_t K;
};

/* Images as they lie in a file: u8 [N,H,W], [N,H,W,C] or [N,C,H,W] with C = 1 or 3, and their labels. */
typedef struct lli_images_file {
    const char *name; /* begins the sentences about it */
    ll_array images;
    const ll_array *labels; /* NULL: none */
} lli_images_file;

/* A data set of the images of all files, one after the other, copied; all have labels or none. K as in ll_dataset_new. It is to be sealed
 * before use. */
ll_status lli_images_join(ll_dataset **out, ll_context *ctx, const lli_images_file *files, int64_t count, int64_t classes) LL_CHECK_RESULT;

/* Takes `pixels` over, also on failure: [N, height * width * channels]. */
ll_status lli_images_new(ll_dataset **out, ll_context *ctx, unsigned char *pixels, int64_t N, int64_t height, int64_t width,
                         int64_t channels) LL_CHECK_RESULT;

/* shift and scale of these images as training images: grey 0 and 1/255; colour mean and 1/(std + 1e-7) over all pixels and channels. */
void lli_images_measure(double *shift, double *scale, const ll_dataset *data);

/* Sets shift and scale, and takes the hash and the mean of |x|^2. */
ll_status lli_images_seal(ll_context *ctx, ll_dataset *data, double shift, double scale) LL_CHECK_RESULT;

/* Refuses images of another height, width or number of channels. The names begin the sentence. */
ll_status lli_images_check_shape(ll_context *ctx, const ll_dataset *data, const char *name, int64_t height, int64_t width, int64_t channels,
                                 const char *other) LL_CHECK_RESULT;

#endif
