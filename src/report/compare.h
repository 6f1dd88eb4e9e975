/* SPDX-License-Identifier: MIT */
/* Methods side by side, and the one to take. */
#ifndef LLI_REPORT_COMPARE_H
#define LLI_REPORT_COMPARE_H

#include "base/text.h"

/* As ll_compare_text, for `count` rows; `risk` is the one the thresholds were made for. */
ll_status lli_compare_text(char **out, ll_context *ctx, const ll_compare_row *rows, int64_t count, double risk,
                           ll_text_form form) LL_CHECK_RESULT;

/* The confidence whose threshold answers most points of this row, the first on ties; -1 if none reaches the risk. */
int lli_compare_best(const ll_compare_row *row);
/* The row to suggest: most points answered, then least min AURC, then the first; -1 if no row reaches the risk. */
int64_t lli_compare_suggest(const ll_compare_row *rows, int64_t count);

#endif
