/* SPDX-License-Identifier: MIT */
/* Data augmentation: each image is turned, shifted and mirrored a little, anew in every epoch. A function of (seed, epoch, index of the
 * row), so nothing is saved and any thread makes any image. docs/math/augment.md */
#ifndef LLI_DATA_AUGMENT_H
#define LLI_DATA_AUGMENT_H

#include "base/rows.h"
#include "base/text.h"

typedef struct lli_augment {
    double rotate; /* at most so many degrees either way */
    double shift;  /* at most this share of the height and of the width, either way */
    bool flip;     /* left and right, half of the time */
} lli_augment;

/* "none" (or NULL), or any of "rotate=15,shift=0.1,flip". */
ll_status lli_augment_parse(lli_augment *out, ll_context *ctx, const char *text) LL_CHECK_RESULT;
void lli_augment_text(lli_text *out, const lli_augment *augment); /* the same, in this order */
bool lli_augment_is_none(const lli_augment *augment);

/* What happens to one image: pixel (i,j) of the result is the image at R ((i,j) - centre + (dy,dx)) + centre, R a turn by `angle`; then
 * flip. */
typedef struct lli_augment_move {
    double angle, dy, dx; /* radians, pixels */
    bool flip;
} lli_augment_move;

lli_augment_move lli_augment_draw(const lli_augment *augment, int64_t h, int64_t w, uint64_t seed, int64_t epoch, int64_t index);
/* Bilinear; beyond the border the edge repeats. `image` and `raw` [h,w,c] do not overlap. */
void lli_augment_apply(float *image, const float *raw, int64_t h, int64_t w, int64_t c, const lli_augment_move *move);

/* Both, as lli_rows wants it; `options` is a lli_augment. */
lli_augment_fn lli_augment_image;

#endif
