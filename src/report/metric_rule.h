/* SPDX-License-Identifier: MIT */
/* The rule that made each number, as a sentence: no metric is shown without it. */
#ifndef LLI_REPORT_METRIC_RULE_H
#define LLI_REPORT_METRIC_RULE_H

#include "base/text.h"

typedef enum lli_metric_rule {
    LLI_RULE_ACCURACY,
    LLI_RULE_NLL,
    LLI_RULE_BRIER,
    LLI_RULE_ECE,
    LLI_RULE_MCE,
    LLI_RULE_AURC,
    LLI_RULE_AURC_BAND,
    LLI_RULE_EAURC,
    LLI_RULE_AUGRC,
    LLI_RULE_FAILURE_AUROC,
    LLI_RULE_COVERAGE_AT_RISK,
    LLI_RULE_MIN_AURC,
    LLI_RULE_COST,
    LLI_RULE_ECE_P,
    LLI_RULE_L2_DEBIASED,
    LLI_RULE_MAJORITY,
    LLI_RULE_PER_CLASS,
    LLI_RULE_INTERVALS,
    LLI_RULE_AUROC,
    LLI_RULE_AUPR_IN,
    LLI_RULE_AUPR_OUT,
    LLI_RULE_FPR95,
    LLI_RULE_BASE_RATE,
    LLI_RULE_COUNT
} lli_metric_rule;

const char *lli_metric_rule_key(lli_metric_rule rule);   /* "failure_auroc", as in JSON */
const char *lli_metric_rule_title(lli_metric_rule rule); /* "failure AUROC", for people */
bool lli_metric_rule_applies(lli_metric_rule rule,
                             const ll_evaluation *evaluation); /* false: of costs or of out points that were not given */
void lli_metric_rule_text(lli_text *out, lli_metric_rule rule, const ll_evaluation *evaluation);
/* Title and sentence as a wrapped line of plain text or an item of a Markdown list. */
void lli_metric_rule_add(lli_text *out, lli_metric_rule rule, const ll_evaluation *evaluation, ll_text_form form);
void lli_metric_rule_note(lli_text *out, const char *title, const char *sentence, ll_text_form form);

#endif
