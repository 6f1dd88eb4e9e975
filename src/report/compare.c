/* SPDX-License-Identifier: MIT */
/* The comparison table and the sentence below it. */
#include "report/compare.h"

#include <inttypes.h>
#include <math.h>

#include "report/json.h"
#include "report/rules.h"
#include "report/table.h"

int lli_compare_best(const ll_compare_row *row) {
    int best = -1;
    for (int c = 0; c < LL_CONFIDENCE_COUNT && !row->diverged; c++)
        if (row->threshold[c].found && (best < 0 || row->threshold[c].coverage > row->threshold[best].coverage))
            best = c;
    return best;
}

int64_t lli_compare_suggest(const ll_compare_row *rows, int64_t count) {
    int64_t chosen = -1;
    for (int64_t i = 0; i < count; i++) {
        int c = lli_compare_best(&rows[i]);
        if (c < 0)
            continue;
        if (chosen < 0) {
            chosen = i;
            continue;
        }
        double ours = rows[i].threshold[c].coverage, theirs = rows[chosen].threshold[lli_compare_best(&rows[chosen])].coverage;
        if (ours > theirs || (ours == theirs && rows[i].evaluation->min_aurc < rows[chosen].evaluation->min_aurc))
            chosen = i;
    }
    return chosen;
}

/* The one of sr, std, hq with the least AURC; sr always exists. */
static const char *least_aurc(const ll_evaluation *e) {
    ll_confidence best = LL_CONFIDENCE_SR;
    for (ll_confidence c = LL_CONFIDENCE_STD; c <= LL_CONFIDENCE_HQ; c++)
        if (e->selective[c].aurc < e->selective[best].aurc)
            best = c;
    return ll_confidence_name(best);
}

static void add_number(lli_table *table, double x, bool exact) {
    if (exact)
        lli_table_exact(table, x);
    else
        lli_table_number(table, x);
}

enum { COLUMNS = 15, OOD_COLUMNS = 3 };

static const ll_confidence ood_by[OOD_COLUMNS] = {LL_CONFIDENCE_SR, LL_CONFIDENCE_STD, LL_CONFIDENCE_HQ};

/* Were out-of-distribution points judged too? */
static bool has_ood(const ll_compare_row *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!rows[i].diverged)
            return rows[i].evaluation->has_ood;
    return false;
}

static void add_row(lli_table *table, const ll_compare_row *row, bool ood, bool exact) {
    const ll_evaluation *e = row->evaluation;
    const ll_selective *s = e->selective;
    int c = lli_compare_best(row);
    lli_table_cell(table, row->method);
    lli_table_count(table, row->samples);
    if (row->diverged) {
        lli_table_cell(table, "diverged");
        for (int i = 3; i < COLUMNS + (ood ? OOD_COLUMNS : 0); i++)
            lli_table_cell(table, exact ? "" : "-");
        return;
    }
    const double numbers[] = {
        e->accuracy, e->nll, e->brier, e->ece, s[LL_CONFIDENCE_SR].aurc, s[LL_CONFIDENCE_STD].aurc, s[LL_CONFIDENCE_HQ].aurc};
    for (size_t i = 0; i < LLI_COUNT(numbers); i++)
        add_number(table, numbers[i], exact);
    lli_table_cell(table, least_aurc(e));
    if (exact)
        lli_table_exact(table, row->seconds_fit);
    else
        lli_table_seconds(table, row->seconds_fit);
    lli_table_cell(table, c >= 0 ? ll_confidence_name((ll_confidence)c) : exact ? "" : "-");
    add_number(table, c >= 0 ? row->threshold[c].cut : NAN, exact);
    add_number(table, c >= 0 ? row->threshold[c].coverage : NAN, exact);
    add_number(table, c >= 0 ? row->threshold[c].risk : NAN, exact);
    for (int i = 0; ood && i < OOD_COLUMNS; i++)
        add_number(table, e->ood[ood_by[i]].auroc, exact);
}

