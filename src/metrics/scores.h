/* SPDX-License-Identifier: MIT */
/* Scores of probabilities and decisions: NLL, Brier, least expected cost. Equations: docs/math/scores.md. */
#ifndef LLI_METRICS_SCORES_H
#define LLI_METRICS_SCORES_H

#include "base/context.h"

typedef struct lli_scores {
    double nll;    /* +inf when a true class has probability 0 */
    double brier;
    int64_t zeros;   /* points whose true class has probability 0 */
    int64_t rounded; /* points whose p of the true class is one that f32 rounds to fewer digits, or to 0 */
} lli_scores;

/* probs [N,K], truth [N] in [0,K), log_true [N] or NULL; all checked. Rows of probs are divided by their sum. NLL is made of log_true
 * where it is a number. */
ll_status lli_scores_measure(lli_scores *out, ll_context *ctx, const ll_array *probs, const int32_t *truth,
                             const double *log_true) LL_CHECK_RESULT;

/* A [K,K] array of any number type as f64, checked to be finite. */
ll_status lli_scores_costs(double **out, ll_context *ctx, const ll_array *costs, int64_t K) LL_CHECK_RESULT;

/* decision [N] = argmin_j sum_k p_k cost[k,j], the lowest j on ties. O(N K^2), in parallel. */
ll_status lli_scores_decide(int32_t *decision, ll_context *ctx, const ll_array *probs, const double *costs /* [K,K] */) LL_CHECK_RESULT;

/* Mean of cost[truth, decision]. */
double lli_scores_cost(const int32_t *decision, const int32_t *truth, int64_t n, const double *costs /* [K,K] */, int64_t K);

#endif
