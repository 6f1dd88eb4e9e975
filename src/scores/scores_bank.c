/* SPDX-License-Identifier: MIT */
/* The training rows that new ones are held against. */
#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/order.h"
#include "scores/scores_fit.h"

enum { SHARE = 10, MOST = 100000 }; /* one row in so many, and no more than so many */

/* The chosen rows, in rising order. */
static ll_status fill(ll_context *ctx, uint16_t *bank, const bool *chosen, const lli_scores_rows *r) {
    double *row;
    ll_status status = LL_OK;
    LLI_TRY(lli_memory_new(ctx, &row, r->D, sizeof *row));
    for (int64_t i = 0; i < r->N; i++) {
        if (!chosen[i])
            continue;
        LLI_DO(lli_cancel_check(ctx));
        LLI_DO(lli_scores_fit_read(ctx, row, r, i, 1, true, 0));
        for (int64_t j = 0; j < r->D; j++)
            *bank++ = lli_half_from_float((float)row[j]);
    }
done:
    lli_memory_free(row);
    return status;
}

ll_status lli_scores_fit_bank(ll_context *ctx, lli_scores *s, const lli_scores_rows *r, uint64_t seed) {
    int64_t *order = NULL, rows = LLI_MIN((r->N - 1) / SHARE + 1, (int64_t)MOST);
    bool *chosen = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &order, r->N, sizeof *order));
    LLI_DO(lli_memory_new(ctx, &chosen, r->N, sizeof *chosen));
    for (int64_t i = 0; i < r->N; i++)
        order[i] = i;
    lli_order_permute(order, r->kernels, r->N, lli_rng_stream(seed, LLI_PURPOSE_BANK, 0, 0), 0);
    for (int64_t i = 0; i < rows; i++)
        chosen[order[i]] = true;
    LLI_DO(lli_scores_allocate(ctx, s, LLI_SCORES_BANK, rows, r->D));
    LLI_DO(fill(ctx, s->owned[LLI_SCORES_BANK], chosen, r));
done:
    lli_memory_free(order);
    lli_memory_free(chosen);
    return status;
}
