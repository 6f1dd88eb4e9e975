/* SPDX-License-Identifier: MIT */
/* Certificates of outcomes in memory. */
#include "metrics/certificate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/costs.h"
#include "base/memory.h"
#include "metrics/outcome.h"
#include "metrics/proper_scores.h"

void ll_certificate_free(ll_certificate *c) {
    if (!c)
        return;
    lli_memory_free(c->class_tests);
    lli_memory_free(c->class_info);
    lli_memory_free(c->costs);
    lli_memory_free(c);
}

const ll_certificate_info *ll_certificate_view(const ll_certificate *c) {
    return c ? &c->info : NULL;
}

const ll_certificate_info *ll_certificate_class(const ll_certificate *c, int64_t k) {
    return c && k >= 0 && k < c->info.classes ? &c->class_info[k] : NULL;
}

/* The rows, each with what its answer would lose. */
typedef struct sample {
    int64_t n, n_out;
    double *confidence, *loss;
    uint8_t *proposes, *wrong;
    const double *out;
} sample;

typedef struct job {
    ll_context *ctx;
    ll_certificate *c;
    ll_outcome points, outside;
    ll_certify_options options;
    ll_confidence by;
    int64_t K;           /* 0: unknown */
    double least, range; /* of the costs: loss = (cost - least)/range */
    int32_t *decision;   /* [n] by costs; NULL: the label of the predictions */
    sample rows;
} job;

static void job_release(job *j) {
    lli_memory_free(j->decision);
    lli_memory_free(j->rows.confidence);
    lli_memory_free(j->rows.loss);
    lli_memory_free(j->rows.proposes);
    lli_memory_free(j->rows.wrong);
    ll_certificate_free(j->c);
}

static ll_status check(job *j) {
    ll_context *ctx = j->ctx;
    const ll_certify_options *o = &j->options;
    const ll_outcome *points = &j->points, *outside = &j->outside;
    LLI_TRY(lli_outcome_check_truth(ctx, LLI_OUTCOME_POINTS, points));
    if (!lli_outcome_has(points, j->by))
        return lli_fail(ctx, LL_ERR_USAGE, "these predictions have no confidence %s%s", o->by,
                        ll_confidence_needs_members(j->by) ? "; it needs at least two members" : "");
    j->K = points->probs.data ? points->probs.shape[1] : points->classes;
    if (o->costs && !points->probs.data)
        return lli_fail(ctx, LL_ERR_USAGE, "`costs` needs probabilities, and these predictions have none");
    if (o->per_class && j->K == 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`per-class` needs to know how many classes there are, and these predictions do not say");
    if (isnan(o->out_rate))
        return LL_OK;
    if (outside->n < 1)
        return lli_fail(ctx, LL_ERR_DATA, "`out-rate` needs out-of-distribution rows, and there are none");
    LLI_TRY(lli_outcome_check(ctx, "the out-of-distribution points", outside));
    return lli_outcome_has(outside, j->by) ? LL_OK
                                           : lli_fail(ctx, LL_ERR_USAGE, "the out-of-distribution points have no confidence %s", o->by);
}

/* The range of the costs, and the decisions of least expected cost. */
static ll_status take_costs(job *j) {
    ll_certificate *c = j->c;
    LLI_TRY(lli_costs_read(&c->costs, j->ctx, j->options.costs, j->K));
    c->K = j->K;
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < j->K * j->K; i++) {
        least = fmin(least, c->costs[i]);
        most = fmax(most, c->costs[i]);
    }
    j->least = least;
    j->range = most - least;
    if (!isfinite(j->range))
        return lli_fail(j->ctx, LL_ERR_DATA, "the costs reach from %g to %g, which is too far for their difference", least, most);
    LLI_TRY(lli_memory_new(j->ctx, &j->decision, j->points.n, sizeof *j->decision));
    memcpy(c->label_rule, "costs", sizeof "costs");
    return lli_proper_scores_decide(j->decision, j->ctx, &j->points.probs, c->costs);
}

