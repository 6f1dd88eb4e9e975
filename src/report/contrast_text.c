/* SPDX-License-Identifier: MIT */
/* Several methods: the numbers of each, and what is left of the differences once chance is taken off. */
#include "report/contrast_text.h"

#include <inttypes.h>
#include <math.h>

#include "base/abi.h"
#include "base/memory.h"
#include "report/json.h"
#include "report/metric_rule.h"
#include "report/table.h"

static const lli_metric_rule rule_of[LL_METRIC_COUNT] = {
    LLI_RULE_ACCURACY,         LLI_RULE_NLL,   LLI_RULE_BRIER, LLI_RULE_AURC, LLI_RULE_EAURC, LLI_RULE_AUGRC, LLI_RULE_FAILURE_AUROC,
    LLI_RULE_COVERAGE_AT_RISK, LLI_RULE_AUROC, LLI_RULE_FPR95};

typedef struct figure {
    double value;
    ll_interval interval;
} figure;

static figure figure_of(const ll_evaluation *e, ll_metric metric, ll_confidence by) {
    const ll_intervals *I = &e->intervals;
    const ll_selective *s = &e->selective[by];
    switch (metric) {
    case LL_METRIC_ACCURACY: return (figure){e->accuracy, I->accuracy};
    case LL_METRIC_NLL: return (figure){e->nll, I->nll};
    case LL_METRIC_BRIER: return (figure){e->brier, I->brier};
    case LL_METRIC_AURC: return (figure){s->aurc, I->aurc[by]};
    case LL_METRIC_EAURC: return (figure){s->eaurc, I->eaurc[by]};
    case LL_METRIC_AUGRC: return (figure){s->augrc, I->augrc[by]};
    case LL_METRIC_FAILURE_AUROC: return (figure){s->failure_auroc, I->failure_auroc[by]};
    case LL_METRIC_COVERAGE_AT_RISK: return (figure){e->coverage_at_risk[by], I->coverage_at_risk[by]};
    case LL_METRIC_OOD_AUROC: return (figure){e->ood[by].auroc, I->ood_auroc[by]};
    default: return (figure){e->ood[by].fpr95, I->ood_fpr95[by]};
    }
}

/* Metrics of out points come last. */
static int metric_count(const ll_evaluation *e) {
    return e->has_ood ? LL_METRIC_COUNT : LL_METRIC_OOD_AUROC;
}

