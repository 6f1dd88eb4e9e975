/* SPDX-License-Identifier: MIT */
/* The comparison as tables, and the sentences below them. */
#include "report/comparison_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "report/metric_rule.h"
#include "report/table.h"

void lli_comparison_text_name(lli_text *out, const ll_compare_row *row) {
    lli_text_add(out, "%s%s", row->name, isnan(row->temperature) ? "" : "+T");
}

const char *lli_comparison_text_from(lli_choosing from) {
    static const char *const words[] = {"validation", "half of the test rows", "the test rows themselves"};
    return words[from];
}

/* Were out-of-distribution points judged too? */
static bool has_ood(const ll_comparison *c) {
    for (int64_t i = 0; i < c->count; i++)
        if (!c->rows[i].diverged)
            return c->rows[i].evaluation->has_ood;
    return false;
}

typedef struct column {
    const char *title, *key;
    double value;
    ll_interval interval;
} column;

enum { FRONT_COLUMNS = 4, COLUMNS = 11, COST_COLUMNS = 3, CUT_COLUMNS = 3 };

/* What the table shows of a row; returns how many columns there are. */
static int columns_of(column out[COLUMNS], const ll_evaluation *e, bool ood) {
    const ll_intervals *I = &e->intervals;
    const ll_selective *s = e->selective;
    const column all[COLUMNS] = {
        {"accuracy", "accuracy", e->accuracy, I->accuracy},
        {"NLL", "nll", e->nll, I->nll},
        {"Brier", "brier", e->brier, I->brier},
        {"ECE", "ece", e->ece, I->ece},
        {"AURC sr", "aurc_sr", s[LL_CONFIDENCE_SR].aurc, I->aurc[LL_CONFIDENCE_SR]},
        {"AURC std", "aurc_std", s[LL_CONFIDENCE_STD].aurc, I->aurc[LL_CONFIDENCE_STD]},
        {"AURC hq", "aurc_hq", s[LL_CONFIDENCE_HQ].aurc, I->aurc[LL_CONFIDENCE_HQ]},
        {"coverage", "coverage_at_risk", e->coverage_at_risk[LL_CONFIDENCE_SR], I->coverage_at_risk[LL_CONFIDENCE_SR]},
        {"AUROC sr", "auroc_sr", e->ood[LL_CONFIDENCE_SR].auroc, I->ood_auroc[LL_CONFIDENCE_SR]},
        {"AUROC std", "auroc_std", e->ood[LL_CONFIDENCE_STD].auroc, I->ood_auroc[LL_CONFIDENCE_STD]},
        {"AUROC hq", "auroc_hq", e->ood[LL_CONFIDENCE_HQ].auroc, I->ood_auroc[LL_CONFIDENCE_HQ]},
    };
    for (int i = 0; i < COLUMNS; i++)
        out[i] = all[i];
    return ood ? COLUMNS : COLUMNS - 3;
}

static void add_name(lli_table *table, ll_context *ctx, const ll_compare_row *row) {
    lli_text name;
    lli_text_init(&name, ctx);
    lli_comparison_text_name(&name, row);
    lli_table_cell(table, name.data ? name.data : "");
    lli_text_release(&name);
}

/* Where a group begins, its name. */
static void add_group(lli_table *table, const ll_compare_row *row, const ll_compare_row *before) {
    lli_table_cell(table, before && strcmp(before->group, row->group) == 0 ? "" : row->group);
}

/* "0.0012" */
static void add_short(lli_table *table, ll_context *ctx, double x) {
    lli_text cell;
    lli_text_init(&cell, ctx);
    lli_text_add(&cell, isnan(x) ? "-" : "%.2g", x);
    lli_table_cell(table, cell.data ? cell.data : "");
    lli_text_release(&cell);
}

