/* SPDX-License-Identifier: MIT */
/* The row source: features or images in memory or in a mapped file, in place, or features in many files. */
#ifndef LLI_BASE_ROWS_H
#define LLI_BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/* Another view of an image, for training: a function of (seed, epoch, index of the row). `image` and `raw` are [h,w,c] and do not
 * overlap. */
typedef void lli_augment_fn(float *image, const float *raw, int64_t h, int64_t w, int64_t c, uint64_t seed, int64_t epoch, int64_t index,
                            const void *options);

/* Rows that lie in many files, one file after the other, and are copied out when they are needed. */
typedef struct lli_row_store lli_row_store;
struct lli_row_store {
    /* `count` bytes of all the rows, from `offset` on. Any thread may call it. */
    ll_status (*read)(lli_row_store *store, ll_context *ctx, void *out, int64_t offset, int64_t count);
    void (*ahead)(lli_row_store *store, ll_context *ctx, int64_t offset, int64_t count); /* says that these come next */
    void (*release)(lli_row_store *store);
};

typedef struct lli_rows {
    const void *features; /* [N,D]; NULL where a store has them: then lli_rows_block and lli_rows_batch bring them */
    bool half;            /* f16, else f32 */
    int64_t N, D;
    void (*ahead)(const void *bytes, size_t count); /* says that these bytes come next; NULL when all is in memory */
    const float *padded;             /* [N,ld] the same rows as the kernels use them in place, see data/padded.h; NULL: there are none */
    bool bytes;                      /* u8 instead of floats: x = (byte - shift) * scale. Only networks take such rows. */
    float shift, scale;              /* of bytes */
    int64_t height, width, channels; /* of an image in HWC order, D = height * width * channels; 0: a plain row */
    lli_augment_fn *augment;         /* used by steps of training only; NULL: none */
    const void *augment_options;
    lli_row_store *store; /* NULL: features has the rows */
} lli_rows;

static inline size_t lli_rows_size(const lli_rows *rows) { /* of an element, in bytes */
    return rows->bytes ? 1 : rows->half ? 2 : 4;
}

/* Bytes of memory that the two below need for n rows at a time; 0 where the rows lie in memory. */
static inline int64_t lli_rows_scratch(const lli_rows *rows, int64_t n) {
    return rows->store ? n * rows->D * (int64_t)lli_rows_size(rows) : 0;
}

/* The rows first .. first+n-1 as rows 0 .. n-1 of *out, in place or copied to `scratch`. */
ll_status lli_rows_block(lli_rows *out, ll_context *ctx, const lli_rows *rows, void *scratch, int64_t first, int64_t n) LL_CHECK_RESULT;
/* The rows of the list, copied to `scratch`, as rows 0 .. n-1 of *out. Of a store only. */
ll_status lli_rows_batch(lli_rows *out, ll_context *ctx, const lli_rows *rows, void *scratch, const int64_t *list,
                         int64_t n) LL_CHECK_RESULT;
/* Says that rows first .. first+n-1 come next. */
void lli_rows_ahead(ll_context *ctx, const lli_rows *rows, int64_t first, int64_t n);

#endif