void lli_contrast_text_table(lli_text *out, ll_context *ctx, const char *const *names, const ll_difference *differences, int64_t count,
                             ll_text_form form) {
    static const char *const heads[] = {"method", "metric", "difference", "interval", "p", "adjusted p", "word"};
    lli_table table;
    lli_table_init(&table, ctx, "llrrrrl");
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    for (int64_t i = 0; i < count; i++)
        for (int m = 0, shown = 0; m < LL_METRIC_COUNT; m++) {
            const ll_difference *d = &differences[i * LL_METRIC_COUNT + m];
            if (isnan(d->value))
                continue;
            lli_table_cell(&table, shown++ && form == LL_TEXT_PLAIN ? "" : names[i]);
            lli_table_cell(&table, lli_metric_rule_title(rule_of[m]));
            lli_table_number(&table, d->value);
            lli_table_interval(&table, d->interval);
            lli_table_number(&table, d->p);
            lli_table_number(&table, d->p_adjusted);
            lli_table_cell(&table, d->word ? d->word : "");
        }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

void lli_contrast_text_note(lli_text *out, ll_text_form form) {
    lli_metric_rule_note(out, "difference", "to the first method, on the same rows, with an interval for this method alone", form);
    lli_metric_rule_note(
        out, "p", "the chance of a difference at least as large if there were none; adjusted by Holm for the number of methods", form);
    lli_metric_rule_note(out, "word", "better or worse: the adjusted p is below 1 less the level; all else is within noise", form);
}

void lli_contrast_text_json(lli_text *out, const ll_difference differences[LL_METRIC_COUNT]) {
    lli_text_add(out, "{");
    for (ll_metric m = 0; m < LL_METRIC_COUNT; m++) {
        const ll_difference *d = &differences[m];
        lli_text_add(out, "%s\n    \"%s\": ", m ? "," : "", ll_metric_name(m));
        if (isnan(d->value)) {
            lli_text_add(out, "null");
            continue;
        }
        lli_text_add(out, "{\"value\": ");
        lli_text_json_number(out, d->value);
        lli_text_add(out, ", \"interval\": ");
        lli_json_interval(out, d->interval);
        lli_text_add(out, ", \"p\": ");
        lli_text_json_number(out, d->p);
        lli_text_add(out, ", \"p_adjusted\": ");
        lli_text_json_number(out, d->p_adjusted);
        if (d->word)
            lli_text_json_pair(out, ", ", "word", d->word);
        else
            lli_text_add(out, ", \"word\": null");
        lli_text_add(out, "}");
    }
    lli_text_add(out, "\n  }");
}

static void add_numbers(lli_text *out, ll_context *ctx, const ll_contrast *contrast, ll_text_form form) {
    int count = metric_count(ll_contrast_evaluation(contrast, 0));
    lli_table table;
    lli_table_init(&table, ctx, count == LL_METRIC_COUNT ? "lrrrrrrrrrr" : "lrrrrrrrr");
    lli_table_cell(&table, "method");
    for (int m = 0; m < count; m++)
        lli_table_cell(&table, lli_metric_rule_title(rule_of[m]));
    for (int64_t i = 0; i < ll_contrast_count(contrast); i++)
        for (int line = 0; line < 2; line++) {
            lli_table_cell(&table, line ? "" : ll_contrast_name(contrast, i));
            for (ll_metric m = 0; m < (ll_metric)count; m++) {
                figure x = figure_of(ll_contrast_evaluation(contrast, i), m, ll_contrast_by(contrast));
                if (line)
                    lli_table_interval(&table, x.interval);
                else
                    lli_table_number(&table, x.value);
            }
        }
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static ll_status add_page(lli_text *out, ll_context *ctx, const ll_contrast *contrast, ll_text_form form) {
    const ll_evaluation *e = ll_contrast_evaluation(contrast, 0);
    int64_t count = ll_contrast_count(contrast);
    const char **names;
    LLI_TRY(lli_memory_new(ctx, &names, count, sizeof *names));
    for (int64_t i = 0; i < count; i++)
        names[i] = ll_contrast_name(contrast, i);
    lli_text_add(out, "%" PRId64 " points", e->n);
    if (e->has_ood)
        lli_text_add(out, ", %" PRId64 " out-of-distribution points", e->n_out);
    lli_text_add(out, "; confidence %s\n\n", ll_confidence_name(ll_contrast_by(contrast)));
    add_numbers(out, ctx, contrast, form);
    lli_text_add(out, "\nDifferences to ");
    lli_text_foreign(out, names[0]);
    lli_text_add(out, "\n\n");
    lli_contrast_text_table(out, ctx, names + 1, ll_contrast_difference(contrast, 1, 0), count - 1, form);
    lli_text_add(out, "\n");
    for (int m = 0; m < metric_count(e); m++)
        lli_metric_rule_add(out, rule_of[m], e, form);
    lli_metric_rule_add(out, LLI_RULE_INTERVALS, e, form);
    lli_contrast_text_note(out, form);
    lli_memory_free(names);
    return LL_OK;
}

static void add_json(lli_text *out, const ll_contrast *contrast) {
    lli_text_add(out, "{\n");
    lli_text_json_pair(out, "  ", "by", ll_confidence_name(ll_contrast_by(contrast)));
    lli_text_add(out, ",\n  \"methods\": [");
    for (int64_t i = 0; i < ll_contrast_count(contrast); i++) {
        const ll_difference *d = ll_contrast_difference(contrast, i, 0);
        lli_text_json_pair(out, i ? ",\n  {" : "\n  {", "name", ll_contrast_name(contrast, i));
        lli_text_add(out, ",\n  \"differences\": ");
        if (d)
            lli_contrast_text_json(out, d);
        else
            lli_text_add(out, "null");
        lli_text_add(out, ",\n  \"evaluation\": ");
        lli_json_evaluation(out, ll_contrast_evaluation(contrast, i));
        lli_text_add(out, "}");
    }
    lli_text_add(out, "\n]}\n");
}

static void add_csv(lli_text *out, ll_context *ctx, const ll_contrast *contrast) {
    static const char *const heads[] = {"method",        "metric",        "value", "lo",         "hi",  "difference",
                                        "difference_lo", "difference_hi", "p",     "p_adjusted", "word"};
    lli_table table;
    lli_table_init(&table, ctx, "lllllllllll");
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    for (int64_t i = 0; i < ll_contrast_count(contrast); i++)
        for (ll_metric m = 0; m < (ll_metric)metric_count(ll_contrast_evaluation(contrast, 0)); m++) {
            const ll_difference *d = ll_contrast_difference(contrast, i, m);
            figure x = figure_of(ll_contrast_evaluation(contrast, i), m, ll_contrast_by(contrast));
            const double numbers[] = {x.value,
                                      x.interval.lo,
                                      x.interval.hi,
                                      d ? d->value : NAN,
                                      d ? d->interval.lo : NAN,
                                      d ? d->interval.hi : NAN,
                                      d ? d->p : NAN,
                                      d ? d->p_adjusted : NAN};
            lli_table_cell(&table, ll_contrast_name(contrast, i));
            lli_table_cell(&table, ll_metric_name(m));
            for (size_t k = 0; k < LLI_COUNT(numbers); k++)
                lli_table_exact(&table, numbers[k]);
            lli_table_cell(&table, d && d->word ? d->word : "");
        }
    lli_table_write(&table, out, LL_TEXT_CSV);
    lli_table_release(&table);
}

ll_status ll_contrast_text(char **out, ll_context *ctx, const ll_contrast *contrast, ll_text_form form) {
    LLI_NEED(ctx, out, contrast);
    LLI_TRY(lli_need_form(ctx, form));
    lli_text text;
    ll_status status = LL_OK;
    *out = NULL;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON)
        add_json(&text, contrast);
    else if (form == LL_TEXT_CSV)
        add_csv(&text, ctx, contrast);
    else
        status = add_page(&text, ctx, contrast, form);
    if (status == LL_OK)
        status = lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}
