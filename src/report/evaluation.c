/* SPDX-License-Identifier: MIT */
/* An evaluation for people: one screen of plain text, the same as Markdown, or a long CSV. JSON is next door. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "report/json.h"
#include "report/rules.h"
#include "report/table.h"

static void add_scores(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    const struct {
        lli_rule rule;
        double value;
    } scores[] = {{LLI_RULE_ACCURACY, e->accuracy}, {LLI_RULE_NLL, e->nll}, {LLI_RULE_BRIER, e->brier},
                  {LLI_RULE_ECE, e->ece},           {LLI_RULE_MCE, e->mce}, {LLI_RULE_COST, e->cost}};
    lli_table table;
    size_t count = LLI_COUNT(scores) - !lli_rule_applies(LLI_RULE_COST, e);
    lli_table_init(&table, ctx, count == LLI_COUNT(scores) ? "rrrrrr" : "rrrrr");
    for (size_t i = 0; i < count; i++)
        lli_table_cell(&table, lli_rule_title(scores[i].rule));
    for (size_t i = 0; i < count; i++)
        lli_table_number(&table, scores[i].value);
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

/* The band has columns only if some confidence has ties. */
static bool any_ties(const ll_evaluation *e) {
    bool ties = false;
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        ties = ties || e->selective[c].ties;
    return ties;
}

static void add_selective(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    static const lli_rule rules[] = {LLI_RULE_AURC, LLI_RULE_EAURC, LLI_RULE_AUGRC, LLI_RULE_FAILURE_AUROC};
    bool ties = any_ties(e);
    lli_table table;
    lli_table_init(&table, ctx, ties ? "lrrrrrrr" : "lrrrr");
    lli_table_cell(&table, "confidence");
    for (size_t i = 0; i < LLI_COUNT(rules); i++)
        lli_table_cell(&table, lli_rule_title(rules[i]));
    if (ties) {
        lli_table_cell(&table, "ties: best");
        lli_table_cell(&table, "expected");
        lli_table_cell(&table, "worst");
    }
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const ll_selective *s = &e->selective[c];
        if (isnan(s->aurc))
            continue;
        const double values[] = {s->aurc, s->eaurc, s->augrc, s->failure_auroc, s->best, s->expected, s->worst};
        lli_table_cell(&table, ll_confidence_name(c));
        for (int i = 0; i < (ties ? 7 : 4); i++)
            lli_table_number(&table, i >= 4 && !s->ties ? NAN : values[i]);
    }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_ood(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    lli_table table;
    lli_table_init(&table, ctx, "lrrrr");
    lli_table_cell(&table, "confidence");
    for (lli_rule rule = LLI_RULE_AUROC; rule <= LLI_RULE_FPR95; rule++)
        lli_table_cell(&table, lli_rule_title(rule));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        if (isnan(e->ood[c].auroc))
            continue;
        lli_table_cell(&table, ll_confidence_name(c));
        lli_table_number(&table, e->ood[c].auroc);
        lli_table_number(&table, e->ood[c].aupr_in);
        lli_table_number(&table, e->ood[c].aupr_out);
        lli_table_number(&table, e->ood[c].fpr95);
    }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_missing(lli_text *out, const ll_evaluation *e) {
    int missing = 0;
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (isnan(e->selective[c].aurc))
            lli_text_add(out, "%s%s", missing++ ? ", " : "not in these predictions: ", ll_confidence_name(c));
    if (missing)
        lli_text_add(out, "%s\n", isnan(e->selective[LL_CONFIDENCE_STD].aurc) ? " (std, hq, maxmin, mi need members: S > 1)" : "");
}

static void add_rules(lli_text *out, const ll_evaluation *e, ll_text_form form) {
    for (lli_rule rule = 0; rule < LLI_RULE_COUNT; rule++)
        if (lli_rule_applies(rule, e) && (rule != LLI_RULE_AURC_BAND || any_ties(e)))
            lli_rule_add(out, rule, e, form);
}

