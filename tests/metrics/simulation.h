/* SPDX-License-Identifier: MIT */
/* Certificates on simulated rows whose true risk is known: how often a promise is broken, and how much is answered. */
#ifndef TESTS_METRICS_SIMULATION_H
#define TESTS_METRICS_SIMULATION_H

#include <math.h>

#include "check.h"
#include "metrics/certify.h"

enum { SIMULATION_GRID = 20000 };

static inline double simulation_monotone(double c) {
    return 0.5 * (1 - c);
}
static inline double simulation_overconfident(double c) { /* the surest 2 % are wrong half of the time */
    return c > 0.98 ? 0.5 : 0.02 + 0.42 * (0.98 - c) * (0.98 - c);
}
static inline double simulation_constant(double c) {
    (void)c;
    return 0.105;
}
static inline double simulation_never(double c) {
    (void)c;
    return 0;
}
static inline double simulation_always(double c) {
    (void)c;
    return 1;
}

typedef struct simulation_case {
    const char *name;
    double (*error)(double confidence);
    int64_t n;
    int levels; /* confidences are rounded up to so many values; 0 = not at all */
    bool costs; /* losses 0, .3 and 1 in place of 0 and 1, with the same mean */
    lli_certify_promise promise;
} simulation_case;

#define SIMULATION_RISK(r, d) \
    { .risk = r, .coverage = NAN, .out = NAN, .delta = d }
static const simulation_case simulation_cases[] = {
    {"monotone", simulation_monotone, 2000, 0, false, SIMULATION_RISK(0.1, 0.1)},
    {"over-confident top", simulation_overconfident, 2000, 0, false, SIMULATION_RISK(0.1, 0.1)},
    {"monotone, ten levels", simulation_monotone, 2000, 10, false, SIMULATION_RISK(0.1, 0.1)},
    {"over-confident top, ten levels", simulation_overconfident, 2000, 10, false, SIMULATION_RISK(0.1, 0.1)},
    {"risk just above, everywhere", simulation_constant, 2000, 0, false, SIMULATION_RISK(0.1, 0.1)},
    {"monotone, 30 rows", simulation_monotone, 30, 0, false, SIMULATION_RISK(0.2, 0.2)},
    {"monotone, 90 rows", simulation_monotone, 90, 0, false, SIMULATION_RISK(0.15, 0.1)},
    {"no errors", simulation_never, 300, 0, false, SIMULATION_RISK(0.05, 0.05)},
    {"all errors", simulation_always, 300, 0, false, SIMULATION_RISK(0.05, 0.05)},
    {"costs", simulation_monotone, 2000, 0, true, SIMULATION_RISK(0.1, 0.1)},
    {"risk and coverage", simulation_monotone, 2000, 0, false, {.risk = 0.13, .coverage = 0.4, .out = NAN, .delta = 0.1}},
    {"risk, coverage, out", simulation_monotone, 2000, 0, false, {.risk = 0.15, .coverage = 0.3, .out = 0.37, .delta = 0.1}},
    {"coverage", simulation_monotone, 2000, 0, false, {.risk = NAN, .coverage = 0.5, .out = NAN, .delta = 0.1}},
};

/* Rows of one trial. Confidence of out rows: 1 - sqrt of a uniform, so that P(out >= s) = (1 - s)^2. */
typedef struct simulation_rows {
    double *confidence, *loss, *out;
    uint8_t *proposes;
    double *true_risk; /* [GRID+1] integral of the error over the share of most confident rows */
} simulation_rows;

static inline double simulation_confidence(const simulation_case *c, double u) {
    return c->levels ? ceil(u * c->levels) / c->levels : u;
}

static inline void simulation_init(simulation_rows *r, const simulation_case *c) {
    r->confidence = malloc((size_t)c->n * sizeof(double));
    r->loss = malloc((size_t)c->n * sizeof(double));
    r->out = malloc((size_t)c->n * sizeof(double));
    r->proposes = malloc((size_t)c->n);
    r->true_risk = malloc((SIMULATION_GRID + 1) * sizeof(double));
    r->true_risk[0] = 0;
    for (int i = 0; i < SIMULATION_GRID; i++) {
        double u = 1 - (i + 0.5) / SIMULATION_GRID;
        r->true_risk[i + 1] = r->true_risk[i] + c->error(simulation_confidence(c, u)) / SIMULATION_GRID;
    }
}

