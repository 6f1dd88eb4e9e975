/* SPDX-License-Identifier: MIT */
/* Linear algebra in f64, the inner loops of room linear. Every sum has an order that follows from its length alone, so that bits do not
 * depend on how a problem is cut into calls. docs/math/linear.md has the algorithms. */
#ifndef LLI_KERNELS_MATRIX64_H
#define LLI_KERNELS_MATRIX64_H

#include <stdint.h>

/* Element (i,j) is at[i * row + j * column]. */
typedef struct lli_matrix64 {
    const double *at;
    int64_t row, column;
} lli_matrix64;

enum { LLI_LINEAR_ROWS = 64, LLI_LINEAR_DEPTH = 128, LLI_LINEAR_COLUMNS = 8, LLI_LINEAR_PANEL = 16 };
enum { LLI_LINEAR_WORK = (LLI_LINEAR_ROWS + LLI_LINEAR_COLUMNS) * LLI_LINEAR_DEPTH }; /* doubles */

/* Rotations of one sweep: rows i = top-1 .. bottom of a panel, in that order, each with the row after it. */
typedef struct lli_sweep {
    int64_t bottom, top;
    const double *turns; /* [top - bottom, 2] sine and cosine, the first is that of row top-1 */
} lli_sweep;

typedef struct lli_linear_kernels {
    /* c += scale a b. The terms of an element are summed in blocks of LLI_LINEAR_DEPTH, in order, and the blocks are added in order. work
     * has LLI_LINEAR_WORK doubles, aligned to 64 bytes. */
    void (*product)(double *c, /* [m,ldc] */ int64_t ldc, lli_matrix64 a, /* [m,k] */ lli_matrix64 b, /* [k,n] */ int64_t m, int64_t n,
                    int64_t k, double scale, double *work);
    double (*dot)(const double *x, const double *y, int64_t n);
    /* On a panel of LLI_LINEAR_PANEL columns, rows of which lie one after the other: x_{i+1}, x_i <- s x_i + c x_{i+1}, c x_i - s x_{i+1}
     * for each turn; */
    void (*rotate)(double *panel, const lli_sweep *sweep);
    /* x <- x - tau v (v'x), rows first .. n-1; */
    void (*reflect)(double *panel, const double *v, double tau, int64_t first, int64_t n);
} lli_linear_kernels;

#endif