/* "640 B", "1.3 MB" */
static void add_bytes(lli_table *table, ll_context *ctx, int64_t bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    lli_text cell;
    double x = (double)bytes;
    size_t unit = 0;
    for (; x >= 999.5 && unit + 1 < LLI_COUNT(units); unit++)
        x /= 1000;
    lli_text_init(&cell, ctx);
    lli_text_add(&cell, unit && x < 9.95 ? "%.1f %s" : "%.0f %s", x, units[unit]);
    lli_table_cell(table, cell.data ? cell.data : "");
    lli_text_release(&cell);
}

static void add_number(lli_table *table, double x, bool exact) {
    if (exact)
        lli_table_exact(table, x);
    else
        lli_table_number(table, x);
}

/* What a row costs, for programs with its cut. */
static void add_costs(lli_table *table, ll_context *ctx, const ll_compare_row *row, bool exact) {
    const ll_threshold *t = &row->threshold[LL_CONFIDENCE_SR];
    if (!exact) {
        lli_table_seconds(table, row->seconds_fit);
        add_short(table, ctx, row->seconds_per_thousand);
        add_bytes(table, ctx, row->bytes);
        return;
    }
    lli_table_exact(table, row->seconds_fit);
    lli_table_exact(table, row->seconds_per_thousand);
    lli_table_count(table, row->bytes);
    const double cut[CUT_COLUMNS] = {t->cut, t->coverage, t->risk};
    for (int i = 0; i < CUT_COLUMNS; i++)
        lli_table_exact(table, !row->diverged && t->found ? cut[i] : NAN);
}

/* A row, and below it for people its intervals. */
static void add_row(lli_table *table, ll_context *ctx, const ll_compare_row *row, const ll_compare_row *before, bool ood, bool exact) {
    column columns[COLUMNS];
    int count = columns_of(columns, row->evaluation, ood);
    add_group(table, row, exact ? NULL : before);
    add_name(table, ctx, row);
    lli_table_count(table, row->samples);
    add_number(table, row->temperature, exact);
    for (int i = 0; i < count; i++)
        if (row->diverged)
            lli_table_cell(table, i == 0 ? "diverged" : exact ? "" : "-");
        else
            add_number(table, columns[i].value, exact);
    add_costs(table, ctx, row, exact);
    for (int i = 0; i < FRONT_COLUMNS + count + COST_COLUMNS && !row->diverged && !exact; i++)
        if (i >= FRONT_COLUMNS && i < FRONT_COLUMNS + count)
            lli_table_interval(table, columns[i - FRONT_COLUMNS].interval);
        else
            lli_table_cell(table, "");
}