static inline void simulation_release(simulation_rows *r) {
    free(r->confidence);
    free(r->loss);
    free(r->out);
    free(r->proposes);
    free(r->true_risk);
}

static inline void simulation_draw(simulation_rows *r, const simulation_case *c, int64_t trial) {
    for (int64_t i = 0; i < c->n; i++) {
        double u = check_uniform(trial, 3 * i), x = check_uniform(trial, 3 * i + 1);
        r->confidence[i] = simulation_confidence(c, u);
        double p = c->error(r->confidence[i]);
        r->loss[i] = !c->costs ? x < p : x < p / 2 ? 1 : x < p / 2 + p / 2 / 0.3 ? 0.3 : 0;
        r->out[i] = 1 - sqrt(check_uniform(trial, 3 * i + 2));
    }
}

/* Share of all rows with confidence >= cut, and their risk. */
static inline double simulation_coverage(const simulation_case *c, double cut) {
    return c->levels ? 1 - (ceil(cut * c->levels - 1e-9) - 1) / c->levels : 1 - cut;
}
static inline double simulation_risk(const simulation_rows *r, double coverage) {
    double at = coverage * SIMULATION_GRID;
    int64_t i = LLI_MIN((int64_t)at, SIMULATION_GRID - 1);
    return (r->true_risk[i] + (at - (double)i) * (r->true_risk[i + 1] - r->true_risk[i])) / coverage;
}

/* Whether a cut breaks any of its promises; small slack for the grid. */
static inline bool simulation_broken(const simulation_case *c, const simulation_rows *r, double cut) {
    const lli_certify_promise *p = &c->promise;
    double coverage = simulation_coverage(c, cut);
    return (!isnan(p->risk) && simulation_risk(r, coverage) > p->risk + 1e-9) || (!isnan(p->coverage) && coverage < p->coverage) ||
           (!isnan(p->out) && coverage * coverage > p->out);
}

typedef struct simulation_count {
    int64_t broken, certified;
    double coverage; /* mean over trials, none counting 0 */
} simulation_count;

static inline void simulation_add(simulation_count *n, const simulation_case *c, const simulation_rows *r, bool found, double cut) {
    if (!found)
        return;
    n->certified++;
    n->broken += simulation_broken(c, r, cut);
    n->coverage += simulation_coverage(c, cut);
}

/* The empirical cut: the most rows with a mean loss of at most the risk, on all rows. */
static inline bool simulation_naive(double *cut, const simulation_case *c, const simulation_rows *r) {
    enum { STEPS = 2000 };
    double loss[STEPS + 1] = {0}, sum = 0, rows = 0;
    int64_t count[STEPS + 1] = {0};
    bool found = false;
    for (int64_t i = 0; i < c->n; i++) {
        int at = (int)(r->confidence[i] * STEPS);
        loss[at] += r->loss[i];
        count[at]++;
    }
    for (int at = STEPS; at >= 0; at--) {
        sum += loss[at];
        rows += (double)count[at];
        if (count[at] && sum <= c->promise.risk * rows) {
            *cut = (double)at / STEPS;
            found = true;
        }
    }
    return found;
}

typedef struct simulation_result {
    simulation_count naive, sgr, sequence, bonferroni;
} simulation_result;

