/* SPDX-License-Identifier: MIT */
/* Checks an outcome and asks each metric in turn. The arithmetic lives in the other files of this room. */
#include "metrics/evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/costs.h"
#include "base/memory.h"
#include "base/option.h"
#include "metrics/calibration.h"
#include "metrics/curve.h"
#include "metrics/interval.h"
#include "metrics/ood.h"
#include "metrics/outcome.h"
#include "metrics/per_class.h"
#include "metrics/proper_scores.h"
#include "metrics/selective.h"
#include "metrics/uncertainty.h"

/* The options in use, with words that live forever. */
static ll_status options_read(ll_rules *out, ll_context *ctx, const ll_evaluate_options *given, bool costs) {
    ll_evaluate_options o = ll_evaluate_options_default();
    size_t count;
    const ll_option *table = ll_evaluate_options_table(&count);
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_evaluate_options, &o, given, table, count));
    bool votes = strcmp(o.classifier, "votes") == 0, brosse = strcmp(o.compat, "brosse") == 0;
    if (votes && costs)
        return lli_fail(ctx, LL_ERR_USAGE, "`classifier votes` and `costs` both decide the class; give one of them");
    *out = (ll_rules){
        .bins = o.bins,
        .edges = strcmp(o.edges, "left") == 0    ? "left"
                 : strcmp(o.edges, "right") == 0 ? "right"
                                                 : "mass",
        .aupr = brosse || strcmp(o.aupr, "trapezoid") == 0 ? "trapezoid" : "step",
        .classifier = votes ? "votes" : "mean",
        .compat = brosse ? "brosse" : "none",
        .costs = costs,
        .interval = o.interval,
        .risk = o.risk,
        .seed = o.seed,
        .per_class = o.per_class,
    };
    return LL_OK;
}

typedef struct work {
    ll_context *ctx;
    ll_evaluation *out;
    const ll_outcome *points, *out_points;
    const ll_array *costs;
    int64_t K;
    int32_t *decision;      /* [n] */
    uint8_t *wrong, *mark;  /* [n] of the decision; of whatever a metric asks for */
    const int32_t *decided; /* [n]: decision, or an array of the points */
    double *cost;           /* [K,K] or NULL */
    lli_curve curve;        /* [n + n_out] */
    lli_uncertainty uncertainty;
} work;

static ll_status decide(work *w) {
    const ll_outcome *points = w->points;
    bool votes = w->out->rules.classifier[0] == 'v';
    if (votes && !points->vote)
        return lli_fail(w->ctx, LL_ERR_USAGE, "`classifier votes` needs the votes of the members, and these predictions have none");
    if (w->costs && !points->probs.data)
        return lli_fail(w->ctx, LL_ERR_USAGE, "`costs` needs probabilities, and these predictions have none");
    const int32_t *decided = votes ? points->vote : points->label;
    if (w->costs) {
        LLI_TRY(lli_costs_read(&w->cost, w->ctx, w->costs, w->K));
        LLI_TRY(lli_proper_scores_decide(w->decision, w->ctx, &points->probs, w->cost));
        w->out->cost = lli_proper_scores_cost(w->decision, points->truth, points->n, w->cost, w->K);
        decided = w->decision;
    }
    w->decided = decided;
    lli_outcome_mark_errors(w->wrong, decided, points);
    for (int64_t i = 0; i < points->n; i++)
        w->out->errors += w->wrong[i];
    w->out->accuracy = (double)(points->n - w->out->errors) / (double)points->n;
    if (w->uncertainty.z > 0)
        w->out->intervals.accuracy = lli_interval_wilson(points->n - w->out->errors, points->n, w->uncertainty.z);
    return LL_OK;
}

static ll_status score(work *w) {
    if (!w->points->probs.data)
        return LL_OK;
    lli_proper_scores scores;
    LLI_TRY(lli_proper_scores_measure(&scores, w->ctx, &w->points->probs, w->points->truth, w->points->log_true, NULL));
    if (scores.rounded)
        lli_log(w->ctx, LL_LOG_NOTE,
                "%" PRId64 " of %" PRId64 " points give their true class a probability below 1.2e-38, the limit of probs in single "
                "precision, so the NLL is not exact; predict with these labels to get it exactly",
                scores.rounded, w->points->n);
    if (scores.zeros)
        lli_log(w->ctx, LL_LOG_WARNING, "%" PRId64 " of %" PRId64 " points give their true class the probability 0: the NLL is infinite",
                scores.zeros, w->points->n);
    double parts = w->out->rules.compat[0] == 'b' ? (double)w->K : 1, z = w->uncertainty.z;
    w->out->nll = scores.nll;
    w->out->brier = scores.brier / parts;
    if (z > 0) {
        w->out->intervals.nll = lli_interval_above_zero(scores.nll, scores.nll_error, z);
        w->out->intervals.brier = lli_interval_above_zero(w->out->brier, scores.brier_error / parts, z);
    }
    return LL_OK;
}

