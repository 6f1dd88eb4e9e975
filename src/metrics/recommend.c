/* SPDX-License-Identifier: MIT */
/* The rule of compare, for its table, its JSON and the page. */
#include "metrics/recommend.h"

#include <math.h>

#include "base/memory.h"
#include "metrics/contrast.h"
#include "metrics/evaluate.h"
#include "metrics/interval.h"

/* Does a come before b where both are as good? */
static bool is_simpler(const lli_candidate *candidates, int64_t a, int64_t b) {
    const lli_candidate *x = &candidates[a], *y = &candidates[b];
    if (x->simplicity != y->simplicity)
        return x->simplicity > y->simplicity;
    return x->calibrated != y->calibrated ? y->calibrated : a < b;
}

/* value [count]: the criterion, as less is better; returns whether it is the coverage, negated. */
static ll_status measure(double *value, bool *coverage, ll_context *ctx, const lli_candidate *candidates, int64_t count, double risk) {
    ll_evaluate_options o = ll_evaluate_options_default();
    ll_evaluation *e;
    ll_context aside = *ctx; /* these numbers are not shown, and nothing is said about them */
    aside.quiet = true;
    o.interval = 0;
    o.risk = isnan(risk) ? o.risk : risk;
    *coverage = false;
    LLI_TRY(lli_memory_new(ctx, &e, 1, sizeof *e));
    ll_status status = LL_OK;
    for (int by_coverage = !isnan(risk); by_coverage >= 0 && !*coverage; by_coverage--)
        for (int64_t k = 0; k < count; k++) {
            LLI_DO(lli_evaluate(e, &aside, candidates[k].points, NULL, &o, NULL));
            value[k] = by_coverage ? -e->coverage_at_risk[LL_CONFIDENCE_SR] : e->selective[LL_CONFIDENCE_SR].aurc;
            *coverage = *coverage || (by_coverage && value[k] < 0);
        }
done:
    lli_evaluate_release(e);
    lli_memory_free(e);
    return status;
}

static int64_t find_best(const lli_candidate *candidates, const double *value, int64_t count) {
    int64_t best = 0;
    for (int64_t k = 1; k < count; k++)
        if (value[k] < value[best] || (value[k] == value[best] && is_simpler(candidates, k, best)))
            best = k;
    return best;
}

static bool covers_zero(ll_interval i) {
    return !(i.lo > 0 || i.hi < 0);
}

ll_status lli_recommend(ll_recommendation *out, ll_context *ctx, const lli_candidate *candidates, int64_t count, double risk, double level,
                        uint64_t seed) {
    double *value = NULL;
    bool coverage;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &value, count, sizeof *value));
    LLI_DO(measure(value, &coverage, ctx, candidates, count, risk));
    int64_t best = find_best(candidates, value, count), chosen = best;
    ll_metric by = coverage ? LL_METRIC_COVERAGE_AT_RISK : LL_METRIC_AURC;
    const lli_contrast_plan plan = {LL_CONFIDENCE_SR, level, coverage ? risk : 0, seed};
    ll_difference gap = {.value = 0, .interval = lli_interval_none};
    for (int64_t k = 0; k < count; k++) {
        ll_difference to_best[LL_METRIC_COUNT];
        if (k == best || !is_simpler(candidates, k, chosen))
            continue;
        const lli_contrast_side first = {.points = candidates[best].points}, second = {.points = candidates[k].points};
        LLI_DO(lli_contrast_measure(to_best, ctx, &first, &second, &plan));
        if (!covers_zero(to_best[by].interval))
            continue;
        chosen = k;
        gap = to_best[by];
    }
    *out = (ll_recommendation){.row = candidates[chosen].row,
                               .best = candidates[best].row,
                               .criterion = coverage ? "coverage_at_risk" : "aurc_sr",
                               .value = fabs(value[chosen]),
                               .best_value = fabs(value[best]),
                               .difference = gap.value,
                               .interval = gap.interval,
                               .n = candidates[0].points->n};
done:
    lli_memory_free(value);
    return status;
}
