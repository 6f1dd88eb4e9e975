/* SPDX-License-Identifier: MIT */
/* An evaluation for people: one screen of plain text, the same as Markdown, or a long CSV. JSON is next door. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "report/evaluation_csv.h"
#include "report/json.h"
#include "report/metric_rule.h"
#include "report/table.h"

static void add_scores(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    const ll_intervals *I = &e->intervals;
    const ll_interval none = {NAN, NAN};
    const struct {
        lli_metric_rule rule;
        double value;
        ll_interval interval;
    } scores[] = {{LLI_RULE_ACCURACY, e->accuracy, I->accuracy},
                  {LLI_RULE_NLL, e->nll, I->nll},
                  {LLI_RULE_BRIER, e->brier, I->brier},
                  {LLI_RULE_ECE, e->ece, I->ece},
                  {LLI_RULE_MCE, e->mce, none},
                  {LLI_RULE_COST, e->cost, none}};
    lli_table table;
    size_t count = LLI_COUNT(scores) - !lli_metric_rule_applies(LLI_RULE_COST, e);
    lli_table_init(&table, ctx, count == LLI_COUNT(scores) ? "rrrrrr" : "rrrrr");
    for (size_t i = 0; i < count; i++)
        lli_table_cell(&table, lli_metric_rule_title(scores[i].rule));
    for (size_t i = 0; i < count; i++)
        lli_table_number(&table, scores[i].value);
    for (size_t i = 0; i < count && e->rules.interval > 0; i++)
        lli_table_interval(&table, scores[i].interval);
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

/* The band is shown only if some confidence has ties. */
static bool any_ties(const ll_evaluation *e) {
    bool ties = false;
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        ties = ties || e->selective[c].ties;
    return ties;
}

static void add_selective(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    static const lli_metric_rule rules[] = {LLI_RULE_AURC, LLI_RULE_EAURC, LLI_RULE_AUGRC, LLI_RULE_FAILURE_AUROC,
                                            LLI_RULE_COVERAGE_AT_RISK};
    enum { RULES = LLI_COUNT(rules) };
    const ll_intervals *I = &e->intervals;
    lli_table table;
    lli_table_init(&table, ctx, "lrrrrr");
    lli_table_cell(&table, "confidence");
    for (size_t i = 0; i < RULES; i++)
        lli_table_cell(&table, lli_metric_rule_title(rules[i]));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const ll_selective *s = &e->selective[c];
        if (isnan(s->aurc))
            continue;
        const double values[RULES] = {s->aurc, s->eaurc, s->augrc, s->failure_auroc, e->coverage_at_risk[c]};
        const ll_interval intervals[RULES] = {I->aurc[c], I->eaurc[c], I->augrc[c], I->failure_auroc[c], I->coverage_at_risk[c]};
        lli_table_cell(&table, ll_confidence_name(c));
        for (int i = 0; i < RULES; i++)
            lli_table_number(&table, values[i]);
        for (int i = 0; i <= RULES && e->rules.interval > 0; i++)
            if (i > 0)
                lli_table_interval(&table, intervals[i - 1]);
            else
                lli_table_cell(&table, "");
    }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

