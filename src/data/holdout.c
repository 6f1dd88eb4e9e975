/* SPDX-License-Identifier: MIT */
/* The validation rows. docs/math/random.md */
#include "data/holdout.h"

#include <inttypes.h>

#include "base/memory.h"
#include "data/order.h"
#include "kernels/require.h"

enum { SHARE = 10 };

ll_status lli_holdout_new(int64_t **held, int64_t *held_count, int64_t **kept, int64_t *kept_count, ll_context *ctx, int64_t N,
                          uint64_t seed) {
    const lli_kernels *kernels;
    int64_t *order = NULL;
    bool *chosen = NULL;
    ll_status status;
    *held = *kept = NULL;
    *held_count = *kept_count = 0;
    if (N < 2)
        return lli_fail(ctx, LL_ERR_DATA, "%" PRId64 " row is too little to keep some apart for validation; expected 2 at least", N);
    LLI_DO(lli_kernels_require(ctx, &kernels));
    LLI_DO(lli_memory_new(ctx, &order, N, sizeof *order));
    LLI_DO(lli_memory_new(ctx, &chosen, N, sizeof *chosen));
    int64_t count = LLI_MAX(1, N / SHARE);
    LLI_DO(lli_memory_new(ctx, held, count, sizeof **held));
    LLI_DO(lli_memory_new(ctx, kept, N - count, sizeof **kept));
    for (int64_t i = 0; i < N; i++)
        order[i] = i;
    lli_order_permute(order, kernels, N, lli_rng_stream(seed, LLI_PURPOSE_HOLDOUT, 0, 0), 0);
    for (int64_t i = 0; i < count; i++)
        chosen[order[i]] = true;
    for (int64_t i = 0; i < N; i++)
        if (chosen[i])
            (*held)[(*held_count)++] = i;
        else
            (*kept)[(*kept_count)++] = i;
done:
    lli_memory_free(order);
    lli_memory_free(chosen);
    if (status != LL_OK) {
        lli_memory_free(*held);
        lli_memory_free(*kept);
        *held = *kept = NULL;
    }
    return status;
}
