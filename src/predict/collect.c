/* SPDX-License-Identifier: MIT */
/* Predictions of a whole data set in memory, and of some of its rows. */
#include <string.h>

#include "base/memory.h"
#include "predict/predictions.h"
#include "predict/predictor.h"

/* Room for n points of K classes; those confidences that `has` says. */
static ll_status room(ll_predictions **out, ll_context *ctx, int64_t n, int64_t K, const bool has[LL_CONFIDENCE_COUNT], bool truth,
                      bool probs) {
    LLI_TRY(lli_predictions_alloc(out, ctx, n, K));
    ll_predictions *p = *out;
    LLI_TRY(lli_memory_new(ctx, &p->vote, n, sizeof *p->vote));
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        if (x != LLI_EXTRA_LOG_TRUE || truth) {
            LLI_TRY(lli_memory_new(ctx, &p->extra[x], n, sizeof(double)));
            *lli_extra_in(&p->view, x) = p->extra[x];
        }
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (has[c]) {
            LLI_TRY(lli_memory_new(ctx, &p->confidence[c], n, sizeof(double)));
            p->view.confidence[c] = p->confidence[c];
        }
    p->view.vote = p->vote;
    if (!probs)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &p->mean, n * K, sizeof *p->mean));
    p->view.probs = ll_array_view(p->mean, LL_DTYPE_F32, 2, (int64_t[]){n, K});
    return LL_OK;
}

static ll_status keep(ll_context *ctx, void *arg, int64_t first, int64_t n, const ll_prediction *block) {
    (void)ctx;
    ll_predictions *p = arg;
    ll_prediction from = *block;
    int64_t K = p->view.classes;
    memcpy(p->label + first, block->label, (size_t)n * sizeof *p->label);
    memcpy(p->vote + first, block->vote, (size_t)n * sizeof *p->vote);
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        if (p->extra[x])
            memcpy(p->extra[x] + first, *lli_extra_of(&from, x), (size_t)n * sizeof(double));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (p->confidence[c])
            memcpy(p->confidence[c] + first, block->confidence[c], (size_t)n * sizeof(double));
    if (p->mean)
        memcpy(p->mean + first * K, block->probs, (size_t)(n * K) * sizeof *p->mean);
    return LL_OK;
}

ll_status lli_predictions_collect(ll_predictions **out, ll_context *ctx, const ll_ensemble *e, const ll_dataset *data,
                                  const lli_predict_request *request, lli_predict_totals *totals) {
    *out = NULL;
    ll_predictions *p = NULL;
    bool has[LL_CONFIDENCE_COUNT];
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        has[c] = e->plan.S > 1 || !ll_confidence_needs_members((ll_confidence)c);
    ll_status status;
    LLI_DO(room(&p, ctx, data->rows.N, e->plan.K, has, data->labels != NULL, request->probs));
    p->view.truth = data->labels;
    LLI_DO(lli_predict_stream(ctx, e, data, request, totals, keep, p));
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    return status;
}

static ll_status pick_truth(ll_context *ctx, ll_predictions *p, const ll_outcome *from, const int64_t *rows) {
    LLI_TRY(lli_memory_new(ctx, &p->truth, p->view.n, sizeof *p->truth));
    for (int64_t i = 0; i < p->view.n; i++)
        p->truth[i] = from->truth[rows[i]];
    p->view.truth = p->truth;
    return LL_OK;
}

ll_status lli_predictions_pick(ll_predictions **out, ll_context *ctx, const ll_predictions *from, const int64_t *rows, int64_t n) {
    *out = NULL;
    ll_predictions *p = NULL;
    bool has[LL_CONFIDENCE_COUNT];
    int64_t K = from->view.classes;
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        has[c] = from->confidence[c] != NULL;
    ll_status status;
    LLI_DO(room(&p, ctx, n, K, has, from->view.truth != NULL, from->mean != NULL));
    for (int64_t i = 0; i < n; i++) {
        p->label[i] = from->label[rows[i]];
        p->vote[i] = from->vote[rows[i]];
        for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
            if (p->extra[x])
                p->extra[x][i] = from->extra[x][rows[i]];
        if (p->mean)
            memcpy(p->mean + i * K, from->mean + rows[i] * K, (size_t)K * sizeof *p->mean);
    }
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        for (int64_t i = 0; p->confidence[c] && i < n; i++)
            p->confidence[c][i] = from->confidence[c][rows[i]];
    if (from->view.truth)
        LLI_DO(pick_truth(ctx, p, &from->view, rows));
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    return status;
}
