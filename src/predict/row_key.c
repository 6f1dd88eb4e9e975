/* SPDX-License-Identifier: MIT */
/* Keys of rows by their content. */
#include "predict/row_key.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/input.h"

ll_status lli_row_keys_init(ll_context *ctx, lli_row_keys *keys, int64_t rows, int64_t D) {
    LLI_TRY(lli_memory_new(ctx, &keys->key, rows, sizeof *keys->key));
    LLI_TRY(lli_memory_new(ctx, &keys->row, D, sizeof *keys->row));
    return lli_memory_new(ctx, &keys->scratch, lli_input_floats(D), sizeof *keys->scratch);
}

void lli_row_keys_release(lli_row_keys *keys) {
    lli_memory_free(keys->key);
    lli_memory_free(keys->row);
    lli_memory_free(keys->scratch);
}

void lli_row_keys_fill(lli_row_keys *keys, const lli_kernels *kernels, const lli_rows *rows, int64_t first, int64_t n) {
    const lli_input input = {.kernels = kernels, .rows = rows, .first = first};
    for (int64_t i = 0; i < n; i++) {
        lli_input_read(keys->row, &input, i, 1, keys->scratch);
        lli_hash hash;
        lli_hash_init(&hash);
        lli_hash_add(&hash, keys->row, (size_t)rows->D * sizeof *keys->row);
        keys->key[i] = lli_hash_start(&hash);
    }
}
