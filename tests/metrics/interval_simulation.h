/* SPDX-License-Identifier: MIT */
/* How often intervals hold the truth, where it is known in closed form: two methods on the same simulated rows, by ll_contrast_new.
 *
 * A row has a difficulty u, uniform; a method's confidence a is u with chance .7, else uniform on its own; it is wrong with chance
 * 3 rate (1-u)^2. So a is uniform, at confidence a a method is wrong with chance rate (.7 3 (1-a)^2 + .3), and the risk of the share c of
 * surest rows is rate (.7 c^2 + .3). With two classes and sr = (1+a)/2 the probabilities are known too. Out rows have a confidence
 * 1 - sqrt(uniform). The two methods are drawn alike, so that every difference is 0. */
#ifndef TESTS_METRICS_INTERVAL_SIMULATION_H
#define TESTS_METRICS_INTERVAL_SIMULATION_H

#include <math.h>

#include "metrics/sample.h"

typedef struct interval_case {
    int64_t n;
    double rate;
} interval_case;

static const interval_case interval_cases[] = {{1000, 0.02}, {1000, 0.05}, {2000, 0.1}};

static inline bool interval_resampled(ll_metric m) {
    return m == LL_METRIC_COVERAGE_AT_RISK || m == LL_METRIC_OOD_FPR95;
}

typedef struct interval_tally {
    int64_t inside[LL_METRIC_COUNT], paired[LL_METRIC_COUNT]; /* trials whose interval holds the truth; of the difference, 0 */
    int64_t defined[LL_METRIC_COUNT], paired_defined[LL_METRIC_COUNT];
} interval_tally;

static inline void interval_truth(double truth[LL_METRIC_COUNT], double rate) {
    enum { STEPS = 1000000 };
    double nll = 0, brier = 0, aurc = rate * (0.7 / 3 + 0.3), augrc = rate * (0.7 / 4 + 0.3 / 2);
    for (int i = 0; i < STEPS; i++) {
        double t = (i + 0.5) / STEPS, wrong = rate * (2.1 * t * t + 0.3); /* t = 1 - a */
        nll -= ((1 - wrong) * log(1 - t / 2) + wrong * log(t / 2)) / STEPS;
        brier += 2 * ((1 - wrong) * t * t / 4 + wrong * (1 - t / 2) * (1 - t / 2)) / STEPS;
    }
    truth[LL_METRIC_ACCURACY] = 1 - rate;
    truth[LL_METRIC_NLL] = nll;
    truth[LL_METRIC_BRIER] = brier;
    truth[LL_METRIC_AURC] = aurc;
    truth[LL_METRIC_EAURC] = aurc - rate - (1 - rate) * log(1 - rate);
    truth[LL_METRIC_AUGRC] = augrc;
    truth[LL_METRIC_FAILURE_AUROC] = 1 - (augrc - rate * rate / 2) / (rate * (1 - rate));
    truth[LL_METRIC_COVERAGE_AT_RISK] = sqrt(0.3 / 0.7); /* at 0.6 rate */
    truth[LL_METRIC_OOD_AUROC] = 2.0 / 3;
    truth[LL_METRIC_OOD_FPR95] = 0.95 * 0.95;
}

/* One method on the rows of a trial; uniforms 2..4 of a row are those of method 0, 5..7 those of method 1. */
static inline void interval_draw(sample *in, sample *out, const interval_case *c, int64_t trial, int method) {
    for (int64_t i = 0; i < c->n; i++) {
        double x[8];
        for (int k = 0; k < 8; k++)
            x[k] = check_uniform(trial, 8 * i + k);
        const double *own = x + 2 + 3 * method;
        double u = x[0], a = own[0] < 0.7 ? u : own[1], sr = 0.5 + 0.5 * a;
        bool wrong = own[2] < 3 * c->rate * (1 - u) * (1 - u);
        in->truth[i] = x[1] < 0.5;
        in->label[i] = wrong ? 1 - in->truth[i] : in->truth[i];
        in->confidence[LL_CONFIDENCE_SR][i] = sr;
        in->probs[2 * i + in->label[i]] = sr;
        in->probs[2 * i + 1 - in->label[i]] = 1 - sr;
        out->confidence[LL_CONFIDENCE_SR][i] = 1 - 0.5 * sqrt(check_uniform(trial, 8 * c->n + 2 * i + method));
    }
}

static inline ll_interval interval_of(const ll_evaluation *e, ll_metric m) {
    const ll_intervals *i = &e->intervals;
    const ll_confidence sr = LL_CONFIDENCE_SR;
    const ll_interval all[LL_METRIC_COUNT] = {
        [LL_METRIC_ACCURACY] = i->accuracy,
        [LL_METRIC_NLL] = i->nll,
        [LL_METRIC_BRIER] = i->brier,
        [LL_METRIC_AURC] = i->aurc[sr],
        [LL_METRIC_EAURC] = i->eaurc[sr],
        [LL_METRIC_AUGRC] = i->augrc[sr],
        [LL_METRIC_FAILURE_AUROC] = i->failure_auroc[sr],
        [LL_METRIC_COVERAGE_AT_RISK] = i->coverage_at_risk[sr],
        [LL_METRIC_OOD_AUROC] = i->ood_auroc[sr],
        [LL_METRIC_OOD_FPR95] = i->ood_fpr95[sr],
    };
    return all[m];
}

/* Counts an interval that exists, and one that holds x. */
static inline void interval_add(int64_t *inside, int64_t *defined, ll_interval i, double x) {
    *defined += !isnan(i.lo);
    *inside += i.lo <= x && x <= i.hi;
}

static inline interval_tally interval_run(ll_context *ctx, const interval_case *c, int64_t first, int64_t trials) {
    static const char *const names[2] = {"a", "b"};
    interval_tally tally = {{0}};
    double truth[LL_METRIC_COUNT];
    sample in[2], out[2];
    ll_outcome points[2], outside[2];
    interval_truth(truth, c->rate);
    for (int m = 0; m < 2; m++) {
        in[m] = sample_new(c->n, 2);
        out[m] = sample_new(c->n, 2);
        in[m].confidence[LL_CONFIDENCE_SR] = sample_zeros(c->n, 8);
        out[m].confidence[LL_CONFIDENCE_SR] = sample_zeros(c->n, 8);
        in[m].probs = sample_zeros(2 * c->n, 8);
        points[m] = sample_view(&in[m]);
        outside[m] = sample_view(&out[m]);
        outside[m].truth = NULL;
    }
    for (int64_t t = first; t < first + trials; t++) {
        ll_evaluate_options o = ll_evaluate_options_default();
        ll_contrast *contrast;
        o.risk = 0.6 * c->rate;
        o.seed = (uint64_t)t;
        for (int m = 0; m < 2; m++)
            interval_draw(&in[m], &out[m], c, t, m);
        CHECK_OK(ctx, ll_contrast_new(&contrast, ctx, names, (const ll_outcome *[]){&points[0], &points[1]},
                                      (const ll_outcome *[]){&outside[0], &outside[1]}, 2, LL_CONFIDENCE_SR, &o));
        for (ll_metric m = 0; m < LL_METRIC_COUNT; m++) {
            interval_add(&tally.inside[m], &tally.defined[m], interval_of(ll_contrast_evaluation(contrast, 0), m), truth[m]);
            interval_add(&tally.paired[m], &tally.paired_defined[m], ll_contrast_difference(contrast, 1, m)->interval, 0);
        }
        ll_contrast_free(contrast);
    }
    for (int m = 0; m < 2; m++) {
        sample_free(&in[m]);
        sample_free(&out[m]);
    }
    return tally;
}

#endif
