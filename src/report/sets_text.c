/* SPDX-License-Identifier: MIT */
/* Conformal sets in words and as JSON: the rule, the sizes, and coverage where the true classes are known. */
#include <inttypes.h>
#include <math.h>

#include "base/abi.h"
#include "metrics/sets.h"
#include "report/json.h"
#include "report/table.h"

static void statement(lli_text *out, const ll_set_rule_info *r) {
    if (r->rank > r->n && !r->by_class) {
        lli_text_add(out, "the calibration rows are too few, so that every set holds all classes");
        return;
    }
    if (r->by_class)
        lli_text_add(out, "for each true class with at least %" PRId64 " calibration rows, taken by itself: ", r->needed);
    if (isnan(r->confidence))
        lli_text_add(out, "with probability at least %.10g the set of a new point holds its true class", 1 - r->alpha);
    else
        lli_text_add(out,
                     "with probability at least %.10g over the calibration rows, at least %.10g of the sets of new points hold the true "
                     "class",
                     r->confidence, 1 - r->alpha);
}

static const char conditions[] = "new points come from the same source as the calibration rows, which nothing was fitted to or chosen on; "
                                 "under a shift of the data the promise is void";

static void json_number(lli_text *out, const char *before, const char *key, double x) {
    lli_text_add(out, "%s\"%s\": ", before, key);
    lli_text_json_number(out, x);
}

/* "n": ..., and if known "covered", "coverage", "interval". */
static void json_counts(lli_text *out, int64_t n, const int64_t *covered, int64_t k) {
    lli_text_add(out, "\"n\": %" PRId64, n);
    if (!covered)
        return;
    lli_text_add(out, ", \"covered\": %" PRId64, covered[k]);
    json_number(out, ", ", "coverage", n > 0 ? (double)covered[k] / (double)n : NAN);
    lli_text_add(out, ", \"interval\": ");
    lli_json_interval(out, lli_sets_interval(covered[k], n));
}

static void json_rule(lli_text *out, const ll_set_rule *rule) {
    const ll_set_rule_info *r = &rule->info;
    const char *between = "";
    lli_text_add(out, "{\n  \"statement\": \"");
    statement(out, r);
    lli_text_add(out, "\",\n  \"score\": \"%s\"", r->score);
    json_number(out, ",\n  ", "alpha", r->alpha);
    json_number(out, ",\n  ", "confidence", r->confidence);
    lli_text_add(out, ",\n  \"by_class\": %s, \"allow_empty\": %s, \"seed\": %" PRIu64, r->by_class ? "true" : "false",
                 r->allow_empty ? "true" : "false", r->seed);
    lli_text_add(out, ",\n  \"n_calibration\": %" PRId64 ", \"classes\": %" PRId64 ", \"needed\": %" PRId64 ", \"rank\": %" PRId64, r->n,
                 r->classes, r->needed, r->rank);
    json_number(out, ",\n  ", "quantile", r->quantile);
    json_number(out, ",\n  ", "least_p", rule->conformal.rule.score == LLI_CONFORMAL_LAC ? -rule->conformal.pooled : NAN);
    lli_text_add(out, ",\n  \"few\": [");
    for (int64_t k = 0; k < r->classes; k++)
        if (r->class_few[k]) {
            lli_text_add(out, "%s%" PRId64, between, k);
            between = ", ";
        }
    lli_text_add(out, "]");
}

static void json(lli_text *out, const ll_set_rule *rule, const ll_sets_info *s) {
    const ll_set_rule_info *r = &rule->info;
    const char *between = "";
    json_rule(out, rule);
    lli_text_add(out, ",\n  ");
    json_counts(out, s->n, s->size_covered ? &s->covered : NULL, 0);
    json_number(out, ",\n  ", "mean_size", s->mean_size);
    lli_text_add(out, ",\n  \"by_size\": [");
    for (int64_t size = 0; size <= s->classes; size++)
        if (s->size_n[size] > 0) {
            lli_text_add(out, "%s\n    {\"size\": %" PRId64 ", ", between, size);
            json_counts(out, s->size_n[size], s->size_covered, size);
            lli_text_add(out, "}");
            between = ",";
        }
    lli_text_add(out, "],\n  \"per_class\": [");
    for (int64_t k = 0; k < s->classes; k++) {
        lli_text_add(out, "%s\n    {\"class\": %" PRId64 ", \"n_calibration\": %" PRId64, k ? "," : "", k, r->class_n[k]);
        json_number(out, ", ", "quantile", r->class_quantile[k]);
        if (s->class_n) {
            lli_text_add(out, ", ");
            json_counts(out, s->class_n[k], s->class_covered, k);
        }
        lli_text_add(out, "}");
    }
    lli_text_add(out, "],\n  \"conditions\": \"%s\"\n}\n", conditions);
}

