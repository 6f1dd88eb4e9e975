/* SPDX-License-Identifier: MIT */
/* The validation rows. docs/math/random.md */
#include "data/holdout.h"

#include <inttypes.h>

#include "base/memory.h"
#include "data/order.h"
#include "kernels/require.h"

enum { SHARE = 10 };

ll_status lli_holdout_new(int64_t **held_out, int64_t *held_out_count, int64_t **training, int64_t *training_count, ll_context *ctx,
                          int64_t N, uint64_t seed) {
    const lli_kernels *kernels;
    int64_t *order = NULL;
    bool *chosen = NULL;
    ll_status status;
    *held_out = *training = NULL;
    *held_out_count = *training_count = 0;
    if (N < 2)
        return lli_fail(ctx, LL_ERR_DATA, "%" PRId64 " row is too few to hold some out for validation; expected at least 2", N);
    LLI_DO(lli_kernels_require(ctx, &kernels));
    LLI_DO(lli_memory_new(ctx, &order, N, sizeof *order));
    LLI_DO(lli_memory_new(ctx, &chosen, N, sizeof *chosen));
    int64_t count = LLI_MAX(1, N / SHARE);
    LLI_DO(lli_memory_new(ctx, held_out, count, sizeof **held_out));
    LLI_DO(lli_memory_new(ctx, training, N - count, sizeof **training));
    for (int64_t i = 0; i < N; i++)
        order[i] = i;
    lli_order_permute(order, kernels, N, lli_rng_stream(seed, LLI_PURPOSE_HOLDOUT, 0, 0), 0);
    for (int64_t i = 0; i < count; i++)
        chosen[order[i]] = true;
    for (int64_t i = 0; i < N; i++)
        if (chosen[i])
            (*held_out)[(*held_out_count)++] = i;
        else
            (*training)[(*training_count)++] = i;
done:
    lli_memory_free(order);
    lli_memory_free(chosen);
    if (status != LL_OK) {
        lli_memory_free(*held_out);
        lli_memory_free(*training);
        *held_out = *training = NULL;
    }
    return status;
}
