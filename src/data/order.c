/* SPDX-License-Identifier: MIT */
/* Shuffles, resamples and independent batches. docs/math/random.md */
#include "data/order.h"

#include <string.h>

enum { CHUNK = 512 }; /* draws at a time */

void lli_order_permute(int64_t *list, const lli_kernels *kernels, int64_t n, lli_stream stream, int64_t first) {
    uint64_t place[CHUNK];
    for (int64_t end = n, start; end > 1; end = start) {
        start = LLI_MAX(1, end - CHUNK);
        kernels->below(place, stream, first + start, end - start, (uint64_t)start + 1, 1);
        for (int64_t i = end - 1; i >= start; i--) {
            int64_t j = (int64_t)place[i - start], kept = list[i];
            list[i] = list[j];
            list[j] = kept;
        }
    }
}

void lli_order_shuffle(int64_t *order, const lli_kernels *kernels, const int64_t *list, int64_t N, uint64_t seed, int64_t member,
                       int64_t epoch) {
    if (list)
        memcpy(order, list, (size_t)N * sizeof *order);
    else
        for (int64_t i = 0; i < N; i++)
            order[i] = i;
    lli_order_permute(order, kernels, N, lli_rng_stream(seed, LLI_PURPOSE_SHUFFLE, member, epoch), 0);
}

/* n draws below N. */
static void draw(int64_t *out, const lli_kernels *kernels, int64_t n, int64_t N, lli_stream stream) {
    uint64_t row[CHUNK];
    for (int64_t first = 0; first < n; first += CHUNK) {
        int64_t count = LLI_MIN(CHUNK, n - first);
        kernels->below(row, stream, first, count, (uint64_t)N, 0);
        memcpy(out + first, row, (size_t)count * sizeof *row);
    }
}

void lli_order_resample(int64_t *list, const lli_kernels *kernels, int64_t N, uint64_t seed, int64_t member) {
    draw(list, kernels, N, N, lli_rng_stream(seed, LLI_PURPOSE_RESAMPLE, member, 0));
}

void lli_order_batch(int64_t *batch, const lli_kernels *kernels, const int64_t *list, int64_t N, int64_t B, uint64_t seed, int64_t member,
                     int64_t step) {
    draw(batch, kernels, B, N, lli_rng_stream(seed, LLI_PURPOSE_BATCH, member, step));
    for (int64_t i = 0; list && i < B; i++)
        batch[i] = list[batch[i]];
}
