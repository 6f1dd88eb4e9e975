/* SPDX-License-Identifier: MIT */
/* The cut of a confidence for a wanted risk or coverage, and all cuts. */
#include "metrics/threshold.h"

#include "base/abi.h"
#include "base/memory.h"
#include "metrics/outcome.h"
#include "metrics/selective.h"

/* A cut is applied to the confidence itself, so points are grouped by it and not by the tail. */
static ll_status threshold_curve(lli_curve *curve, ll_context *ctx, const ll_outcome *given, ll_confidence by) {
    ll_status status = LL_OK;
    uint8_t *wrong = NULL;
    ll_outcome taken = {0};
    const ll_outcome *points = &taken;
    LLI_TRY(lli_outcome_take(&taken, ctx, given));
    LLI_TRY(lli_outcome_check_truth(ctx, LLI_OUTCOME_POINTS, points));
    if ((unsigned)by >= LL_CONFIDENCE_COUNT)
        return lli_fail(ctx, LL_ERR_USAGE, "there is no confidence number %d", (int)by);
    if (!lli_outcome_has(points, by))
        return lli_fail(ctx, LL_ERR_USAGE, "these predictions have no confidence %s%s", ll_confidence_name(by),
                        ll_confidence_needs_members(by) ? "; it needs at least two members" : "");
    LLI_DO(lli_memory_new(ctx, &wrong, points->n, 1));
    LLI_DO(lli_curve_init(curve, ctx, points->n));
    lli_outcome_mark_errors(wrong, points->label, points);
    lli_curve_add(curve, points->confidence[by], points->n, false, wrong, false);
    LLI_DO(lli_curve_close(ctx, curve));
done:
    lli_memory_free(wrong);
    return status;
}

ll_status ll_threshold_at_risk(ll_threshold *out, ll_context *ctx, const ll_outcome *points, ll_confidence by, double risk) {
    LLI_NEED(ctx, out, points);
    lli_curve curve = {0};
    if (!(risk >= 0 && risk <= 1))
        return lli_fail(ctx, LL_ERR_USAGE, "the risk is %g; expected a number in [0,1]", risk);
    ll_status status = threshold_curve(&curve, ctx, points, by);
    if (status == LL_OK)
        lli_selective_at_risk(out, &curve, risk);
    lli_curve_release(&curve);
    return status;
}

ll_status ll_threshold_at_coverage(ll_threshold *out, ll_context *ctx, const ll_outcome *points, ll_confidence by, double coverage) {
    LLI_NEED(ctx, out, points);
    lli_curve curve = {0};
    if (!(coverage > 0 && coverage <= 1))
        return lli_fail(ctx, LL_ERR_USAGE, "the coverage is %g; expected a number in (0,1]", coverage);
    ll_status status = threshold_curve(&curve, ctx, points, by);
    if (status == LL_OK)
        lli_selective_at_coverage(out, &curve, coverage);
    lli_curve_release(&curve);
    return status;
}

struct ll_risk_coverage {
    int64_t count;
    double *cut, *coverage, *risk; /* [count] */
};

ll_status ll_risk_coverage_new(ll_risk_coverage **out, ll_context *ctx, const ll_outcome *points, ll_confidence by) {
    LLI_NEED(ctx, out, points);
    *out = NULL;
    lli_curve curve = {0};
    ll_risk_coverage *r = NULL;
    ll_status status;
    LLI_DO(threshold_curve(&curve, ctx, points, by));
    LLI_DO(lli_memory_new(ctx, &r, 1, sizeof *r));
    r->count = curve.steps;
    LLI_DO(lli_memory_new(ctx, &r->cut, r->count, sizeof *r->cut));
    LLI_DO(lli_memory_new(ctx, &r->coverage, r->count, sizeof *r->coverage));
    LLI_DO(lli_memory_new(ctx, &r->risk, r->count, sizeof *r->risk));
    for (int64_t i = 0; i < r->count; i++) {
        const lli_curve_step *step = &curve.step[i];
        r->cut[i] = step->cut;
        r->coverage[i] = (double)step->accepted / (double)curve.n;
        r->risk[i] = (double)step->marked / (double)step->accepted;
    }
    *out = r;
    r = NULL;
done:
    ll_risk_coverage_free(r);
    lli_curve_release(&curve);
    return status;
}

void ll_risk_coverage_free(ll_risk_coverage *curve) {
    if (!curve)
        return;
    lli_memory_free(curve->cut);
    lli_memory_free(curve->coverage);
    lli_memory_free(curve->risk);
    lli_memory_free(curve);
}

int64_t ll_risk_coverage_count(const ll_risk_coverage *curve) {
    return curve ? curve->count : 0;
}

const double *ll_risk_coverage_cut(const ll_risk_coverage *curve) {
    return curve ? curve->cut : NULL;
}

const double *ll_risk_coverage_coverage(const ll_risk_coverage *curve) {
    return curve ? curve->coverage : NULL;
}

const double *ll_risk_coverage_risk(const ll_risk_coverage *curve) {
    return curve ? curve->risk : NULL;
}

void lli_threshold_at_cut(ll_threshold *out, const ll_outcome *points, ll_confidence by, double cut) {
    int64_t errors = 0, accepted = 0, accepted_errors = 0;
    for (int64_t i = 0; i < points->n; i++) {
        bool wrong = points->label[i] != points->truth[i], answered = points->confidence[by][i] >= cut;
        errors += wrong;
        accepted += answered;
        accepted_errors += answered && wrong;
    }
    out->cut = cut;
    out->n = points->n;
    out->errors = errors;
    out->accepted = accepted;
    out->accepted_errors = accepted_errors;
    out->coverage = (double)accepted / (double)points->n;
    out->risk = accepted ? (double)accepted_errors / (double)accepted : 0;
    out->found = true;
}
