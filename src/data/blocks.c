/* SPDX-License-Identifier: MIT */
/* Block shuffles. docs/math/random.md */
#include "data/blocks.h"

#include <string.h>

#include "data/order.h"

int64_t lli_blocks_count(int64_t N, int64_t block_rows) {
    return (N - 1) / block_rows + 1;
}

void lli_blocks_shuffle(int64_t *order, int64_t *blocks, const lli_kernels *kernels, const int64_t *list, int64_t N, int64_t block_rows,
                        uint64_t seed, int64_t member, int64_t epoch) {
    lli_stream stream = lli_rng_stream(seed, LLI_PURPOSE_SHUFFLE, member, epoch);
    int64_t count = lli_blocks_count(N, block_rows), at = 0;
    for (int64_t b = 0; b < count; b++)
        blocks[b] = b;
    lli_order_permute(blocks, kernels, count, stream, N); /* draws 0..N-1 are the rows' */
    for (int64_t b = 0; b < count; b++) {
        int64_t first = blocks[b] * block_rows, n = LLI_MIN(block_rows, N - first);
        for (int64_t i = 0; i < n; i++)
            order[at + i] = list ? list[first + i] : first + i;
        lli_order_permute(order + at, kernels, n, stream, first);
        at += n;
    }
}

void lli_blocks_sort(int64_t *list, int64_t *counts, int64_t N) {
    memset(counts, 0, (size_t)N * sizeof *counts);
    for (int64_t i = 0; i < N; i++)
        counts[list[i]]++;
    int64_t at = 0;
    for (int64_t row = 0; row < N; row++)
        for (int64_t c = 0; c < counts[row]; c++)
            list[at++] = row;
}
