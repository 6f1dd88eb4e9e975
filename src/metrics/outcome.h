/* SPDX-License-Identifier: MIT */
/* What every metric asks of an outcome before it computes. */
#ifndef LLI_METRICS_OUTCOME_H
#define LLI_METRICS_OUTCOME_H

#include "base/context.h"

/* At least one point, decided and true classes in [0,K), probs [n,K] where given. */
ll_status lli_outcome_check_points(ll_context *ctx, const ll_outcome *points) LL_CHECK_RESULT;
/* *exists = the confidence is there. One that needs members and is NaN in every row is not (S = 1); any other NaN is refused.
 * `where` ends the place in the message: "" or " of the ... points". */
ll_status lli_outcome_check_confidence(bool *exists, ll_context *ctx, const ll_outcome *points, ll_confidence c,
                                       const char *where) LL_CHECK_RESULT;
/* sr is a probability, sr_tail has no NaN; where given. */
ll_status lli_outcome_check_sr(ll_context *ctx, const ll_outcome *points) LL_CHECK_RESULT;

void lli_outcome_mark_errors(uint8_t *mark /* [n] */, const int32_t *decided /* [n] */, const ll_outcome *points);

#endif
