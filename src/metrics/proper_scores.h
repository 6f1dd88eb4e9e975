/* SPDX-License-Identifier: MIT */
/* Scores of probabilities and decisions: NLL, Brier, least expected cost. Equations: docs/math/scores.md. */
#ifndef LLI_METRICS_PROPER_SCORES_H
#define LLI_METRICS_PROPER_SCORES_H

#include "base/context.h"

typedef struct lli_proper_scores {
    double nll; /* +inf when a true class has probability 0 */
    double brier;
    double nll_error, brier_error; /* standard errors; NaN where there is one point, or nll is infinite */
    int64_t zeros;                 /* points whose true class has probability 0 */
    int64_t rounded;               /* points whose p of the true class is one that f32 rounds to fewer digits, or to 0 */
} lli_proper_scores;

/* probs [N,K], truth [N] in [0,K), log_true [N] or NULL; all checked. Rows of probs are divided by their sum. NLL is made of log_true
 * where it is a number. rows [2,N] or NULL: -log p and the squared distance of each row. */
ll_status lli_proper_scores_measure(lli_proper_scores *out, ll_context *ctx, const ll_array *probs, const int32_t *truth,
                                    const double *log_true, double *rows) LL_CHECK_RESULT;

/* decision [N] of each row (base/costs.h). O(N K^2), in parallel. */
ll_status lli_proper_scores_decide(int32_t *decision, ll_context *ctx, const ll_array *probs,
                                   const double *costs /* [K,K] */) LL_CHECK_RESULT;

/* Mean of cost[truth, decision]. */
double lli_proper_scores_cost(const int32_t *decision, const int32_t *truth, int64_t n, const double *costs /* [K,K] */, int64_t K);

#endif
