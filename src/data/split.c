/* SPDX-License-Identifier: MIT */
/* A half of the rows drawn without replacement. docs/math/selection.md */
#include "data/split.h"

#include "base/memory.h"
#include "data/order.h"
#include "kernels/require.h"

ll_status lli_split_half(int64_t **rows, ll_context *ctx, int64_t N, uint64_t seed, lli_purpose purpose) {
    const lli_kernels *kernels;
    int64_t *mark = NULL, at = 0;
    ll_status status;
    *rows = NULL;
    LLI_DO(lli_kernels_require(ctx, &kernels));
    LLI_DO(lli_memory_new(ctx, &mark, N, sizeof *mark));
    LLI_DO(lli_memory_new(ctx, rows, N, sizeof **rows));
    for (int64_t i = 0; i < N; i++)
        mark[i] = i < N / 2;
    lli_order_permute(mark, kernels, N, lli_rng_stream(seed, purpose, 0, 0), 0);
    for (int64_t in = 1; in >= 0; in--)
        for (int64_t i = 0; i < N; i++)
            if (mark[i] == in)
                (*rows)[at++] = i;
done:
    lli_memory_free(mark);
    return status;
}