/* The promise with the risk as a loss in (0,1). */
static ll_status take_promise(job *j) {
    const ll_certify_options *o = &j->options;
    double risk = (o->risk - j->least) / j->range;
    if (!isnan(o->risk) && !(risk > 0 && risk < 1))
        return lli_fail(j->ctx, LL_ERR_USAGE,
                        o->costs ? "`risk` is %g; expected a mean cost between %g and %g, the least and the largest of `costs`"
                                 : "`risk` is %g; expected a number in (%g,%g)",
                        o->risk, j->least, j->least + j->range);
    j->c->promise = (lli_certify_promise){risk, o->coverage, o->out_rate, 1 - o->confidence,
                                          strcmp(o->rule, "bonferroni") == 0 ? LLI_CERTIFY_BONFERRONI : LLI_CERTIFY_SEQUENCE};
    return LL_OK;
}

static const int32_t *decided(const job *j) {
    return j->decision ? j->decision : j->points.label;
}

/* The rows in their order; with cuts for each class in the order of the decided one, `first` [K+1] saying where each begins. */
static ll_status take_rows(job *j, int64_t *first) {
    sample *s = &j->rows;
    int64_t n = s->n = j->points.n;
    const int32_t *label = decided(j), *truth = j->points.truth;
    uint8_t *proposes = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(j->ctx, &proposes, n, 1));
    LLI_DO(lli_memory_new(j->ctx, &s->proposes, n, 1));
    LLI_DO(lli_memory_new(j->ctx, &s->wrong, n, 1));
    LLI_DO(lli_memory_new(j->ctx, &s->loss, n, sizeof *s->loss));
    LLI_DO(lli_memory_new(j->ctx, &s->confidence, n, sizeof *s->confidence));
    LLI_DO(lli_certify_split(j->ctx, proposes, n, j->options.seed));
    for (int64_t i = 0; first && i < n; i++)
        first[label[i] + 1]++;
    for (int64_t k = 0; first && k < j->K; k++)
        first[k + 1] += first[k];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = first ? first[label[i]]++ : i;
        s->proposes[at] = proposes[i];
        s->wrong[at] = label[i] != truth[i];
        s->loss[at] = j->c->costs ? (j->c->costs[truth[i] * j->K + label[i]] - j->least) / j->range : s->wrong[at];
        s->confidence[at] = j->points.confidence[j->by][i];
    }
    for (int64_t k = j->K; first && k > 0; k--) /* each start has moved to the next one's */
        first[k] = first[k - 1];
    if (first)
        first[0] = 0;
    if (!isnan(j->options.out_rate)) {
        s->out = j->outside.confidence[j->by];
        s->n_out = j->outside.n;
    }
done:
    lli_memory_free(proposes);
    return status;
}

static int64_t count_errors(const sample *s, double cut) {
    int64_t errors = 0;
    for (int64_t i = 0; i < s->n; i++)
        errors += s->wrong[i] && !s->proposes[i] && s->confidence[i] >= cut;
    return errors;
}

/* Certifies some rows: all of them, or those of one class. */
static ll_status certify(lli_certify_result *r, ll_certificate_info *info, const job *j, const sample *s,
                         const lli_certify_promise *promise) {
    const ll_certify_options *o = &j->options;
    const lli_certify_rows rows = {s->n, s->confidence, s->loss, s->proposes, !j->c->costs, s->out, s->n_out};
    LLI_TRY(lli_certify_run(j->ctx, r, &rows, promise));
    *info = (ll_certificate_info){
        .certified = r->certified,
        .cut = NAN,
        .by = j->by,
        .risk = o->risk,
        .coverage = o->coverage,
        .out_rate = o->out_rate,
        .confidence = o->confidence,
        .n = r->n,
        .n_out = s->n_out,
        .p_value = NAN,
        .bound = NAN,
        .needed = r->needed,
        .mean_cost = NAN,
    };
    if (!r->certified)
        return LL_OK;
    const lli_certify_test *t = &r->test[r->winner];
    info->cut = t->cut;
    info->accepted = t->accepted;
    info->errors = count_errors(s, t->cut);
    info->accepted_out = t->accepted_out;
    info->p_value = exp(r->log_p);
    info->bound = r->bound;
    if (j->c->costs)
        info->mean_cost = j->least + j->range * t->loss / (double)t->accepted;
    return LL_OK;
}

