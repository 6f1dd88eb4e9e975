/* SPDX-License-Identifier: MIT */
/* Trials of a search: the line of one, and the table of all. */
#ifndef LLI_REPORT_TRIALS_H
#define LLI_REPORT_TRIALS_H

#include "base/text.h"
#include "metrics/selection.h"

/* One JSON object in one line, without a newline: what store/results.c reads back, to the last bit. */
void lli_trials_json(lli_text *out, const ll_trial *trial);
/* What is chosen, on which rows, by which rule, and each method's best: {"protocol": ..., "best": {...}}. */
ll_status lli_trials_choice_json(lli_text *out, const ll_trial *trials, int64_t count, const lli_selection *selection) LL_CHECK_RESULT;
/* The best first; each method's best is marked. */
ll_status lli_trials_text(char **out, ll_context *ctx, const ll_trial *trials, int64_t count, const lli_selection *selection,
                          ll_text_form form) LL_CHECK_RESULT;

#endif