/* A line of a table: its name, rows, and if known how many of them are covered. */
static void add_line(lli_table *table, int64_t name, int64_t n, const int64_t *covered, int64_t k) {
    lli_table_count(table, name);
    lli_table_count(table, n);
    if (!covered)
        return;
    if (n > 0)
        lli_table_number(table, (double)covered[k] / (double)n);
    else
        lli_table_cell(table, "-");
    lli_table_interval(table, lli_sets_interval(covered[k], n));
}

static void add_head(lli_table *table, ll_context *ctx, const char *name, bool known) {
    lli_table_init(table, ctx, known ? "rrrl" : "rr");
    lli_table_cell(table, name);
    lli_table_cell(table, "rows");
    if (known) {
        lli_table_cell(table, "coverage");
        lli_table_cell(table, "95 %");
    }
}

static void add_sizes(lli_text *out, ll_context *ctx, const ll_sets_info *s) {
    lli_table table;
    add_head(&table, ctx, "set size", s->size_covered != NULL);
    for (int64_t size = 0; size <= s->classes; size++)
        if (s->size_n[size] > 0)
            add_line(&table, size, s->size_n[size], s->size_covered, size);
    lli_text_add(out, "\n");
    lli_table_write(&table, out, LL_TEXT_PLAIN);
    lli_table_release(&table);
}

static void add_classes(lli_text *out, ll_context *ctx, const ll_sets_info *s) {
    lli_table table;
    add_head(&table, ctx, "true class", true);
    for (int64_t k = 0; k < s->classes; k++)
        add_line(&table, k, s->class_n[k], s->class_covered, k);
    lli_text_add(out, "\n");
    lli_table_write(&table, out, LL_TEXT_PLAIN);
    lli_table_release(&table);
}

static void plain(lli_text *out, ll_context *ctx, const ll_set_rule *rule, const ll_sets_info *s) {
    const ll_set_rule_info *r = &rule->info;
    lli_text_add(out, "promise: ");
    statement(out, r);
    lli_text_add(out, "\nrule: %s, ", r->score);
    if (r->by_class)
        lli_text_add(out, "a quantile for each class");
    else if (isinf(r->quantile))
        lli_text_add(out, "an infinite quantile");
    else if (rule->conformal.rule.score == LLI_CONFORMAL_LAC)
        lli_text_add(out, "classes with a probability of at least %.6g", -rule->conformal.pooled);
    else
        lli_text_add(out, "classes with a score of at most %.6g", r->quantile);
    lli_text_add(out, ", from %" PRId64 " calibration rows%s\n", r->n, r->allow_empty ? "" : "; the most probable class is always in");
    lli_text_add(out, "%" PRId64 " sets, %.4g classes in each on average", s->n, s->mean_size);
    if (s->size_covered)
        lli_text_add(out, "; %" PRId64 " hold the true class: coverage %.4f, 95 %% interval [%.4f, %.4f]", s->covered, s->coverage,
                     s->interval.lo, s->interval.hi);
    lli_text_add(out, "\n");
    add_sizes(out, ctx, s);
    if (s->class_n)
        add_classes(out, ctx, s);
    lli_text_add(out, "\nconditions: %s\n", conditions);
}

ll_status ll_sets_text(char **out, ll_context *ctx, const ll_set_rule *rule, const ll_sets *sets, ll_text_form form) {
    LLI_NEED(ctx, out, rule, sets);
    *out = NULL;
    LLI_TRY(lli_need_form(ctx, form));
    LLI_TRY(lli_sets_match(ctx, rule, sets));
    lli_text text;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON)
        json(&text, rule, &sets->info);
    else
        plain(&text, ctx, rule, &sets->info);
    return lli_text_take(&text, out);
}
