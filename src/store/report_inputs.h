/* SPDX-License-Identifier: MIT */
/* What a report is made of: files as given, and for a store of a search the predictions of each method's best trial. */
#ifndef LLI_STORE_REPORT_INPUTS_H
#define LLI_STORE_REPORT_INPUTS_H

#include "base/context.h"

enum { LLI_REPORT_INPUTS_MAX = 16 };

typedef struct lli_report_inputs {
    ll_report_input list[LLI_REPORT_INPUTS_MAX];
    char *owned[2 * LLI_REPORT_INPUTS_MAX]; /* paths and names made here */
    int64_t count, owned_count;
} lli_report_inputs;

ll_status lli_report_inputs_expand(lli_report_inputs *out, ll_context *ctx, const ll_report_input *given, int64_t count) LL_CHECK_RESULT;
void lli_report_inputs_release(lli_report_inputs *inputs);

#endif
