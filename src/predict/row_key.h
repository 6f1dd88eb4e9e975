/* SPDX-License-Identifier: MIT */
/* The key of a row by its content: what is random at prediction (masks, draws) then depends on the row alone, not on its number or on its
 * batch. It is the first 64 bits of the SHA-256 of the row as f32, little-endian, read as a big-endian number. Whoever draws with it
 * numbers its random blocks from the key on: block = key + b, b = 0, 1, .. (modulo 2^64), in a stream of its own purpose.
 * docs/math/random.md */
#ifndef LLI_PREDICT_ROW_KEY_H
#define LLI_PREDICT_ROW_KEY_H

#include "base/context.h"
#include "kernels/kernels.h"

typedef struct lli_row_keys {
    uint64_t *key; /* [rows]; NULL where the ensemble goes by row numbers */
    float *row, *scratch;
} lli_row_keys;

ll_status lli_row_keys_init(ll_context *ctx, lli_row_keys *keys, int64_t rows, int64_t D) LL_CHECK_RESULT;
void lli_row_keys_release(lli_row_keys *keys);
/* Keys of rows first .. first+n-1. Bytes of images are taken as the numbers that a network sees. */
void lli_row_keys_fill(lli_row_keys *keys, const lli_kernels *kernels, const lli_rows *rows, int64_t first, int64_t n);

#endif
