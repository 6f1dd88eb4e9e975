/* SPDX-License-Identifier: MIT */
/* A comparison in words. */
#ifndef LLI_REPORT_COMPARISON_TEXT_H
#define LLI_REPORT_COMPARISON_TEXT_H

#include "base/text.h"
#include "metrics/comparison.h"

void lli_comparison_text_name(lli_text *out, const ll_compare_row *row); /* "point", "point+T" */
/* The recommendation in words, without a line break; "" where there is none. */
void lli_comparison_text_why(lli_text *out, const ll_comparison *comparison);
void lli_comparison_text_because(lli_text *out, const ll_comparison *comparison); /* without the name at its front */
const char *lli_comparison_text_from(lli_choosing from); /* "validation", "half of the test rows", "the test rows themselves" */

/* The JSON of it all, next door. */
void lli_comparison_json(lli_text *out, const ll_comparison *comparison);

#endif
