/* SPDX-License-Identifier: MIT */
/* The row source: features or images in memory or in a mapped file, in place. */
#ifndef LLI_BASE_ROWS_H
#define LLI_BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Another view of an image, for training: a function of (seed, epoch, index of the row). `image` and `raw` are [h,w,c] and do not
 * overlap. */
typedef void lli_augment_fn(float *image, const float *raw, int64_t h, int64_t w, int64_t c, uint64_t seed, int64_t epoch, int64_t index,
                            const void *options);

typedef struct lli_rows {
    const void *features; /* [N,D] */
    bool half;            /* f16, else f32 */
    int64_t N, D;
    void (*ahead)(const void *bytes, size_t count); /* says that these bytes come next; NULL when all is in memory */
    const float *padded; /* [N,ld] the same rows as the kernels use them in place, see data/padded.h; NULL: there are none */
    bool bytes;          /* u8 instead of floats: x = (byte - shift) * scale. Only networks take such rows. */
    float shift, scale;  /* of bytes */
    int64_t height, width, channels; /* of an image in HWC order, D = height * width * channels; 0: a plain row */
    lli_augment_fn *augment;         /* used by steps of training only; NULL: none */
    const void *augment_options;
} lli_rows;

static inline size_t lli_rows_size(const lli_rows *rows) { /* of an element, in bytes */
    return rows->bytes ? 1 : rows->half ? 2 : 4;
}

#endif
