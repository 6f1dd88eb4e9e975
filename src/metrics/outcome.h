/* SPDX-License-Identifier: MIT */
/* What every metric asks of an outcome before it computes. */
#ifndef LLI_METRICS_OUTCOME_H
#define LLI_METRICS_OUTCOME_H

#include "base/context.h"

/* The caller's outcome, by its struct_size; `out` is zero before. */
ll_status lli_outcome_take(ll_outcome *out, ll_context *ctx, const ll_outcome *given) LL_CHECK_RESULT;

/* The one check of predictions, whoever made them and whoever reads them: at least one point; classes in [0,K); probs [n,K] of
 * probabilities; sr and sr_tail probabilities; logarithms of probabilities such, log_true also NaN; every other confidence finite, or NaN
 * in every row where it needs members and there is only one. What is not given is not checked. `name` is what messages call the
 * predictions: their file, or LLI_OUTCOME_POINTS. */
ll_status lli_outcome_check(ll_context *ctx, const char *name, const ll_outcome *points) LL_CHECK_RESULT;
/* The same, for who also needs the decided and the true classes. */
ll_status lli_outcome_check_truth(ll_context *ctx, const char *name, const ll_outcome *points) LL_CHECK_RESULT;
#define LLI_OUTCOME_POINTS "the predictions"

/* Whether checked predictions have this confidence. */
bool lli_outcome_has(const ll_outcome *points, ll_confidence c);

/* The numbers that rank by confidence c: its tail where that is known, the logarithm before the number, since the confidence itself rounds
 * to 1; *falling then says that less is more sure. `beside`: points that will be ranked together with these, and so need the same; NULL:
 * none. */
const double *lli_outcome_ranking(bool *falling, const ll_outcome *points, ll_confidence c, const ll_outcome *beside);

void lli_outcome_mark_errors(uint8_t *mark /* [n] */, const int32_t *decided /* [n] */, const ll_outcome *points);

#endif
