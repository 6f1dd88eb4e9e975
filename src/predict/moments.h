/* SPDX-License-Identifier: MIT */
/* Streaming statistics over members for a block of rows: memory [rows,K], never times S. docs/math/confidence.md
 *
 * Near 1 a probability is carried as r = p - 1 (minus the tail), so that nothing is lost to rounding: with c_k the weight of the members
 * whose top class is k, p_hat_k = (c_k + sum w r) / W. Spread is measured from the first member, d = p - p_first, where differences of
 * tails stay exact. */
#ifndef LLI_PREDICT_MOMENTS_H
#define LLI_PREDICT_MOMENTS_H

#include "base/context.h"

typedef struct lli_moments {
    int64_t rows, K;    /* capacity */
    bool from_one;      /* r of the top class is p - 1; else r is p everywhere */
    double weight;      /* W so far */
    int64_t members;
    double *sum;        /* [rows,K] sum w r */
    double *votes;      /* [rows,K] sum w 1{top = k} */
    double *first;      /* [rows,K] r of the first member */
    double *shift;      /* [rows,K] sum w d */
    double *square;     /* [rows,K] sum w d^2 */
    double *low, *high; /* [rows,K] extremes of d */
    double *entropy;    /* [rows] sum w H(p_i) */
    int32_t *first_top; /* [rows] */
} lli_moments;

ll_status lli_moments_init(ll_context *ctx, lli_moments *m, int64_t rows, int64_t K, bool from_one) LL_CHECK_RESULT;
void lli_moments_release(lli_moments *m);
int64_t lli_moments_bytes(int64_t K); /* per row */

void lli_moments_clear(lli_moments *m, int64_t n);
/* Adds one member for n rows: r [n,K], top [n], entropy [n]. */
void lli_moments_add(lli_moments *m, double weight, const double *r, const int32_t *top, const double *entropy, int64_t n);

double lli_moments_mean(const lli_moments *m, int64_t i, int64_t k); /* p_hat_k of row i */
int64_t lli_moments_label(const lli_moments *m, int64_t i); /* argmax of p_hat, lowest index on ties */

/* Scores of p_hat over the members so far. */
void lli_moments_score(const lli_moments *m, int64_t i, int32_t truth, double *nll, double *brier, bool *correct);

/* Fills the arrays of `out` that are not NULL, for rows 0..n-1 at offset `at`. */
void lli_moments_finish(ll_prediction *out, int64_t at, const lli_moments *m, int64_t n);

#endif
