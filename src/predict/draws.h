/* SPDX-License-Identifier: MIT */
/* Logits drawn from the Gaussian of an ensemble, row by row: f = mu + C U' (sqrt(s) o e), C = I - 11'/K, e standard normals that are a
 * function of (seed, row, draw, class). Or, with another link than mc, the one vector of logits whose softmax is the prediction.
 * docs/math/laplace.md */
#ifndef LLI_PREDICT_DRAWS_H
#define LLI_PREDICT_DRAWS_H

#include "ensemble/ensemble.h"
#include "kernels/kernels.h"

/* The factors as the kernels want them, shared by the predictors of a pass: rows padded with zeros. */
typedef struct lli_draws_factors {
    int64_t K, n, ld, ldn, ldk; /* n = D + 1; strides of rows z~, of numbers by feature, by class */
    lli_link link;
    bool common;
    float *V;        /* [n,ld]; NULL: the identity */
    float *R;        /* [K,ldn]; NULL: P has it all */
    float *U;        /* [K,ldk] row k: what every factor adds to class k; NULL: the identity */
    float *square;   /* [K,ldk] its squares, centred; for links that ask for the variances alone */
    const double *P; /* [K n,K n] */
} lli_draws_factors;

ll_status lli_draws_factors_new(lli_draws_factors **out, ll_context *ctx, const ll_ensemble *ensemble) LL_CHECK_RESULT;
void lli_draws_factors_free(lli_draws_factors *f);

/* What the draws of a block of rows are made of. */
typedef struct lli_draws {
    const lli_draws_factors *f;
    const lli_kernels *kernels;
    uint64_t seed;
    int64_t rows;     /* room */
    float *z;         /* [rows,ld] */
    float *y;         /* [rows,ldn] squares of V z~, or of z~ */
    float *deviation; /* [rows,ldk] sqrt(s); for other links the variances of the logits */
    float *mean;      /* [rows,K] mu, at the places of the tally */
    float *e, *d;     /* [rows,ldk] normals, and what they become */
    float *L;         /* [rows,K,ldk] of a full covariance: Sigma = L L' */
    double *sigma;    /* [K,K] */
    double *zd, *x;   /* [n,rows] z~, [K n,rows] */
    double *work;     /* [LLI_LINEAR_WORK] */
} lli_draws;

ll_status lli_draws_init(ll_context *ctx, lli_draws *d, const lli_draws_factors *f, const ll_ensemble *ensemble,
                         int64_t rows) LL_CHECK_RESULT;
void lli_draws_release(lli_draws *d);

/* The rows of a block, which lie in the panels of the tally too: means and covariances. */
void lli_draws_block(lli_draws *d, lli_tally *t, const lli_members *theta, const lli_rows *rows, int64_t first, int64_t n);
/* lli_members.draw; m->first_draw is the number of the first. */
void lli_draws_logits(lli_tally *t, const lli_members *m);

#endif
