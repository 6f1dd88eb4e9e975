/* SPDX-License-Identifier: MIT */
/* The matrix of costs, and what it decides. */
#include "base/costs.h"

#include <inttypes.h>
#include <math.h>

#include "base/array.h"
#include "base/memory.h"

ll_status lli_costs_read(double **out, ll_context *ctx, const ll_array *costs, int64_t K) {
    char text[LLI_ARRAY_TEXT];
    *out = NULL;
    LLI_TRY(lli_array_check(ctx, "costs", costs));
    if (costs->rank != 2 || costs->shape[0] != K || costs->shape[1] != K)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the cost matrix is %s; expected [%" PRId64 ",%" PRId64 "]: one row per true class, one column per decision",
                        lli_array_text(text, costs), K, K);
    for (int64_t i = 0; i < K * K; i++)
        if (!isfinite(lli_array_real(costs, i)))
            return lli_fail(ctx, LL_ERR_DATA, "the cost matrix has %g in row %" PRId64 ", column %" PRId64 "; expected a finite number",
                            lli_array_real(costs, i), i / K, i % K);
    LLI_TRY(lli_memory_new(ctx, out, K * K, sizeof **out));
    lli_array_to_f64(*out, costs, 0, K * K);
    return LL_OK;
}

int32_t lli_costs_decide(double *expected, const double *p, const double *costs, int64_t K) {
    int64_t least = 0;
    for (int64_t j = 0; j < K; j++)
        expected[j] = 0;
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < K; j++)
            expected[j] += p[k] * costs[k * K + j];
    for (int64_t j = 1; j < K; j++)
        if (expected[j] < expected[least])
            least = j;
    return (int32_t)least;
}