/* sr speaks for the class of the largest mean probability, so calibration asks how often that class is right. */
static ll_status calibrate(work *w) {
    const ll_rules *rules = &w->out->rules;
    lli_calibration_edges edges = rules->edges[0] == 'l'   ? LLI_CALIBRATION_LEFT
                                  : rules->edges[0] == 'r' ? LLI_CALIBRATION_RIGHT
                                                           : LLI_CALIBRATION_MASS;
    lli_outcome_mark_errors(w->mark, w->points->label, w->points);
    lli_curve_clear(&w->curve);
    lli_curve_add(&w->curve, w->points->confidence[LL_CONFIDENCE_SR], w->points->n, false, w->mark, false);
    LLI_TRY(lli_curve_close(w->ctx, &w->curve));
    w->out->bins = lli_calibration_measure(&w->out->ece, &w->out->mce, w->out->bin, &w->curve, rules->bins, edges, rules->compat[0] == 'b');
    w->out->l2_debiased = lli_miscalibration_l2(w->out->bin, w->out->bins, w->points->n);
    return lli_uncertainty_calibrate(&w->uncertainty, &w->curve);
}

/* A cut is applied to the confidence itself: where its tail made the curve, points are grouped again. */
static ll_status cut_by(work *w, ll_confidence c, const uint8_t *mark, bool falling) {
    ll_threshold cut;
    if (falling) {
        lli_curve_clear(&w->curve);
        lli_curve_add(&w->curve, w->points->confidence[c], w->points->n, false, mark, false);
        LLI_TRY(lli_curve_close(w->ctx, &w->curve));
    }
    lli_selective_at_risk(&cut, &w->curve, w->out->rules.risk);
    w->out->coverage_at_risk[c] = cut.coverage;
    if (c == LL_CONFIDENCE_SR)
        w->out->class_cut = cut.cut;
    return lli_uncertainty_cut(&w->uncertainty, c, &w->curve);
}

static ll_status select_by(work *w, ll_confidence c) {
    const uint8_t *mark = w->wrong;
    bool brosse = w->out->rules.compat[0] == 'b', falling;
    if (brosse && c == LL_CONFIDENCE_HQ) {
        if (!w->points->vote)
            return lli_fail(w->ctx, LL_ERR_USAGE,
                            "`compat brosse` measures hq by the votes of the members, and these predictions have none");
        lli_outcome_mark_errors(w->mark, w->points->vote, w->points);
        mark = w->mark;
    }
    const double *x = lli_outcome_ranking(&falling, w->points, c, NULL);
    lli_curve_clear(&w->curve);
    lli_curve_add(&w->curve, x, w->points->n, falling, mark, false);
    LLI_TRY(lli_curve_close(w->ctx, &w->curve));
    lli_selective_measure(&w->out->selective[c], &w->curve, brosse);
    lli_uncertainty_rank(&w->uncertainty, c, &w->curve);
    return cut_by(w, c, mark, falling);
}

static ll_status detect_by(work *w, ll_confidence c) {
    bool falling;
    lli_ood_aupr rule = w->out->rules.compat[0] == 'b' ? LLI_OOD_BARE : w->out->rules.aupr[0] == 't' ? LLI_OOD_TRAPEZOID : LLI_OOD_STEP;
    lli_curve_clear(&w->curve);
    const double *in = lli_outcome_ranking(&falling, w->points, c, w->out_points);
    const double *out = lli_outcome_ranking(&falling, w->out_points, c, w->points);
    lli_curve_add(&w->curve, in, w->points->n, falling, NULL, false);
    lli_curve_add(&w->curve, out, w->out_points->n, falling, NULL, true);
    LLI_TRY(lli_curve_close(w->ctx, &w->curve));
    lli_ood_measure(&w->out->ood[c], &w->curve, rule);
    return lli_uncertainty_detect(&w->uncertainty, c, &w->curve);
}

static ll_status measure_confidences(work *w) {
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        if (!lli_outcome_has(w->points, c))
            continue;
        LLI_TRY(select_by(w, c));
        if (c == LL_CONFIDENCE_SR)
            LLI_TRY(calibrate(w));
        bool shown = c <= LL_CONFIDENCE_HQ || (c == LL_CONFIDENCE_MAXMIN && w->out->rules.compat[0] == 'b');
        if (shown)
            w->out->min_aurc = fmin(w->out->min_aurc, w->out->selective[c].aurc); /* fmin passes over NaN */
        if (w->out_points && lli_outcome_has(w->out_points, c))
            LLI_TRY(detect_by(w, c));
    }
    return LL_OK;
}

