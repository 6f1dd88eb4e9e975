/* SPDX-License-Identifier: MIT */
/* Counts by class: who is found, who is answered, and what guessing would give. Equations: docs/math/scores.md. */
#ifndef LLI_METRICS_PER_CLASS_H
#define LLI_METRICS_PER_CLASS_H

#include "base/context.h"

/* The class of most points (the lowest on ties), and how many they are. */
ll_status lli_per_class_majority(int64_t *majority, int64_t *count, ll_context *ctx, const int32_t *truth, int64_t n,
                                 int64_t K) LL_CHECK_RESULT;

/* score [K], zero before. Answered are the points with sr >= cut; none where the cut is NaN, or there is no sr. */
void lli_per_class_measure(ll_class_score *score, int64_t K, const int32_t *decided, const ll_outcome *points, double cut);

/* What a stranger needs to hear, through the log: labels that seem to start at 1, classes that are never answered, confidences that rank
 * backwards, a classifier that guessing beats. */
void lli_per_class_warn(ll_context *ctx, const ll_evaluation *evaluation);

#endif
