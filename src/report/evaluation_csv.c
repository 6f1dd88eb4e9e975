/* SPDX-License-Identifier: MIT */
/* An evaluation as a long CSV: metric, of, value, lo, hi; `of` is a confidence or the number of a bin or class, lo and hi the interval. */
#include "report/evaluation_csv.h"

#include <math.h>

#include "report/metric_rule.h"
#include "report/table.h"

static const ll_interval none = {NAN, NAN};

static void row_with(lli_table *table, const char *metric, const char *of, double value, ll_interval interval) {
    lli_table_cell(table, metric);
    lli_table_cell(table, of);
    lli_table_exact(table, value);
    lli_table_exact(table, interval.lo);
    lli_table_exact(table, interval.hi);
}

static void row(lli_table *table, const char *metric, const char *of, double value) {
    row_with(table, metric, of, value, none);
}

static void row_of(lli_table *table, const char *metric, int64_t number, double value) {
    lli_table_cell(table, metric);
    lli_table_count(table, number);
    lli_table_exact(table, value);
    lli_table_cell(table, "");
    lli_table_cell(table, "");
}

static void confidences(lli_table *table, const ll_evaluation *e) {
    const ll_intervals *I = &e->intervals;
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const ll_selective *s = &e->selective[c];
        const char *name = ll_confidence_name(c);
        if (ll_confidence_needs_scores(c) && isnan(s->aurc) && isnan(e->ood[c].auroc))
            continue;
        row_with(table, "aurc", name, s->aurc, I->aurc[c]);
        row(table, "aurc_best", name, s->ties ? s->best : NAN);
        row(table, "aurc_expected", name, s->ties ? s->expected : NAN);
        row(table, "aurc_worst", name, s->ties ? s->worst : NAN);
        row_with(table, "eaurc", name, s->eaurc, I->eaurc[c]);
        row_with(table, "augrc", name, s->augrc, I->augrc[c]);
        row_with(table, "failure_auroc", name, s->failure_auroc, I->failure_auroc[c]);
        row_with(table, "coverage_at_risk", name, e->coverage_at_risk[c], I->coverage_at_risk[c]);
        if (!e->has_ood)
            continue;
        row_with(table, "ood_auroc", name, e->ood[c].auroc, I->ood_auroc[c]);
        row(table, "ood_aupr_in", name, e->ood[c].aupr_in);
        row(table, "ood_aupr_out", name, e->ood[c].aupr_out);
        row_with(table, "ood_fpr95", name, e->ood[c].fpr95, I->ood_fpr95[c]);
    }
}

static void classes(lli_table *table, const ll_evaluation *e) {
    for (int64_t k = 0; k < e->classes; k++) {
        const ll_class_score *s = &e->by_class[k];
        row_of(table, "class_n", k, (double)s->n);
        row_of(table, "class_decided", k, (double)s->decided);
        row_of(table, "class_precision", k, s->precision);
        row_of(table, "class_recall", k, s->recall);
        row_of(table, "class_coverage", k, s->coverage);
        row_of(table, "class_risk", k, s->risk);
        row_of(table, "class_answers", k, (double)s->answers);
    }
}

void lli_evaluation_csv(lli_text *out, ll_context *ctx, const ll_evaluation *e) {
    lli_table table;
    static const char *const heads[] = {"metric", "of", "value", "lo", "hi"};
    lli_table_init(&table, ctx, "lllll");
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    row(&table, "n", "", (double)e->n);
    row(&table, "errors", "", (double)e->errors);
    row_with(&table, "accuracy", "", e->accuracy, e->intervals.accuracy);
    row_with(&table, "nll", "", e->nll, e->intervals.nll);
    row_with(&table, "brier", "", e->brier, e->intervals.brier);
    row_with(&table, "ece", "", e->ece, e->intervals.ece);
    row(&table, "mce", "", e->mce);
    row(&table, "min_aurc", "", e->min_aurc);
    row(&table, "ece_p", "", e->ece_p);
    row(&table, "l2_debiased", "", e->l2_debiased);
    row(&table, "majority_accuracy", "", e->majority_accuracy);
    if (lli_metric_rule_applies(LLI_RULE_COST, e))
        row(&table, "cost", "", e->cost);
    if (e->has_ood) {
        row(&table, "ood_n", "", (double)e->n_out);
        row(&table, "ood_base_rate", "", e->base_rate);
    }
    confidences(&table, e);
    for (int64_t j = 0; j < e->bins; j++) {
        row_of(&table, "bin_lo", j, e->bin[j].lo);
        row_of(&table, "bin_hi", j, e->bin[j].hi);
        row_of(&table, "bin_n", j, (double)e->bin[j].n);
        row_of(&table, "bin_accuracy", j, e->bin[j].accuracy);
        row_of(&table, "bin_confidence", j, e->bin[j].confidence);
    }
    if (lli_metric_rule_applies(LLI_RULE_PER_CLASS, e))
        classes(&table, e);
    lli_table_write(&table, out, LL_TEXT_CSV);
    lli_table_release(&table);
}