static void evaluation_init(ll_evaluation *e, const ll_outcome *points, const ll_outcome *out_points, int64_t K) {
    e->n = points->n;
    e->classes = K;
    e->accuracy = e->nll = e->brier = e->ece = e->mce = e->cost = e->min_aurc = e->base_rate = NAN;
    e->ece_p = e->l2_debiased = e->class_cut = e->majority_accuracy = NAN;
    e->majority = -1;
    for (int c = 0; c < LL_CONFIDENCE_MAX; c++) {
        e->selective[c] = (ll_selective){NAN, NAN, NAN, NAN, NAN, NAN, NAN, false};
        e->ood[c] = (ll_ood){NAN, NAN, NAN, NAN};
        e->coverage_at_risk[c] = NAN;
    }
    if (!out_points)
        return;
    e->has_ood = true;
    e->n_out = out_points->n;
    e->base_rate = (double)points->n / (double)(points->n + out_points->n);
}

static ll_status count_classes(work *w) {
    int64_t count;
    if (w->K <= 0)
        return LL_OK;
    LLI_TRY(lli_per_class_majority(&w->out->majority, &count, w->ctx, w->points->truth, w->points->n, w->K));
    w->out->majority_accuracy = (double)count / (double)w->points->n;
    LLI_TRY(lli_memory_new(w->ctx, &w->out->by_class, w->K, sizeof *w->out->by_class));
    lli_per_class_measure(w->out->by_class, w->K, w->decided, w->points, w->out->class_cut);
    return LL_OK;
}

void lli_evaluate_release(ll_evaluation *evaluation) {
    lli_memory_free(evaluation->bin);
    lli_memory_free(evaluation->by_class);
    evaluation->bin = NULL;
    evaluation->by_class = NULL;
}

ll_status lli_evaluate(ll_evaluation *evaluation, ll_context *ctx, const ll_outcome *points, const ll_outcome *out_points,
                       const ll_evaluate_options *options, const ll_array *costs) {
    ll_status status = LL_OK;
    work w = {.ctx = ctx, .points = points, .out_points = out_points, .costs = costs};
    LLI_DO(lli_memory_new(ctx, &w.out, 1, sizeof *w.out)); /* a failure leaves *evaluation as it was */
    LLI_DO(options_read(&w.out->rules, ctx, options, costs != NULL));
    LLI_DO(lli_outcome_check_truth(ctx, LLI_OUTCOME_POINTS, points));
    if (out_points)
        LLI_DO(lli_outcome_check(ctx, "the out-of-distribution points", out_points));
    w.K = points->probs.data ? points->probs.shape[1] : points->classes;
    evaluation_init(w.out, points, out_points, w.K);
    lli_uncertainty_init(&w.uncertainty, ctx, w.out);
    LLI_DO(lli_memory_new(ctx, &w.out->bin, w.out->rules.bins, sizeof *w.out->bin));
    LLI_DO(lli_memory_new(ctx, &w.decision, points->n, sizeof *w.decision));
    LLI_DO(lli_memory_new(ctx, &w.wrong, points->n, 1));
    LLI_DO(lli_memory_new(ctx, &w.mark, points->n, 1));
    LLI_DO(lli_curve_init(&w.curve, ctx, points->n + w.out->n_out));
    LLI_DO(decide(&w));
    LLI_DO(score(&w));
    LLI_DO(measure_confidences(&w));
    LLI_DO(count_classes(&w));
    LLI_DO(lli_uncertainty_finish(&w.uncertainty));
    lli_evaluate_release(evaluation);
    memcpy(evaluation, w.out, sizeof *evaluation);
    w.out->bin = NULL;
    w.out->by_class = NULL;
done:
    lli_uncertainty_release(&w.uncertainty);
    if (w.out)
        lli_evaluate_release(w.out);
    lli_memory_free(w.out);
    lli_memory_free(w.decision);
    lli_memory_free(w.wrong);
    lli_memory_free(w.mark);
    lli_memory_free(w.cost);
    lli_curve_release(&w.curve);
    return status;
}

ll_status ll_evaluate(ll_evaluation **out, ll_context *ctx, const ll_outcome *points, const ll_outcome *out_points,
                      const ll_evaluate_options *options) {
    LLI_NEED(ctx, out, points);
    *out = NULL;
    ll_evaluation *evaluation = NULL;
    ll_outcome in = {0}, outside = {0};
    ll_evaluate_options o = ll_evaluate_options_default();
    ll_status status;
    LLI_DO(lli_abi_take(ctx, "ll_evaluate_options", &o, sizeof o, options, 0));
    LLI_DO(lli_outcome_take(&in, ctx, points));
    LLI_DO(lli_outcome_take(&outside, ctx, out_points));
    LLI_DO(lli_memory_new(ctx, &evaluation, 1, sizeof *evaluation));
    LLI_DO(lli_evaluate(evaluation, ctx, &in, out_points ? &outside : NULL, &o, o.costs));
    lli_per_class_warn(ctx, evaluation);
    *out = evaluation;
    evaluation = NULL;
done:
    ll_evaluation_free(evaluation);
    return status;
}

void ll_evaluation_free(ll_evaluation *evaluation) {
    if (evaluation)
        lli_evaluate_release(evaluation);
    lli_memory_free(evaluation);
}
