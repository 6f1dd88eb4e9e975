/* SPDX-License-Identifier: MIT */
/* Batch norm on columns of rows [m,C], and max-pooling 2 x 2 of images [n,H,W,C]. docs/math/network.md has the formulas.
 * Sums are f64, over slices of rows cut by shape (lli_norm_rows) that the caller adds in order. */
#ifndef LLI_KERNELS_NORM_H
#define LLI_KERNELS_NORM_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of a slice: about a quarter of a megabyte. */
static inline int64_t lli_norm_rows(int64_t C) {
    int64_t rows = 65536 / C;
    return rows < 16 ? 16 : rows;
}

typedef struct lli_norm_kernels {
    /* sums [2,C] = sum over the rows of x, and of x^2 */
    void (*sums)(double *sums, const float *x, int64_t rows, int64_t C);
    /* y = scale x + shift; y may be x */
    void (*apply)(float *y, const float *x, const float *scale, const float *shift, /* [C] */ int64_t rows, int64_t C);
    /* sums [2,C] = sum over the rows of dy, and of dy x */
    void (*back_sums)(double *sums, const float *dy, const float *x, int64_t rows, int64_t C);
    /* dx = a dy + b x + c; positive: only where x > 0, else 0 (the ReLU that made x). dx may be dy */
    void (*back)(float *dx, const float *dy, const float *x, const float *abc, /* [3,C] */ bool positive, int64_t rows, int64_t C);

    /* Rows `first` .. `end` - 1 of the output, n * (H/2) of them in all; a last row or column that has no partner is left out. */
    void (*pool)(float *y, /* [n,H/2,W/2,C] */ const float *x, /* [n,H,W,C] */ int64_t H, int64_t W, int64_t C, int64_t first, int64_t end);
    /* dx of those rows: dy where the pool took the maximum, at its first place in the order of rows; 0 elsewhere. */
    void (*pool_back)(float *dx, const float *dy, const float *x, int64_t H, int64_t W, int64_t C, int64_t first, int64_t end);
} lli_norm_kernels;

#endif
