/* SPDX-License-Identifier: MIT */
/* Results as JSON. Undefined and infinite numbers are null. */
#ifndef LLI_REPORT_JSON_H
#define LLI_REPORT_JSON_H

#include "base/text.h"

/* Each adds one JSON value, without a newline after it. */
void lli_json_evaluation(lli_text *out, const ll_evaluation *evaluation);
void lli_json_intervals(lli_text *out, const ll_evaluation *evaluation); /* the line "intervals": ..., of an evaluation */
void lli_json_interval(lli_text *out, ll_interval interval);             /* [lo, hi], or null */
void lli_json_threshold(lli_text *out, const ll_threshold *threshold /* NULL = null */);
void lli_json_compare_row(lli_text *out, const ll_compare_row *row); /* its members, without braces */

#endif
