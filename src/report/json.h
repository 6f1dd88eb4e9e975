/* SPDX-License-Identifier: MIT */
/* Results as JSON. Undefined and infinite numbers are null. */
#ifndef LLI_REPORT_JSON_H
#define LLI_REPORT_JSON_H

#include "base/text.h"

void lli_json_evaluation(lli_text *out, const ll_evaluation *evaluation);

#endif
