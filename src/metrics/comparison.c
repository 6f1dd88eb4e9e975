/* SPDX-License-Identifier: MIT */
/* Rows one after the other, then what concerns them all. */
#include "metrics/comparison.h"

#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "metrics/evaluate.h"
#include "metrics/interval.h"
#include "metrics/threshold.h"

void ll_compare_options_init(ll_compare_options *options, size_t struct_size) {
    const ll_compare_options defaults = {.risk = NAN, .protocol = "honest", .temperature = "point", .interval = 0.95, .methods = "default"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_compare_options, member)

static const ll_option table[] = {
    {"methods", 0, LL_OPTION_TEXT, AT(methods), "LIST", NULL, 0, 0, false, false, "default",
     "what to compare: default, all that apply, or names with commas, like laplace,sgld,sgld-kfac; point is always there"},
    {"protocol", 0, LL_OPTION_CHOICE, AT(protocol), "P", "honest|paper", 0, 0, false, false, "honest",
     "honest: rows that choose are not rows that report; paper: the test rows do both"},
    {"risk", 0, LL_OPTION_REAL, AT(risk), "R", NULL, 0, 1, false, false, "0.01 for the cut, and AURC chooses",
     "the share of errors allowed among answers: for the cut, and for the coverage that chooses the method", LL_OPTION_UNSET_NAN},
    {"temperature", 0, LL_OPTION_CHOICE, AT(temperature), "WHOSE", "point|all|none", 0, 0, false, false, "point",
     "methods that also get a row with a temperature"},
    {"interval", 0, LL_OPTION_REAL, AT(interval), "LEVEL", NULL, 0, 1, true, true, "0.95", "level of the intervals and tests"},
};

const ll_option *ll_compare_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

ll_status lli_comparison_init(ll_comparison *c, ll_context *ctx, int64_t most, const ll_compare_options *options) {
    c->risk = isnan(options->risk) ? LLI_COMPARISON_RISK : options->risk;
    c->level = options->interval;
    c->recommendation.row = -1;
    LLI_TRY(lli_memory_new(ctx, &c->rows, most, sizeof *c->rows));
    LLI_TRY(lli_memory_new(ctx, &c->evaluations, most, sizeof *c->evaluations));
    return lli_memory_new(ctx, &c->differences, most, sizeof *c->differences);
}

int64_t lli_comparison_add(ll_comparison *c, const ll_compare_row *row) {
    int64_t i = c->count++;
    c->rows[i] = *row;
    c->rows[i].evaluation = &c->evaluations[i];
    c->rows[i].temperature = NAN;
    c->rows[i].seconds_per_thousand = NAN;
    for (int m = 0; m < LL_METRIC_COUNT; m++)
        c->differences[i].of[m] = (ll_difference){.value = NAN, .interval = lli_interval_none, .p = NAN, .p_adjusted = NAN};
    return i;
}

ll_status lli_comparison_measure(ll_comparison *c, ll_context *ctx, int64_t row, const lli_comparison_points *points, uint64_t seed) {
    ll_evaluate_options o = ll_evaluate_options_default();
    o.interval = c->level;
    o.risk = c->risk;
    o.seed = seed;
    LLI_TRY(lli_evaluate(&c->evaluations[row], ctx, points->reports, points->out, &o, NULL));
    for (ll_confidence by = 0; by < LL_CONFIDENCE_COUNT; by++) {
        ll_threshold *t = &c->rows[row].threshold[by];
        if (!points->reports->confidence[by])
            continue;
        LLI_TRY(ll_threshold_at_risk(t, ctx, points->cuts, by, c->risk));
        if (t->found)
            lli_threshold_at_cut(t, points->reports, by, t->cut);
    }
    const lli_contrast_side first = {.points = points->point}, second = {.points = points->reports};
    const lli_contrast_plan plan = {LL_CONFIDENCE_SR, c->level, c->risk, seed};
    return points->point ? lli_contrast_measure(c->differences[row].of, ctx, &first, &second, &plan) : LL_OK;
}

ll_status lli_comparison_finish(ll_comparison *c, ll_context *ctx, const lli_candidate *candidates, int64_t count, double risk,
                                uint64_t seed) {
    double *p; /* [2,rows] */
    LLI_TRY(lli_memory_new(ctx, &p, 2 * c->count, sizeof *p));
    for (int m = 0; m < LL_METRIC_COUNT; m++) {
        for (int64_t i = 0; i < c->count; i++)
            p[i] = c->differences[i].of[m].p;
        lli_interval_holm(p + c->count, p, c->count);
        for (int64_t i = 0; i < c->count; i++)
            c->differences[i].of[m].p_adjusted = p[c->count + i];
    }
    lli_memory_free(p);
    if (!count)
        return LL_OK;
    LLI_TRY(lli_recommend(&c->recommendation, ctx, candidates, count, risk, c->level, seed));
    c->recommendation.same_rows = c->from == LLI_CHOOSING_SAME;
    return LL_OK;
}

void ll_comparison_free(ll_comparison *comparison) {
    if (!comparison)
        return;
    lli_memory_free(comparison->rows);
    for (int64_t i = 0; comparison->evaluations && i < comparison->count; i++)
        lli_evaluate_release(&comparison->evaluations[i]);
    lli_memory_free(comparison->evaluations);
    lli_memory_free(comparison->differences);
    lli_memory_free(comparison);
}

int64_t ll_comparison_count(const ll_comparison *comparison) {
    return comparison ? comparison->count : 0;
}

const ll_compare_row *ll_comparison_row(const ll_comparison *comparison, int64_t i) {
    return comparison && i >= 0 && i < comparison->count ? &comparison->rows[i] : NULL;
}

const ll_recommendation *ll_comparison_recommendation(const ll_comparison *comparison) {
    return comparison && comparison->recommendation.row >= 0 ? &comparison->recommendation : NULL;
}
