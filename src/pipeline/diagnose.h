/* SPDX-License-Identifier: MIT */
/* The diagnosis of an ensemble's chains. */
#ifndef LLI_PIPELINE_DIAGNOSE_H
#define LLI_PIPELINE_DIAGNOSE_H

#include "base/context.h"

/* Why an ensemble cannot be diagnosed; LLI_DIAGNOSE_YES: it can. */
typedef enum lli_diagnose_can { LLI_DIAGNOSE_YES, LLI_DIAGNOSE_NO_CHAINS, LLI_DIAGNOSE_SHORT } lli_diagnose_can;

lli_diagnose_can lli_diagnose_check(const ll_ensemble *ensemble);
/* ll_diagnose of an ensemble that can be diagnosed, with fewer candidates for a quick look. What is wrong with the chains goes to the log.
 */
ll_status lli_diagnose(ll_diagnosis **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                       int64_t candidates) LL_CHECK_RESULT;

#endif
