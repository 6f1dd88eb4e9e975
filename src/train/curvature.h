/* SPDX-License-Identifier: MIT */
/* The Hessian of a head's log posterior at theta*, sum_n w_n L_n (x) z_n z_n' + tau I with L = diag(p) - p p' and z = (z,1), as a
 * Kronecker product (KFAC): A = sum w z z' / sum w = V' diag(a) V and B = sum w L = U' diag(b) U, so that its eigenvalues are b_i a_j +
 * tau. docs/math/curvature.md */
#ifndef LLI_TRAIN_CURVATURE_H
#define LLI_TRAIN_CURVATURE_H

#include "base/context.h"
#include "data/dataset.h"

typedef struct lli_curvature {
    int64_t K, n;  /* n = D + 1 */
    double *a, *V; /* [n], at least 0; [n,n] an eigenvector in each row */
    double *b, *U; /* [K], at least 0; [K,K] likewise; U is NULL where B is taken as its diagonal */
} lli_curvature;

/* A head as its tensors, W [K,D] and b [K]. */
typedef struct lli_curvature_head {
    int64_t K;
    const float *W, *b;
} lli_curvature_head;

/* Costs N (D^2 + K D) + D^3 operations and 16 D^2 bytes; N K^2 + K^3 and 16 K^2 more unless `diagonal`. */
ll_status lli_curvature_init(ll_context *ctx, lli_curvature *c, const ll_dataset *data, const lli_curvature_head *head,
                             bool diagonal) LL_CHECK_RESULT;
void lli_curvature_release(lli_curvature *c);

/* h [K,n] = sum_n w p (1 - p) z^2, the diagonal of the Hessian without tau. */
ll_status lli_curvature_diagonal(ll_context *ctx, double *h, const ll_dataset *data, const lli_curvature_head *head) LL_CHECK_RESULT;
/* h [K n,K n] = the Hessian itself without tau. */
ll_status lli_curvature_full(ll_context *ctx, double *h, const ll_dataset *data, const lli_curvature_head *head) LL_CHECK_RESULT;

/* Between theta and the coordinates in which the Gaussian is white: out [K,n] = U' (y o root) V, and out = root o (U g V'), for the
 * gradient. root [K,n]. spare [K,n]. One thread, with work [LLI_LINEAR_WORK]. y and out may be the same. */
void lli_curvature_to_theta(const lli_curvature *c, double *out, const double *y, const double *root, double *spare, double *work);
void lli_curvature_to_white(const lli_curvature *c, double *out, const double *g, const double *root, double *spare, double *work);

#endif