static void add_table(lli_text *out, ll_context *ctx, const ll_compare_row *rows, int64_t count, ll_text_form form) {
    static const char *const heads[2][COLUMNS] = {
        {"method", "S", "accuracy", "NLL", "Brier", "ECE", "AURC sr", "AURC std", "AURC hq", "best", "fit s", "cut by", "cut", "coverage",
         "risk"},
        {"method", "samples", "accuracy", "nll", "brier", "ece", "aurc_sr", "aurc_std", "aurc_hq", "best", "seconds_fit", "by", "cut",
         "coverage", "risk"},
    };
    static const char *const ood_heads[2][OOD_COLUMNS] = {{"AUROC sr", "AUROC std", "AUROC hq"}, {"auroc_sr", "auroc_std", "auroc_hq"}};
    bool exact = form == LL_TEXT_CSV, ood = has_ood(rows, count);
    lli_table table;
    lli_table_init(&table, ctx, ood ? "lrrrrrrrrlrlrrrrrr" : "lrrrrrrrrlrlrrr");
    for (int i = 0; i < COLUMNS; i++)
        lli_table_cell(&table, heads[exact][i]);
    for (int i = 0; ood && i < OOD_COLUMNS; i++)
        lli_table_cell(&table, ood_heads[exact][i]);
    for (int64_t i = 0; i < count; i++)
        add_row(&table, &rows[i], ood, exact);
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_suggestion(lli_text *out, const ll_compare_row *rows, int64_t count, double risk) {
    int64_t i = lli_compare_suggest(rows, count);
    if (i < 0) {
        lli_text_add(out, "\nNo method reaches a risk of %g %% at any cut; allow a higher risk.\n", 100 * risk);
        return;
    }
    int c = lli_compare_best(&rows[i]);
    const ll_threshold *t = &rows[i].threshold[c];
    lli_text_add(out, "\nSuggestion for a risk of at most %g %%: %s, answer when %s >= ", 100 * risk, rows[i].method,
                 ll_confidence_name((ll_confidence)c));
    lli_text_number(out, t->cut);
    lli_text_add(out,
                 " and abstain otherwise.\nIt answers %.2f %% of the points (%" PRId64 " of %" PRId64
                 ") and is wrong on %.2f %% of those (%" PRId64 ").\n",
                 100 * t->coverage, t->accepted, t->n, 100 * t->risk, t->accepted_errors);
    lli_text_add(out, "Method, confidence and cut were chosen and measured on the same points: expect a little less on new ones.\n");
}

/* How the numbers came about, by the rules of the first method that finished. */
static void add_rules(lli_text *out, const ll_compare_row *rows, int64_t count, ll_text_form form) {
    int64_t i = 0;
    while (i < count && rows[i].diverged)
        i++;
    if (i == count)
        return;
    lli_text_append(out, "\n", 1);
    for (lli_rule rule = LLI_RULE_ACCURACY; rule <= LLI_RULE_AURC; rule++)
        if (rule != LLI_RULE_MCE)
            lli_rule_add(out, rule, rows[i].evaluation, form);
    if (rows[i].evaluation->has_ood)
        lli_rule_add(out, LLI_RULE_AUROC, rows[i].evaluation, form);
    lli_rule_note(out, "best", "the one of sr, std, hq with the least AURC", form);
    lli_rule_note(out, "cut", "of the confidence that answers most points within the risk, with its coverage and risk", form);
}

static void add_json(lli_text *out, const ll_compare_row *rows, int64_t count, double risk) {
    lli_text_add(out, "{\n\"risk\": ");
    lli_text_json_number(out, risk);
    lli_text_add(out, ",\n\"methods\": [");
    for (int64_t i = 0; i < count; i++) {
        lli_text_add(out, "%s\n", i ? "," : "");
        lli_json_compare_row(out, &rows[i]);
    }
    lli_text_add(out, "\n],\n\"suggestion\": ");
    int64_t i = lli_compare_suggest(rows, count);
    if (i < 0) {
        lli_text_add(out, "null\n}\n");
        return;
    }
    int c = lli_compare_best(&rows[i]);
    lli_text_add(out, "{\"method\": ");
    lli_text_json_string(out, rows[i].method);
    lli_text_add(out, ", \"confidence\": \"%s\", \"threshold\": ", ll_confidence_name((ll_confidence)c));
    lli_json_threshold(out, &rows[i].threshold[c]);
    lli_text_add(out, ", \"note\": \"chosen and measured on the same points\"}\n}\n");
}

ll_status lli_compare_text(char **out, ll_context *ctx, const ll_compare_row *rows, int64_t count, double risk, ll_text_form form) {
    lli_text text;
    *out = NULL;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON)
        add_json(&text, rows, count, risk);
    else
        add_table(&text, ctx, rows, count, form);
    if (form == LL_TEXT_PLAIN || form == LL_TEXT_MARKDOWN) {
        add_suggestion(&text, rows, count, risk);
        add_rules(&text, rows, count, form);
    }
    ll_status status = lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}
