/* SPDX-License-Identifier: MIT */
/* Dense linear algebra in f64, in parallel over the workers of a context, with the same bits for any number of them. Matrices are
 * [rows,columns], row after row without padding. docs/math/linear.md */
#ifndef LLI_LINEAR_LINEAR_H
#define LLI_LINEAR_LINEAR_H

#include "base/context.h"
#include "kernels/matrix64.h"

/* c [m,n] += scale a b, a [m,k], b [k,n]; c does not overlap them. */
ll_status lli_product_add(ll_context *ctx, double *c, lli_matrix64 a, lli_matrix64 b, int64_t m, int64_t n, int64_t k,
                          double scale) LL_CHECK_RESULT;

/* Rows first .. first+count-1 of a matrix with n columns into out [count,n]. Workers call it at once for different rows. */
typedef ll_status lli_gram_rows(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker);
/* g [n,n] += scale X'X, X [N,n] made in blocks of up to LLI_GRAM_BLOCK rows. Both triangles of g, which is symmetric before. */
enum { LLI_GRAM_BLOCK = 64 };
ll_status lli_gram_add(ll_context *ctx, double *g, lli_gram_rows *rows, void *arg, int64_t N, int64_t n, double scale) LL_CHECK_RESULT;

/* a [n,n] = sum_i values[i] v_i v_i': a symmetric matrix becomes its eigenvectors, the rows of a, of length 1; values [n] ascend. Takes n^2
 * doubles of memory besides. */
ll_status lli_eigen_symmetric(ll_context *ctx, double *a, double *values, int64_t n) LL_CHECK_RESULT;

/* The lower triangle of a [n,n], positive definite, becomes L with a = L L'; what is above the diagonal is not read and means nothing
 * afterwards. *failed = -1, or the first row at which a is not positive definite, and then a is of no use. */
ll_status lli_cholesky_factor(ll_context *ctx, int64_t *failed, double *a, int64_t n) LL_CHECK_RESULT;
/* x [n,m] <- L^-1 x, and <- L'^-1 x. */
ll_status lli_cholesky_solve(ll_context *ctx, const double *L, double *x, int64_t n, int64_t m) LL_CHECK_RESULT;
ll_status lli_cholesky_solve_transposed(ll_context *ctx, const double *L, double *x, int64_t n, int64_t m) LL_CHECK_RESULT;

#endif
