/* SPDX-License-Identifier: MIT */
/* Linear algebra in the obvious loops. */
#include "kernels/matrix64.h"

#include "kernels/ref/ref.h"

static void product(double *c, int64_t ldc, lli_matrix64 a, lli_matrix64 b, int64_t m, int64_t n, int64_t k, double scale, double *work) {
    (void)work;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < k;) {
                double sum = 0;
                for (int64_t end = LLI_MIN(p + LLI_LINEAR_DEPTH, k); p < end; p++)
                    sum += a.at[i * a.row + p * a.column] * b.at[p * b.row + j * b.column];
                c[i * ldc + j] += scale * sum;
            }
}

static double dot(const double *x, const double *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void rotate(double *panel, const lli_sweep *s) {
    const double *turn = s->turns;
    for (int64_t i = s->top - 1; i >= s->bottom; i--, turn += 2)
        for (int64_t j = i * LLI_LINEAR_PANEL; j < (i + 1) * LLI_LINEAR_PANEL; j++) {
            double x = panel[j], y = panel[j + LLI_LINEAR_PANEL];
            panel[j + LLI_LINEAR_PANEL] = turn[0] * x + turn[1] * y;
            panel[j] = turn[1] * x - turn[0] * y;
        }
}

static void reflect(double *panel, const double *v, double tau, int64_t first, int64_t n) {
    for (int64_t j = 0; j < LLI_LINEAR_PANEL; j++) {
        double sum = 0;
        for (int64_t i = first; i < n; i++)
            sum += v[i] * panel[i * LLI_LINEAR_PANEL + j];
        for (int64_t i = first; i < n; i++)
            panel[i * LLI_LINEAR_PANEL + j] -= tau * sum * v[i];
    }
}

const lli_linear_kernels lli_ref_linear = {product, dot, rotate, reflect};
