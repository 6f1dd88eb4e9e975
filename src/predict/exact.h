/* SPDX-License-Identifier: MIT */
/* The rows of a block that the sums of the kernels cannot hold, once more in logarithms: the saturated ones, whose tail is below 1e-30,
 * those whose true class has less than that, and where the logarithms of all classes are asked for, those with any such class. They are
 * rare: for others nothing is computed. docs/math/confidence.md */
#ifndef LLI_PREDICT_EXACT_H
#define LLI_PREDICT_EXACT_H

#include "kernels/kernels.h"
#include "predict/logmean.h"
#include "predict/sums.h"

typedef struct lli_exact {
    int64_t K;
    bool every;            /* the logarithm of every class is asked for */
    lli_logmean *mean;     /* [rows] of those that are saturated or deep */
    lli_logsum *truth;     /* [rows] log p of the true class of those where it is low */
    bool *saturated, *low; /* [rows] after every chunk of members so far */
    bool *deep;            /* [rows] likewise: some class is below the least */
    double weight;         /* of the members so far */
    double *workspace;     /* [rows,LLI_LOGMEAN_DOUBLES,K] */
    double *logp;          /* [K] */
} lli_exact;

ll_status lli_exact_init(ll_context *ctx, lli_exact *x, int64_t rows, int64_t K) LL_CHECK_RESULT;
void lli_exact_release(lli_exact *x);
void lli_exact_clear(lli_exact *x, int64_t n, bool every);

/* After each call of the kernel predict. truth [n] or NULL. Where the members came with it, t->nll of low rows becomes exact. */
void lli_exact_add(lli_exact *x, lli_tally *t, const lli_kernels *kernels, const lli_members *m, const int32_t *truth);

/* After the kernel finish. */
lli_verdict lli_exact_verdict(const lli_exact *x, const lli_tally *t, int64_t i);
void lli_exact_logs(const lli_exact *x, const lli_tally *t, int64_t i, double *logp /* [K] */); /* log p_hat; where `every` */
double lli_exact_log_true(const lli_exact *x, const lli_tally *t, int64_t i, int32_t truth);    /* log p_hat of the true class */

#endif