static void add_table(lli_text *out, ll_context *ctx, const ll_comparison *c, ll_text_form form) {
    static const char *const front[2][FRONT_COLUMNS] = {{"group", "method", "S", "T"}, {"group", "method", "samples", "temperature"}};
    static const char *const costs[2][COST_COLUMNS] = {{"fit s", "s/1000", "stored"}, {"seconds_fit", "seconds_per_thousand", "bytes"}};
    static const char *const cut[CUT_COLUMNS] = {"cut", "coverage", "risk"};
    char align[FRONT_COLUMNS + COLUMNS + COST_COLUMNS + CUT_COLUMNS + 1] = "ll";
    column columns[COLUMNS];
    const ll_evaluation none = {0};
    bool exact = form == LL_TEXT_CSV, ood = has_ood(c);
    int count = columns_of(columns, &none, ood), all = FRONT_COLUMNS + count + COST_COLUMNS + (exact ? CUT_COLUMNS : 0);
    memset(align + 2, 'r', (size_t)all - 2);
    lli_table table;
    lli_table_init(&table, ctx, align);
    for (int i = 0; i < FRONT_COLUMNS; i++)
        lli_table_cell(&table, front[exact][i]);
    for (int i = 0; i < count; i++)
        lli_table_cell(&table, exact ? columns[i].key : columns[i].title);
    for (int i = 0; i < COST_COLUMNS; i++)
        lli_table_cell(&table, costs[exact][i]);
    for (int i = 0; exact && i < CUT_COLUMNS; i++)
        lli_table_cell(&table, cut[i]);
    for (int64_t i = 0; i < c->count; i++)
        add_row(&table, ctx, &c->rows[i], i ? &c->rows[i - 1] : NULL, ood, exact);
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

/* Scores from features know no members: one line for all methods. */
static void add_scores(lli_text *out, const ll_comparison *c) {
    const char *begin = "\nOf features alone, the same for every method: ";
    for (int64_t i = 0; i < c->count; i++)
        for (ll_confidence by = 0; by < LL_CONFIDENCE_COUNT && !c->rows[i].diverged; by++) {
            const ll_evaluation *e = c->rows[i].evaluation;
            if (!ll_confidence_needs_scores(by) || isnan(e->ood[by].auroc) || c->rows[i].temperature > 0)
                continue;
            lli_text_add(out, "%sAUROC %s ", begin, ll_confidence_name(by));
            lli_table_number_text(out, e->ood[by].auroc);
            if (!isnan(e->intervals.ood_auroc[by].lo))
                lli_text_add(out, " [%.3f, %.3f]", e->intervals.ood_auroc[by].lo, e->intervals.ood_auroc[by].hi);
            begin = ", ";
        }
    if (begin[0] == ',')
        lli_text_add(out, "\n");
}

static void add_gap(lli_table *table, ll_context *ctx, const lli_comparison_gap *gap, ll_metric m, double level) {
    lli_text cell;
    lli_text_init(&cell, ctx);
    if (isnan(gap->of[m].value))
        lli_text_add(&cell, "-");
    else
        lli_text_add(&cell, "%+.3g %s", gap->of[m].value, lli_contrast_word(&gap->of[m], level));
    lli_table_cell(table, cell.data ? cell.data : "");
    lli_text_release(&cell);
}

static void add_differences(lli_text *out, ll_context *ctx, const ll_comparison *c, ll_text_form form) {
    static const struct {
        ll_metric metric;
        const char *title;
    } shown[] = {{LL_METRIC_ACCURACY, "accuracy"},
                 {LL_METRIC_NLL, "NLL"},
                 {LL_METRIC_BRIER, "Brier"},
                 {LL_METRIC_AURC, "AURC sr"},
                 {LL_METRIC_COVERAGE_AT_RISK, "coverage"}};
    lli_table table;
    if (c->count < 2 || c->rows[0].diverged)
        return;
    lli_table_init(&table, ctx, "lrrrrr");
    lli_table_cell(&table, "minus point");
    for (size_t m = 0; m < LLI_COUNT(shown); m++)
        lli_table_cell(&table, shown[m].title);
    for (int64_t i = 1; i < c->count; i++) {
        if (c->rows[i].diverged)
            continue;
        add_name(&table, ctx, &c->rows[i]);
        for (size_t m = 0; m < LLI_COUNT(shown); m++)
            add_gap(&table, ctx, &c->differences[i], shown[m].metric, c->level);
        lli_table_cell(&table, "");
        for (size_t m = 0; m < LLI_COUNT(shown); m++)
            lli_table_interval(&table, c->differences[i].of[shown[m].metric].interval);
    }
    lli_text_append(out, "\n", 1);
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

void lli_comparison_text_because(lli_text *out, const ll_comparison *c) {
    const ll_recommendation *r = &c->recommendation;
    if (r->row < 0)
        return;
    bool coverage = r->criterion[0] == 'c';
    lli_text_add(out, "On the %" PRId64 " rows that chose (%s) its ", r->n, lli_comparison_text_from(c->from));
    if (coverage)
        lli_text_add(out, "coverage at a risk of %g %%, ", 100 * c->risk);
    else
        lli_text_add(out, "AURC(sr), ");
    lli_table_number_text(out, r->value);
    if (r->row == r->best) {
        lli_text_add(out, ", is the best, and what is simpler is worse.");
        return;
    }
    lli_text_add(out, ", is within noise of the best, ");
    lli_comparison_text_name(out, &c->rows[r->best]);
    lli_text_add(out, " with ");
    lli_table_number_text(out, r->best_value);
    lli_text_add(out, " (difference %+.3g", r->difference);
    if (!isnan(r->interval.lo))
        lli_text_add(out, ", %g %% interval %.3g to %.3g", 100 * c->level, r->interval.lo, r->interval.hi);
    lli_text_add(out, "), and it is the simplest of those.");
}

void lli_comparison_text_why(lli_text *out, const ll_comparison *c) {
    if (c->recommendation.row < 0)
        return;
    lli_text_add(out, "Recommended: ");
    lli_comparison_text_name(out, &c->rows[c->recommendation.row]);
    lli_text_add(out, ". ");
    lli_comparison_text_because(out, c);
}

static void add_recommendation(lli_text *out, const ll_comparison *c) {
    if (c->recommendation.row < 0) {
        lli_text_add(out, "\nEvery method diverged; try a smaller lr.\n");
        return;
    }
    const ll_compare_row *row = &c->rows[c->recommendation.row];
    const ll_threshold *t = &row->threshold[LL_CONFIDENCE_SR];
    lli_text_append(out, "\n", 1);
    lli_comparison_text_why(out, c);
    if (!t->found) {
        lli_text_add(out, "\nNo cut of its sr reaches a risk of %g %%; allow a higher risk.\n", 100 * c->risk);
        return;
    }
    lli_text_add(out, "\nFor a risk of at most %g %%: answer when sr >= ", 100 * c->risk);
    lli_text_number(out, t->cut);
    lli_text_add(out,
                 " and abstain otherwise.\nOn the rows that report it answers %.2f %% of the points (%" PRId64 " of %" PRId64
                 ") and is wrong on %.2f %% of those (%" PRId64 ").\n",
                 100 * t->coverage, t->accepted, t->n, 100 * t->risk, t->accepted_errors);
    lli_text_add(out, c->from == LLI_CHOOSING_SAME
                          ? "Method and cut were chosen and measured on the same points: expect a little less on new ones.\n"
                          : "The cut was found on the rows that chose; it is no promise, which lastlayer certify gives.\n");
}

/* How the numbers came about, by the rules of the first method that finished. */
static void add_rules(lli_text *out, const ll_comparison *c, ll_text_form form) {
    int64_t i = 0;
    while (i < c->count && c->rows[i].diverged)
        i++;
    if (i == c->count)
        return;
    const ll_evaluation *e = c->rows[i].evaluation;
    lli_text_append(out, "\n", 1);
    for (lli_metric_rule rule = LLI_RULE_ACCURACY; rule <= LLI_RULE_AURC; rule++)
        if (rule != LLI_RULE_MCE)
            lli_metric_rule_add(out, rule, e, form);
    lli_metric_rule_add(out, LLI_RULE_COVERAGE_AT_RISK, e, form);
    if (e->has_ood)
        lli_metric_rule_add(out, LLI_RULE_AUROC, e, form);
    lli_metric_rule_note(out, "fit s", "seconds of fitting, of one thread", form);
    lli_metric_rule_note(out, "s/1000", "seconds for a thousand predictions, with the threads of this run", form);
    lli_metric_rule_note(out, "stored", "bytes of the arrays of its file, without scores from features", form);
    lli_metric_rule_note(out, "better, worse", "the paired test against point, adjusted by Holm for the number of rows", form);
}

ll_status ll_comparison_text(char **out, ll_context *ctx, const ll_comparison *comparison, ll_text_form form) {
    LLI_NEED(ctx, out, comparison);
    LLI_TRY(lli_need_form(ctx, form));
    const ll_comparison *c = comparison;
    lli_text text;
    *out = NULL;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON)
        lli_comparison_json(&text, c);
    else
        add_table(&text, ctx, c, form);
    if (form == LL_TEXT_PLAIN || form == LL_TEXT_MARKDOWN) {
        add_scores(&text, c);
        add_differences(&text, ctx, c, form);
        add_recommendation(&text, c);
        add_rules(&text, c, form);
    }
    ll_status status = lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}
