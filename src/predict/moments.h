/* SPDX-License-Identifier: MIT */
/* Statistics over members for one row whose outputs came from elsewhere, in f64 throughout. docs/math/confidence.md
 *
 * Near 1 a probability is carried as r = p - 1 (minus the tail), so that nothing is lost to rounding: with c_k the weight of the members
 * whose top class is k, p_hat_k = (c_k + sum w r) / W. Spread is measured from the first member, d = p - p_first, where differences of
 * tails stay exact. */
#ifndef LLI_PREDICT_MOMENTS_H
#define LLI_PREDICT_MOMENTS_H

#include "base/context.h"
#include "predict/verdict.h"

typedef struct lli_moments {
    int64_t K;
    bool from_one;      /* r of the top class is p - 1; else r is p everywhere */
    int64_t members;
    double *sum;        /* [K] sum r */
    double *votes;      /* [K] members whose top is k */
    double *first;      /* [K] r of the first member */
    double *shift;      /* [K] sum d */
    double *square;     /* [K] sum d^2 */
    double *low, *high; /* [K] extremes of d */
    double entropy;     /* sum H(p_i) */
    int64_t first_top;
} lli_moments;

ll_status lli_moments_init(ll_context *ctx, lli_moments *m, int64_t K, bool from_one) LL_CHECK_RESULT;
void lli_moments_release(lli_moments *m);

void lli_moments_clear(lli_moments *m);
void lli_moments_add(lli_moments *m, const double *r, /* [K] */ int64_t top, double entropy);

double lli_moments_mean(const lli_moments *m, int64_t k); /* p_hat_k */
lli_verdict lli_moments_verdict(const lli_moments *m);

#endif
