/* SPDX-License-Identifier: MIT */
/* An evaluation as CSV. */
#ifndef LLI_REPORT_EVALUATION_CSV_H
#define LLI_REPORT_EVALUATION_CSV_H

#include "base/text.h"

void lli_evaluation_csv(lli_text *out, ll_context *ctx, const ll_evaluation *evaluation);

#endif
