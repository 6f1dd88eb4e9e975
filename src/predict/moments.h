/* SPDX-License-Identifier: MIT */
/* Statistics over members for one row whose outputs came from elsewhere, in f64 throughout. docs/math/confidence.md
 *
 * Of logits, p of a top class is carried as r = p - 1 (minus the tail), so that nothing is lost to rounding near 1, and everything is
 * measured from the first member, d = p - p_first, where differences of tails stay exact. Probabilities are taken as they are. The mean in
 * logarithms is kept beside: it has the mutual information, and what no f64 holds. */
#ifndef LLI_PREDICT_MOMENTS_H
#define LLI_PREDICT_MOMENTS_H

#include "base/context.h"
#include "predict/logmean.h"
#include "predict/verdict.h"

/* A member's answer for the row. */
typedef struct lli_output {
    double *p, *r;  /* [K] p, and p - 1 for the top class of logits */
    double *logp;   /* [K] -inf where p is 0 */
    double logtail; /* log(1 - p_top); of logits alone */
    int64_t top;
} lli_output;

typedef struct lli_moments {
    int64_t K;
    bool from_one; /* r of the top class is p - 1; else r is p everywhere */
    int64_t members;
    double *sum;        /* [K] sum p */
    double *votes;      /* [K] members whose top is k */
    double *first;      /* [K] p of the first member */
    double *first_r;    /* [K] its r */
    double *shift;      /* [K] sum d */
    double *square;     /* [K] sum d^2 */
    double *low, *high; /* [K] extremes of d */
    double *workspace;  /* of logs */
    lli_logmean logs;
    int64_t first_top;
} lli_moments;

ll_status lli_moments_init(ll_context *ctx, lli_moments *m, int64_t K, bool from_one) LL_CHECK_RESULT;
void lli_moments_release(lli_moments *m);

void lli_moments_clear(lli_moments *m);
void lli_moments_add(lli_moments *m, const lli_output *o);

double lli_moments_mean(const lli_moments *m, int64_t k); /* p_hat_k */
double lli_moments_log(const lli_moments *m, int64_t k);  /* its logarithm, exact for any gap between logits */
lli_verdict lli_moments_verdict(const lli_moments *m);

#endif