/* A cut for each decided class, each at an equal part of delta; the whole is what they answer together. */
static ll_status certify_classes(job *j, const int64_t *first) {
    ll_certificate *c = j->c;
    lli_certify_promise promise = c->promise;
    promise.delta /= (double)j->K;
    ll_certificate_info *all = &c->info;
    lli_certify_result *together = &c->result;
    *together = (lli_certify_result){.winner = -1, .level = promise.delta};
    double lost = 0;
    *all = (ll_certificate_info){.cut = NAN,
                                 .by = j->by,
                                 .risk = j->options.risk,
                                 .coverage = NAN,
                                 .out_rate = NAN,
                                 .confidence = j->options.confidence,
                                 .p_value = NAN,
                                 .bound = NAN,
                                 .needed = lli_certify_needed(promise.risk, promise.delta),
                                 .mean_cost = NAN,
                                 .classes = j->K};
    for (int64_t k = 0; k < j->K; k++) {
        int64_t at = first[k];
        const sample rows = {.n = first[k + 1] - at,
                             .confidence = j->rows.confidence + at,
                             .loss = j->rows.loss + at,
                             .proposes = j->rows.proposes + at,
                             .wrong = j->rows.wrong + at};
        ll_certificate_info *one = &c->class_info[k];
        LLI_TRY(lli_cancel_check(j->ctx));
        LLI_TRY(certify(&c->class_tests[k], one, j, &rows, &promise));
        together->n_proposing += c->class_tests[k].n_proposing;
        all->n += one->n;
        all->certified |= one->certified;
        all->accepted += one->accepted;
        all->errors += one->errors;
        all->p_value = fmax(all->p_value, one->p_value);
        lost += one->certified ? one->mean_cost * (double)one->accepted : 0;
    }
    together->n = all->n;
    together->certified = all->certified;
    if (c->costs && all->certified)
        all->mean_cost = lost / (double)all->accepted;
    return LL_OK;
}

static void hash_rows(ll_certificate *c, const job *j) {
    const ll_outcome *points = &j->points;
    lli_hash hash;
    lli_hash_array(&hash, LL_DTYPE_F64, 1, &points->n);
    lli_hash_add(&hash, points->confidence[j->by], (size_t)points->n * sizeof(double));
    lli_hash_add(&hash, decided(j), (size_t)points->n * sizeof(int32_t));
    lli_hash_text(&hash, c->rows_hash);
    lli_hash_array(&hash, LL_DTYPE_I32, 1, &points->n);
    lli_hash_add(&hash, points->truth, (size_t)points->n * sizeof(int32_t));
    lli_hash_text(&hash, c->labels_hash);
}

static ll_status run(job *j) {
    ll_certificate *c = j->c;
    const ll_certify_options *o = &j->options;
    int64_t *first = NULL;
    ll_status status;
    if (o->costs)
        LLI_DO(take_costs(j));
    LLI_DO(take_promise(j));
    if (o->per_class) {
        LLI_DO(lli_memory_new(j->ctx, &first, j->K + 1, sizeof *first));
        LLI_DO(lli_memory_new(j->ctx, &c->class_tests, j->K, sizeof *c->class_tests));
        LLI_DO(lli_memory_new(j->ctx, &c->class_info, j->K, sizeof *c->class_info));
    }
    LLI_DO(take_rows(j, first));
    if (o->per_class)
        LLI_DO(certify_classes(j, first));
    else
        LLI_DO(certify(&c->result, &c->info, j, &j->rows, &c->promise));
    if (!isnan(o->risk) && !o->per_class && !o->costs)
        LLI_DO(lli_certify_sgr_run(j->ctx, &c->sgr, j->rows.confidence, j->rows.loss, j->rows.n, o->risk, 1 - o->confidence));
    c->seed = o->seed;
    hash_rows(c, j);
done:
    lli_memory_free(first);
    return status;
}

ll_status ll_certify(ll_certificate **out, ll_context *ctx, const ll_outcome *given, const ll_outcome *out_points,
                     const ll_certify_options *options) {
    LLI_NEED(ctx, out, given);
    *out = NULL;
    job j = {.ctx = ctx, .range = 1};
    ll_status status;
    LLI_DO(lli_certify_options_take(ctx, &j.options, options));
    LLI_DO(lli_outcome_take(&j.points, ctx, given));
    LLI_DO(lli_outcome_take(&j.outside, ctx, out_points));
    j.by = ll_confidence_find(j.options.by);
    LLI_DO(check(&j));
    LLI_DO(lli_memory_new(ctx, &j.c, 1, sizeof *j.c));
    LLI_DO(run(&j));
    *out = j.c;
    j.c = NULL;
done:
    job_release(&j);
    return status;
}
