/* SPDX-License-Identifier: MIT */
/* Several methods: the evaluation of each, and its differences to the first. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "metrics/contrast.h"
#include "metrics/evaluate.h"
#include "metrics/outcome.h"

struct ll_contrast {
    int64_t count;
    ll_confidence by;
    char **name;                /* [count] */
    ll_evaluation **evaluation; /* [count] */
    ll_difference *difference;  /* [count, LL_METRIC_COUNT] */
};

const char *ll_metric_name(ll_metric metric) {
    static const char *const names[LL_METRIC_COUNT] = {
        "accuracy", "nll", "brier", "aurc", "eaurc", "augrc", "failure_auroc", "coverage_at_risk", "ood_auroc", "ood_fpr95"};
    return (unsigned)metric < LL_METRIC_COUNT ? names[metric] : NULL;
}

/* Options that differences do not support. */
static ll_status check_rules(ll_context *ctx, const ll_rules *rules) {
    if (rules->costs)
        return lli_fail(ctx, LL_ERR_USAGE, "`costs` are not for several methods at once; evaluate each on its own");
    if (strcmp(rules->classifier, "mean") != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`classifier votes` is not for several methods at once; evaluate each on its own");
    if (strcmp(rules->compat, "none") != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`compat brosse` is not for several methods at once; evaluate each on its own");
    if (!(rules->interval > 0))
        return lli_fail(ctx, LL_ERR_USAGE, "`interval` is 0, and differences of methods need a level, such as `interval 0.95`");
    return LL_OK;
}

/* Both checked. */
static ll_status check_same_rows(ll_context *ctx, const char *const names[2], const lli_contrast_side *a, const lli_contrast_side *b) {
    if (a->points->n != b->points->n)
        return lli_fail(ctx, LL_ERR_DATA, "%s has %" PRId64 " points and %s has %" PRId64 "; expected predictions of the same rows",
                        names[0], a->points->n, names[1], b->points->n);
    for (int64_t i = 0; i < a->points->n; i++)
        if (a->points->truth[i] != b->points->truth[i])
            return lli_fail(ctx, LL_ERR_DATA,
                            "the true class of row %" PRId64 " is %" PRId32 " in %s and %" PRId32
                            " in %s; expected predictions of the same rows in the same order",
                            i, a->points->truth[i], names[0], b->points->truth[i], names[1]);
    if (!a->out_points != !b->out_points)
        return lli_fail(ctx, LL_ERR_DATA, "%s has out-of-distribution points and %s has none; expected them for all methods or for none",
                        names[a->out_points ? 0 : 1], names[a->out_points ? 1 : 0]);
    if (a->out_points && a->out_points->n != b->out_points->n)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s has %" PRId64 " out-of-distribution points and %s has %" PRId64 "; expected predictions of the same rows",
                        names[0], a->out_points->n, names[1], b->out_points->n);
    return LL_OK;
}

typedef struct work {
    ll_outcome *outcome; /* [2, count]: points, out points */
    lli_contrast_side *side;
} work;

static ll_status take_method(ll_contrast *c, work *w, ll_context *ctx, int64_t i, const char *const *names, const ll_outcome *points,
                             const ll_outcome *out_points, const ll_evaluate_options *options) {
    ll_outcome *in = &w->outcome[i], *out = &w->outcome[c->count + i];
    if (!names[i] || !points)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_contrast_new: method %" PRId64 " has no %s", i, names[i] ? "points" : "name");
    LLI_TRY(lli_memory_text(ctx, &c->name[i], names[i]));
    LLI_TRY(lli_outcome_take(in, ctx, points));
    LLI_TRY(lli_outcome_take(out, ctx, out_points));
    w->side[i] = (lli_contrast_side){in, out_points ? out : NULL};
    LLI_TRY(lli_outcome_check_truth(ctx, names[i], in));
    LLI_TRY(check_same_rows(ctx, (const char *const[]){names[0], names[i]}, &w->side[0], &w->side[i]));
    LLI_TRY(lli_memory_new(ctx, &c->evaluation[i], 1, sizeof *c->evaluation[i]));
    LLI_TRY(lli_evaluate(c->evaluation[i], ctx, in, w->side[i].out_points, options, options->costs));
    return check_rules(ctx, &c->evaluation[i]->rules);
}

ll_status ll_contrast_new(ll_contrast **out, ll_context *ctx, const char *const *names, const ll_outcome *const *points,
                          const ll_outcome *const *out_points, int64_t count, ll_confidence by, const ll_evaluate_options *options) {
    LLI_NEED(ctx, out, names, points);
    ll_contrast *c = NULL;
    work w = {0};
    ll_evaluate_options o = ll_evaluate_options_default();
    ll_status status;
    *out = NULL;
    if (count < 2)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_contrast_new: count is %" PRId64 "; expected two methods or more", count);
    if ((unsigned)by >= LL_CONFIDENCE_COUNT)
        return lli_fail(ctx, LL_ERR_USAGE, "there is no confidence number %d", (int)by);
    LLI_DO(lli_abi_take(ctx, "ll_evaluate_options", &o, sizeof o, options, 0));
    LLI_DO(lli_memory_new(ctx, &c, 1, sizeof *c));
    *c = (ll_contrast){.count = count, .by = by};
    LLI_DO(lli_memory_new(ctx, &c->name, count, sizeof *c->name));
    LLI_DO(lli_memory_new(ctx, &c->evaluation, count, sizeof *c->evaluation));
    LLI_DO(lli_memory_new(ctx, &c->difference, count, LL_METRIC_COUNT * sizeof *c->difference));
    LLI_DO(lli_memory_new(ctx, &w.outcome, 2 * count, sizeof *w.outcome));
    LLI_DO(lli_memory_new(ctx, &w.side, count, sizeof *w.side));
    for (int64_t i = 0; i < count; i++)
        LLI_DO(take_method(c, &w, ctx, i, names, points[i], out_points ? out_points[i] : NULL, &o));
    const ll_rules *rules = &c->evaluation[0]->rules;
    lli_contrast_plan plan = {.by = by, .level = rules->interval, .risk = rules->risk, .seed = rules->seed};
    LLI_DO(lli_contrast_rows(c->difference, ctx, w.side, count, &plan));
    *out = c;
    c = NULL;
done:
    lli_memory_free(w.outcome);
    lli_memory_free(w.side);
    ll_contrast_free(c);
    return status;
}

void ll_contrast_free(ll_contrast *contrast) {
    if (!contrast)
        return;
    for (int64_t i = 0; i < contrast->count; i++) {
        if (contrast->name)
            lli_memory_free(contrast->name[i]);
        if (contrast->evaluation)
            ll_evaluation_free(contrast->evaluation[i]);
    }
    lli_memory_free(contrast->name);
    lli_memory_free(contrast->evaluation);
    lli_memory_free(contrast->difference);
    lli_memory_free(contrast);
}

int64_t ll_contrast_count(const ll_contrast *contrast) {
    return contrast ? contrast->count : 0;
}

ll_confidence ll_contrast_by(const ll_contrast *contrast) {
    return contrast ? contrast->by : LL_CONFIDENCE_SR;
}

static bool has(const ll_contrast *contrast, int64_t i) {
    return contrast && i >= 0 && i < contrast->count;
}

const char *ll_contrast_name(const ll_contrast *contrast, int64_t i) {
    return has(contrast, i) ? contrast->name[i] : NULL;
}

const ll_evaluation *ll_contrast_evaluation(const ll_contrast *contrast, int64_t i) {
    return has(contrast, i) ? contrast->evaluation[i] : NULL;
}

const ll_difference *ll_contrast_difference(const ll_contrast *contrast, int64_t i, ll_metric metric) {
    return has(contrast, i) && i > 0 && ll_metric_name(metric) ? &contrast->difference[i * LL_METRIC_COUNT + metric] : NULL;
}