static void add_bins(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    lli_table table;
    lli_table_init(&table, ctx, "rrrrr");
    static const char *const heads[] = {"sr from", "to", "points", "accuracy", "mean sr"};
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    for (int64_t j = 0; j < e->bins; j++) {
        lli_table_number(&table, e->bin[j].lo);
        lli_table_number(&table, e->bin[j].hi);
        lli_table_count(&table, e->bin[j].n);
        lli_table_number(&table, e->bin[j].accuracy);
        lli_table_number(&table, e->bin[j].confidence);
    }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_page(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    lli_text_add(out, "%" PRId64 " points, %" PRId64 " errors", e->n, e->errors);
    if (e->classes > 0)
        lli_text_add(out, ", %" PRId64 " classes", e->classes);
    if (e->rules.compat && strcmp(e->rules.compat, "none") != 0)
        lli_text_add(out, "; conventions: %s", e->rules.compat);
    lli_text_add(out, "\n\n");
    add_scores(out, ctx, e, form);
    lli_text_add(out, "\n");
    add_selective(out, ctx, e, form);
    lli_text_add(out, "\nmin AURC ");
    lli_table_number_text(out, e->min_aurc);
    lli_text_add(out, "\n");
    add_missing(out, e);
    if (e->has_ood) {
        lli_text_add(out, "\n%" PRId64 " out-of-distribution points, base rate of the in-distribution points ", e->n_out);
        lli_table_number_text(out, e->base_rate);
        lli_text_add(out, "\n\n");
        add_ood(out, ctx, e, form);
    }
    lli_text_add(out, "\n");
    if (form == LL_TEXT_MARKDOWN && e->bins > 0) {
        add_bins(out, ctx, e, form);
        lli_text_add(out, "\n");
    }
    add_rules(out, e, form);
}

/* ---- CSV: metric, of, value; `of` is a confidence or the number of a bin ---- */

static void csv_row(lli_table *table, const char *metric, const char *of, double value) {
    lli_table_cell(table, metric);
    lli_table_cell(table, of);
    lli_table_exact(table, value);
}

static void csv_bin(lli_table *table, const char *metric, int64_t j, double value) {
    lli_table_cell(table, metric);
    lli_table_count(table, j);
    lli_table_exact(table, value);
}

static void csv_confidences(lli_table *table, const ll_evaluation *e) {
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const ll_selective *s = &e->selective[c];
        const char *name = ll_confidence_name(c);
        csv_row(table, "aurc", name, s->aurc);
        csv_row(table, "aurc_best", name, s->ties ? s->best : NAN);
        csv_row(table, "aurc_expected", name, s->ties ? s->expected : NAN);
        csv_row(table, "aurc_worst", name, s->ties ? s->worst : NAN);
        csv_row(table, "eaurc", name, s->eaurc);
        csv_row(table, "augrc", name, s->augrc);
        csv_row(table, "failure_auroc", name, s->failure_auroc);
        if (!e->has_ood)
            continue;
        csv_row(table, "ood_auroc", name, e->ood[c].auroc);
        csv_row(table, "ood_aupr_in", name, e->ood[c].aupr_in);
        csv_row(table, "ood_aupr_out", name, e->ood[c].aupr_out);
        csv_row(table, "ood_fpr95", name, e->ood[c].fpr95);
    }
}

static void add_csv(lli_text *out, ll_context *ctx, const ll_evaluation *e) {
    lli_table table;
    lli_table_init(&table, ctx, "lll");
    lli_table_cell(&table, "metric");
    lli_table_cell(&table, "of");
    lli_table_cell(&table, "value");
    csv_row(&table, "n", "", (double)e->n);
    csv_row(&table, "errors", "", (double)e->errors);
    csv_row(&table, "accuracy", "", e->accuracy);
    csv_row(&table, "nll", "", e->nll);
    csv_row(&table, "brier", "", e->brier);
    csv_row(&table, "ece", "", e->ece);
    csv_row(&table, "mce", "", e->mce);
    csv_row(&table, "min_aurc", "", e->min_aurc);
    if (lli_rule_applies(LLI_RULE_COST, e))
        csv_row(&table, "cost", "", e->cost);
    if (e->has_ood) {
        csv_row(&table, "ood_n", "", (double)e->n_out);
        csv_row(&table, "ood_base_rate", "", e->base_rate);
    }
    csv_confidences(&table, e);
    for (int64_t j = 0; j < e->bins; j++) {
        csv_bin(&table, "bin_lo", j, e->bin[j].lo);
        csv_bin(&table, "bin_hi", j, e->bin[j].hi);
        csv_bin(&table, "bin_n", j, (double)e->bin[j].n);
        csv_bin(&table, "bin_accuracy", j, e->bin[j].accuracy);
        csv_bin(&table, "bin_confidence", j, e->bin[j].confidence);
    }
    lli_table_write(&table, out, LL_TEXT_CSV);
    lli_table_release(&table);
}

ll_status ll_evaluation_text(char **out, ll_context *ctx, const ll_evaluation *evaluation, ll_text_form form) {
    LLI_NEED(ctx, out, evaluation);
    LLI_TRY(lli_need_form(ctx, form));
    lli_text text;
    *out = NULL;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON) {
        lli_json_evaluation(&text, evaluation);
        lli_text_append(&text, "\n", 1);
    } else if (form == LL_TEXT_CSV)
        add_csv(&text, ctx, evaluation);
    else
        add_page(&text, ctx, evaluation, form);
    ll_status status = lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}

void ll_text_free(char *text) {
    lli_memory_free(text);
}
