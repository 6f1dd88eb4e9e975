/* SPDX-License-Identifier: MIT */
/* All metrics of one outcome at once. Opens no file: the cost matrix comes as an array. */
#ifndef LLI_METRICS_EVALUATE_H
#define LLI_METRICS_EVALUATE_H

#include "base/context.h"

/* As ll_evaluate; *evaluation is zeros, or what this made before, which it frees. `costs` [K,K] or NULL takes the place of options->costs,
 * which is not read. A confidence that needs members and is NaN in every row does not exist (S = 1); any other NaN is refused.
 * evaluation->rules holds the options in use, with words that live forever. O(n log n + n K), with costs O(n K^2), with intervals 2000
 * further passes of O(n). */
ll_status lli_evaluate(ll_evaluation *evaluation, ll_context *ctx, const ll_outcome *points, const ll_outcome *out_points,
                       const ll_evaluate_options *options, const ll_array *costs) LL_CHECK_RESULT;

void lli_evaluate_release(ll_evaluation *evaluation); /* what it owns, not itself */

#endif
