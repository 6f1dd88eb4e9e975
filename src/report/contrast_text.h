/* SPDX-License-Identifier: MIT */
/* Differences of methods to the first of them, as a table and as JSON. */
#ifndef LLI_REPORT_CONTRAST_TEXT_H
#define LLI_REPORT_CONTRAST_TEXT_H

#include "base/text.h"

/* differences [count, LL_METRIC_COUNT] of names [count], the methods behind the first. Form: plain or Markdown. */
void lli_contrast_text_table(lli_text *out, ll_context *ctx, const char *const *names, const ll_difference *differences, int64_t count,
                             ll_text_form form);
/* One JSON object with an entry for each metric; null where neither value nor test exists. */
void lli_contrast_text_json(lli_text *out, const ll_difference differences[LL_METRIC_COUNT]);
/* What the columns mean, as lli_metric_rule_note. */
void lli_contrast_text_note(lli_text *out, ll_text_form form);

#endif
