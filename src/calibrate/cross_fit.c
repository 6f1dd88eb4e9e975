/* SPDX-License-Identifier: MIT */
/* Two halves, each other's teachers. */
#include "calibrate/cross_fit.h"

#include "base/memory.h"
#include "data/dataset_select.h"
#include "data/split.h"

typedef struct work {
    ll_ensemble *ensemble;
    const ll_dataset *data;
    const lli_predict_request *request;
    const int64_t *rows; /* [n] */
    int64_t *place;      /* [n] of `rows`: those of one half, then those of the other */
    int64_t *drawn;      /* [n] rows in that order */
    int64_t n;
} work;

static ll_status calibrate(ll_calibration **out, ll_context *ctx, const work *w, const int64_t *rows, int64_t n) {
    ll_calibrate_options o = ll_calibrate_options_default();
    ll_dataset *some;
    o.force = true; /* whose rows these are is the caller's affair */
    LLI_TRY(lli_dataset_select(&some, ctx, w->data, rows, n, NULL, 0));
    ll_status status = ll_calibrate(out, ctx, w->ensemble, some, &o);
    ll_dataset_free(some);
    return status;
}

/* Half h with the temperature of the other, into its places. */
static ll_status fit_half(ll_predictions **out, ll_context *ctx, const work *w, int h) {
    int64_t first[2] = {0, w->n / 2}, n[2] = {w->n / 2, w->n - w->n / 2};
    ll_calibration *other = NULL;
    ll_predictions *all = NULL, *half = NULL;
    ll_status status;
    LLI_DO(calibrate(&other, ctx, w, w->drawn + first[1 - h], n[1 - h]));
    LLI_DO(ll_ensemble_set_calibration(ctx, w->ensemble, other));
    LLI_DO(lli_predictions_collect(&all, ctx, w->ensemble, w->data, w->request));
    if (!*out)
        LLI_DO(lli_predictions_pick(out, ctx, all, w->rows, w->n));
    LLI_DO(lli_predictions_pick(&half, ctx, all, w->drawn + first[h], n[h]));
    lli_predictions_overwrite(*out, w->place + first[h], half);
done:
    ll_calibration_free(other);
    ll_predictions_free(all);
    ll_predictions_free(half);
    return status;
}

ll_status lli_cross_fit(ll_predictions **out, ll_calibration **calibration, ll_context *ctx, ll_ensemble *ensemble, const ll_dataset *data,
                        const int64_t *rows, int64_t n, const lli_predict_request *request, uint64_t seed) {
    work w = {.ensemble = ensemble, .data = data, .request = request, .rows = rows, .n = n};
    ll_status status;
    *out = NULL;
    *calibration = NULL;
    LLI_DO(lli_split_half(&w.place, ctx, n, seed, LLI_PURPOSE_FOLD));
    LLI_DO(lli_memory_new(ctx, &w.drawn, n, sizeof *w.drawn));
    for (int64_t i = 0; i < n; i++)
        w.drawn[i] = rows[w.place[i]];
    for (int h = 0; h < 2; h++)
        LLI_DO(fit_half(out, ctx, &w, h));
    LLI_DO(calibrate(calibration, ctx, &w, rows, n));
    LLI_DO(ll_ensemble_set_calibration(ctx, ensemble, *calibration));
done:
    lli_memory_free(w.place);
    lli_memory_free(w.drawn);
    if (status != LL_OK) {
        ll_predictions_free(*out);
        ll_calibration_free(*calibration);
        *out = NULL;
        *calibration = NULL;
    }
    return status;
}
