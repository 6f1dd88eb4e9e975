/* SPDX-License-Identifier: MIT */
/* All members together choose the rows and their labels; then each member by itself gives its probability of them. */
#include "predict/member_draws.h"

#include <math.h>

#include "base/memory.h"
#include "data/dataset_select.h"
#include "data/row_list.h"
#include "predict/predictions.h"

/* place [most] of the smallest margins, the smallest first; of equal ones the earlier row. */
static void smallest(int64_t *place, int64_t most, const double *logtail, int64_t n, bool *taken) {
    for (int64_t i = 0; i < most; i++) {
        int64_t best = -1;
        for (int64_t j = 0; j < n; j++)
            if (!taken[j] && (best < 0 || logtail[j] > logtail[best]))
                best = j;
        taken[best] = true;
        place[i] = best;
    }
}

/* out->row and the labels of these rows, as a data set. */
static ll_status choose(ll_dataset **out, lli_member_draws *draws, ll_context *ctx, const ll_ensemble *pooled, const ll_dataset *data,
                        int64_t candidates, int64_t most) {
    int64_t n, *rows = NULL, *place = NULL;
    bool *taken = NULL;
    ll_dataset *spread = NULL;
    ll_predictions *p = NULL;
    int32_t *label = NULL;
    ll_status status;
    LLI_DO(lli_row_list_spread(ctx, &rows, &n, data->rows.N, candidates, lli_rng_stream(0, LLI_PURPOSE_DIAGNOSE, 0, 0)));
    LLI_DO(lli_dataset_look(&spread, ctx, data, rows, n));
    lli_meter meter;
    lli_meter_init(&meter, "diagnosing", n);
    LLI_DO(lli_predictions_collect(&p, ctx, pooled, spread, &(lli_predict_request){.meter = &meter}));
    draws->among = n;
    draws->R = LLI_MIN(most, n);
    LLI_DO(lli_memory_new(ctx, &place, draws->R, sizeof *place));
    LLI_DO(lli_memory_new(ctx, &taken, n, sizeof *taken));
    LLI_DO(lli_memory_new(ctx, &label, draws->R, sizeof *label));
    LLI_DO(lli_memory_new(ctx, &draws->row, draws->R, sizeof *draws->row));
    smallest(place, draws->R, p->view.margin_logtail, n, taken);
    for (int64_t i = 0; i < draws->R; i++) {
        draws->row[i] = rows[place[i]];
        label[i] = p->view.label[place[i]];
    }
    LLI_DO(lli_dataset_look(out, ctx, data, draws->row, draws->R));
    lli_dataset_drop_labels(*out);
    LLI_DO(lli_dataset_take_labels(ctx, *out, "labels", ll_array_view(label, LL_DTYPE_I32, 1, &draws->R), pooled->plan.K));
done:
    ll_predictions_free(p);
    ll_dataset_free(spread);
    lli_memory_free(rows);
    lli_memory_free(place);
    lli_memory_free(taken);
    lli_memory_free(label);
    return status;
}

ll_status lli_member_draws_init(lli_member_draws *out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                                int64_t candidates, int64_t most) {
    ll_ensemble pooled = *ensemble;
    ll_dataset *chosen = NULL;
    ll_predictions *p = NULL;
    lli_meter meter;
    ll_status status;
    pooled.plan.calibration = pooled.plan.cut = NULL;
    pooled.plan.scores.which = 0;
    *out = (lli_member_draws){.S = ensemble->plan.S};
    LLI_DO(lli_predict_check_rows(ctx, ensemble, &data->rows));
    LLI_DO(choose(&chosen, out, ctx, &pooled, data, candidates, most));
    LLI_DO(lli_memory_new(ctx, &out->p, out->R * out->S, sizeof *out->p));
    lli_meter_init(&meter, "diagnosing", out->R * out->S);
    for (int64_t s = 0; s < out->S; s++) {
        const ll_ensemble member = lli_ensemble_member(&pooled, s);
        LLI_DO(lli_predictions_collect(&p, ctx, &member, chosen, &(lli_predict_request){.meter = &meter}));
        for (int64_t i = 0; i < out->R; i++)
            out->p[i * out->S + s] = exp(p->view.log_true[i]);
        ll_predictions_free(p);
        p = NULL;
    }
done:
    ll_predictions_free(p);
    ll_dataset_free(chosen);
    if (status != LL_OK)
        lli_member_draws_release(out);
    return status;
}

void lli_member_draws_release(lli_member_draws *draws) {
    lli_memory_free(draws->row);
    lli_memory_free(draws->p);
    *draws = (lli_member_draws){0};
}