/* AURC by the order inside ties, of the confidences that have some. */
static void add_bands(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    static const char *const heads[] = {"ties", "best AURC", "expected", "worst"};
    lli_table table;
    lli_table_init(&table, ctx, "lrrr");
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const ll_selective *s = &e->selective[c];
        if (!s->ties)
            continue;
        lli_table_cell(&table, ll_confidence_name(c));
        lli_table_number(&table, s->best);
        lli_table_number(&table, s->expected);
        lli_table_number(&table, s->worst);
    }
    lli_text_add(out, "\n");
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_ood(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    lli_table table;
    lli_table_init(&table, ctx, "lrrrr");
    lli_table_cell(&table, "confidence");
    for (lli_metric_rule rule = LLI_RULE_AUROC; rule <= LLI_RULE_FPR95; rule++)
        lli_table_cell(&table, lli_metric_rule_title(rule));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        if (isnan(e->ood[c].auroc))
            continue;
        lli_table_cell(&table, ll_confidence_name(c));
        lli_table_number(&table, e->ood[c].auroc);
        lli_table_number(&table, e->ood[c].aupr_in);
        lli_table_number(&table, e->ood[c].aupr_out);
        lli_table_number(&table, e->ood[c].fpr95);
        if (!(e->rules.interval > 0))
            continue;
        lli_table_cell(&table, "");
        lli_table_interval(&table, e->intervals.ood_auroc[c]);
        lli_table_cell(&table, "");
        lli_table_cell(&table, "");
        lli_table_interval(&table, e->intervals.ood_fpr95[c]);
    }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_calibration(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "\nECE p ");
    lli_table_number_text(out, e->ece_p);
    lli_text_add(out, ", debiased L2 ");
    lli_table_number_text(out, e->l2_debiased);
    if (lli_metric_rule_applies(LLI_RULE_MAJORITY, e)) {
        lli_text_add(out, "; always deciding class %" PRId64 " has accuracy ", e->majority);
        lli_table_number_text(out, e->majority_accuracy);
    }
    lli_text_add(out, "\n");
}

static void add_classes(lli_text *out, ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    static const char *const heads[] = {"class", "points", "decided", "precision", "recall", "coverage", "risk", "answers"};
    lli_table table;
    lli_table_init(&table, ctx, "rrrrrrrr");
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    for (int64_t k = 0; k < e->classes; k++) {
        const ll_class_score *s = &e->by_class[k];
        lli_table_count(&table, k);
        lli_table_count(&table, s->n);
        lli_table_count(&table, s->decided);
        lli_table_number(&table, s->precision);
        lli_table_number(&table, s->recall);
        lli_table_number(&table, s->coverage);
        lli_table_number(&table, s->risk);
        lli_table_count(&table, s->answers);
    }
    lli_text_add(out, isnan(e->class_cut) ? "\nno cut of sr keeps the risk: nothing is answered\n\n" : "\nanswered: sr >= ");
    if (!isnan(e->class_cut)) {
        lli_text_number(out, e->class_cut);
        lli_text_add(out, "\n\n");
    }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_missing(lli_text *out, const ll_evaluation *e) {
    int missing = 0;
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (isnan(e->selective[c].aurc) && !ll_confidence_needs_scores(c))
            lli_text_add(out, "%s%s", missing++ ? ", " : "not in these predictions: ", ll_confidence_name(c));
    if (missing)
        lli_text_add(out, "%s\n", isnan(e->selective[LL_CONFIDENCE_STD].aurc) ? " (std, hq, maxmin, mi need members: S > 1)" : "");
}

static void add_rules(lli_text *out, const ll_evaluation *e, ll_text_form form) {
    for (lli_metric_rule rule = 0; rule < LLI_RULE_COUNT; rule++)
        if (lli_metric_rule_applies(rule, e) && (rule != LLI_RULE_AURC_BAND || any_ties(e)))
            lli_metric_rule_add(out, rule, e, form);
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
    add_calibration(out, e);
    lli_text_add(out, "\n");
    add_selective(out, ctx, e, form);
    if (any_ties(e))
        add_bands(out, ctx, e, form);
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
    if (lli_metric_rule_applies(LLI_RULE_PER_CLASS, e))
        add_classes(out, ctx, e, form);
    lli_text_add(out, "\n");
    if (form == LL_TEXT_MARKDOWN && e->bins > 0) {
        add_bins(out, ctx, e, form);
        lli_text_add(out, "\n");
    }
    add_rules(out, e, form);
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
        lli_evaluation_csv(&text, ctx, evaluation);
    else
        add_page(&text, ctx, evaluation, form);
    ll_status status = lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}

void ll_text_free(char *text) {
    lli_memory_free(text);
}
