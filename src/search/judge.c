/* SPDX-License-Identifier: MIT */
/* Numbers come from the rows that report. What is chosen (temperature, cut, method) is chosen on the others; for the choice of the method
 * a temperature is the one of the other half of them. */
#include "search/judge.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "calibrate/cross_fit.h"
#include "data/split.h"

static ll_status split_rows(lli_judge *j, ll_context *ctx) {
    bool paper = strcmp(j->options.protocol, "paper") == 0;
    int64_t N = j->test->rows.N;
    j->choose = j->options.choose && !paper ? j->options.choose : j->test;
    j->choosing = j->choose->rows.N;
    if (paper)
        lli_log(ctx, LL_LOG_NOTE, "`protocol paper`: the same %" PRId64 " test rows choose and report", N);
    else if (j->choose != j->test)
        lli_log(ctx, LL_LOG_NOTE, "%" PRId64 " validation rows choose, %" PRId64 " test rows report", j->choosing, N);
    else if (N < 2)
        return lli_fail(ctx, LL_ERR_DATA, "one test row cannot both choose and report; give more test rows, or validation rows");
    else {
        LLI_TRY(lli_split_half(&j->halves, ctx, N, j->seed, LLI_PURPOSE_SPLIT));
        j->choosing = N / 2;
        lli_log(ctx, LL_LOG_NOTE,
                "there are no validation rows: %" PRId64 " test rows, drawn by the seed, choose, the other %" PRId64 " report", j->choosing,
                N - j->choosing);
    }
    LLI_TRY(lli_memory_new(ctx, &j->chosen, j->choosing, sizeof *j->chosen));
    for (int64_t i = 0; i < j->choosing; i++)
        j->chosen[i] = j->halves ? j->halves[i] : i;
    return LL_OK;
}

ll_status lli_judge_init(lli_judge *j, ll_context *ctx, ll_comparison *out, const ll_dataset *test, const ll_compare_options *options,
                         uint64_t seed, int64_t most) {
    *j = (lli_judge){.out = out, .options = *options, .seed = seed, .test = test, .most = most};
    LLI_TRY(lli_comparison_init(out, ctx, most, options));
    LLI_TRY(lli_memory_new(ctx, &j->chooses, most, sizeof *j->chooses));
    LLI_TRY(lli_memory_new(ctx, &j->candidates, most, sizeof *j->candidates));
    LLI_TRY(lli_memory_new(ctx, &j->calibrations, most, sizeof *j->calibrations));
    LLI_TRY(split_rows(j, ctx));
    out->choosing = j->choosing;
    out->from = j->halves ? LLI_CHOOSING_HALF : j->choose == test ? LLI_CHOOSING_SAME : LLI_CHOOSING_APART;
    return LL_OK;
}

void lli_judge_release(lli_judge *j) {
    for (int64_t i = 0; i < j->most; i++) {
        if (j->chooses)
            ll_predictions_free(j->chooses[i]);
        if (j->calibrations)
            ll_calibration_free(j->calibrations[i]);
    }
    ll_predictions_free(j->point);
    void *blocks[] = {j->halves, j->chosen, j->chooses, j->candidates, j->calibrations};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
}

/* One ensemble under judgement. */
typedef struct trial {
    ll_ensemble *ensemble;
    bool fitted;
    ll_predictions *reports, *cuts, *chooses, *out; /* cuts: the choosing rows as the row has them, to find its cuts */
} trial;

static ll_status predict(ll_predictions **out, ll_context *ctx, const trial *t, const ll_dataset *data, bool probs) {
    const lli_predict_request request = {.probs = probs, .fitted = t->fitted};
    return lli_predictions_collect(out, ctx, t->ensemble, data, &request);
}

static ll_status predict_rows(ll_context *ctx, lli_judge *j, trial *t, ll_compare_row *row) {
    ll_predictions *all = NULL;
    double begin = lli_clock_seconds();
    ll_status status;
    LLI_DO(predict(&all, ctx, t, j->test, true));
    row->seconds_predict = lli_clock_seconds() - begin;
    row->seconds_per_thousand = 1000 * row->seconds_predict / (double)j->test->rows.N;
    if (j->choose != j->test)
        LLI_DO(predict(&t->cuts, ctx, t, j->choose, false));
    else
        LLI_DO(lli_predictions_pick(&t->cuts, ctx, all, j->chosen, j->choosing));
    if (j->choose == j->test)
        lli_predictions_drop(t->cuts, "probs");
    if (j->halves)
        LLI_DO(lli_predictions_pick(&t->reports, ctx, all, j->halves + j->choosing, j->test->rows.N - j->choosing));
    else {
        t->reports = all;
        all = NULL;
    }
    if (j->options.out)
        LLI_DO(predict(&t->out, ctx, t, j->options.out, true));
done:
    ll_predictions_free(all);
    return status;
}

static ll_status judge(ll_context *ctx, lli_judge *j, trial *t, int64_t i, bool calibrated) {
    ll_compare_row *row = &j->out->rows[i];
    if (calibrated) {
        const lli_predict_request request = {.fitted = t->fitted};
        LLI_TRY(lli_cross_fit(&t->chooses, &j->calibrations[i], ctx, t->ensemble, j->choose, j->chosen, j->choosing, &request, j->seed));
        row->temperature = ll_calibration_view(j->calibrations[i])->temperature;
        row->bytes = lli_ensemble_bytes(t->ensemble); /* the temperature is stored too */
    }
    LLI_TRY(predict_rows(ctx, j, t, row));
    const lli_comparison_points points = {&t->reports->view, t->out ? &t->out->view : NULL, &t->cuts->view,
                                          j->point ? &j->point->view : NULL};
    LLI_TRY(lli_comparison_measure(j->out, ctx, i, &points, j->seed));
    if (i == 0) {
        j->point = t->reports;
        t->reports = NULL;
    }
    j->chooses[i] = calibrated ? t->chooses : t->cuts;
    *(calibrated ? &t->chooses : &t->cuts) = NULL;
    return LL_OK;
}

ll_status lli_judge_add(ll_context *ctx, lli_judge *j, const ll_compare_row *begun, ll_ensemble *ensemble, bool fitted, int simplicity,
                        bool calibrated) {
    trial t = {.ensemble = ensemble, .fitted = fitted};
    int64_t i = lli_comparison_add(j->out, begun);
    ll_compare_row *row = &j->out->rows[i];
    row->bytes = lli_ensemble_bytes(ensemble);
    if (row->diverged)
        return LL_OK;
    ll_status status = judge(ctx, j, &t, i, calibrated);
    if (calibrated && status == LL_OK)
        status = ll_ensemble_set_calibration(ctx, ensemble, NULL);
    row->diverged = status == LL_ERR_DIVERGED;
    if (status == LL_OK)
        j->candidates[j->candidate_count++] = (lli_candidate){&j->chooses[i]->view, i, simplicity, calibrated};
    ll_predictions *predictions[] = {t.reports, t.cuts, t.chooses, t.out};
    for (size_t p = 0; p < LLI_COUNT(predictions); p++)
        ll_predictions_free(predictions[p]);
    return row->diverged ? LL_OK : status;
}