static inline simulation_result simulation_run(ll_context *ctx, const simulation_case *c, int64_t trials) {
    simulation_result out = {0};
    simulation_rows r;
    simulation_init(&r, c);
    for (int64_t trial = 0; trial < trials; trial++) {
        simulation_draw(&r, c, trial);
        CHECK_OK(ctx, lli_certify_split(ctx, r.proposes, c->n, (uint64_t)trial));
        const lli_certify_rows rows = {c->n, r.confidence, r.loss, r.proposes, !c->costs, r.out, isnan(c->promise.out) ? 0 : c->n};
        lli_certify_promise promise = c->promise;
        lli_certify_result result;
        CHECK_OK(ctx, lli_certify_run(ctx, &result, &rows, &promise));
        simulation_add(&out.sequence, c, &r, result.certified, result.certified ? result.test[result.winner].cut : 0);
        promise.rule = LLI_CERTIFY_BONFERRONI;
        CHECK_OK(ctx, lli_certify_run(ctx, &result, &rows, &promise));
        simulation_add(&out.bonferroni, c, &r, result.certified, result.certified ? result.test[result.winner].cut : 0);
        double cut = 0;
        if (isnan(promise.risk) || c->costs)
            continue;
        bool found = simulation_naive(&cut, c, &r);
        simulation_add(&out.naive, c, &r, found, cut);
        lli_certify_sgr sgr;
        CHECK_OK(ctx, lli_certify_sgr_run(ctx, &sgr, r.confidence, r.loss, c->n, promise.risk, promise.delta));
        simulation_add(&out.sgr, c, &r, sgr.found, sgr.cut);
    }
    simulation_count *all[] = {&out.naive, &out.sgr, &out.sequence, &out.bonferroni};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        all[i]->coverage /= (double)trials;
    simulation_release(&r);
    return out;
}

/* Cuts for each of three decided classes, whose errors follow three of the curves above, by ll_certify: a trial is broken when any class
 * that is answered has too large a risk. */
#define SIMULATION_CLASS_RISK 0.1
#define SIMULATION_CLASS_DELTA 0.1
enum { SIMULATION_CLASS_ROWS = 4500 };

static inline simulation_count simulation_classes(ll_context *ctx, int64_t trials) {
    enum { CLASSES = 3, ROWS = SIMULATION_CLASS_ROWS };
    static const simulation_case cases[CLASSES] = {
        {"", simulation_monotone, ROWS, 0, false, SIMULATION_RISK(SIMULATION_CLASS_RISK, 0)},
        {"", simulation_overconfident, ROWS, 0, false, SIMULATION_RISK(SIMULATION_CLASS_RISK, 0)},
        {"", simulation_constant, ROWS, 0, false, SIMULATION_RISK(SIMULATION_CLASS_RISK, 0)}};
    simulation_count out = {0};
    simulation_rows r[CLASSES];
    static int32_t label[ROWS], truth[ROWS];
    static double sr[ROWS];
    ll_outcome points = {.struct_size = sizeof points, .n = ROWS, .classes = CLASSES, .label = label, .truth = truth};
    points.confidence[LL_CONFIDENCE_SR] = sr;
    for (int k = 0; k < CLASSES; k++)
        simulation_init(&r[k], &cases[k]);
    for (int64_t trial = 0; trial < trials; trial++) {
        for (int64_t i = 0; i < ROWS; i++) {
            sr[i] = check_uniform(trial, 3 * i);
            label[i] = (int32_t)(check_uniform(trial, 3 * i + 1) * CLASSES);
            truth[i] = check_uniform(trial, 3 * i + 2) < cases[label[i]].error(sr[i]) ? (label[i] + 1) % CLASSES : label[i];
        }
        ll_certify_options o = ll_certify_options_default();
        o.risk = SIMULATION_CLASS_RISK;
        o.confidence = 1 - SIMULATION_CLASS_DELTA;
        o.per_class = true;
        o.seed = (uint64_t)trial;
        ll_certificate *c;
        CHECK_OK(ctx, ll_certify(&c, ctx, &points, NULL, &o));
        bool broken = false;
        for (int k = 0; k < CLASSES; k++) {
            const ll_certificate_info *i = ll_certificate_class(c, k);
            broken |= i->certified && simulation_broken(&cases[k], &r[k], i->cut);
            out.coverage += i->certified ? simulation_coverage(&cases[k], i->cut) / CLASSES / (double)trials : 0;
        }
        out.broken += broken;
        out.certified += ll_certificate_view(c)->certified;
        ll_certificate_free(c);
    }
    for (int k = 0; k < CLASSES; k++)
        simulation_release(&r[k]);
    return out;
}

#endif
