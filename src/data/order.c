/* SPDX-License-Identifier: MIT */
/* Shuffles and resamples. docs/math/random.md */
#include "data/order.h"

#include <string.h>

#include "base/rng.h"

void lli_order_shuffle(int64_t *order, const int64_t *list, int64_t N, uint64_t seed, int64_t member, int64_t epoch) {
    if (list)
        memcpy(order, list, (size_t)N * sizeof *order);
    else
        for (int64_t i = 0; i < N; i++)
            order[i] = i;
    lli_stream stream = lli_rng_stream(seed, LLI_PURPOSE_SHUFFLE, member, epoch);
    for (int64_t i = N - 1; i > 0; i--) {
        int64_t j = (int64_t)lli_rng_below(stream, (uint64_t)i, (uint64_t)i + 1), row = order[i];
        order[i] = order[j];
        order[j] = row;
    }
}

void lli_order_resample(int64_t *list, int64_t N, uint64_t seed, int64_t member) {
    lli_stream stream = lli_rng_stream(seed, LLI_PURPOSE_RESAMPLE, member, 0);
    for (int64_t i = 0; i < N; i++)
        list[i] = (int64_t)lli_rng_below(stream, (uint64_t)i, (uint64_t)N);
}
