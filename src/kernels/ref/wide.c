/* SPDX-License-Identifier: MIT */
/* The softmax of very many classes in fixed point, plain. */
#include "kernels/wide.h"

#include <math.h>

#include "kernels/ref/ref.h"

static float top(const float *row, int64_t K) {
    float most = -INFINITY;
    for (int64_t k = 0; k < K; k++)
        most = isfinite(row[k]) ? fmaxf(most, row[k]) : INFINITY;
    return most;
}

static int64_t sum(float *row, float top_of_all, int64_t K, int power) {
    int64_t total = 0;
    for (int64_t k = 0; isfinite(top_of_all) && k < K; k++) {
        row[k] = expf(row[k] - top_of_all);
        total += (int64_t)nearbyint(ldexp((double)row[k], power));
    }
    return total;
}

static double residual(float *row, const lli_wide_row *of, float weight, int64_t label, int64_t K, int64_t ldk, int power) {
    double total = isfinite(of->top) ? ldexp((double)of->total, -power) : (double)NAN;
    for (int64_t k = 0; k < K; k++)
        row[k] = (float)((double)row[k] / total);
    for (int64_t k = K; k < ldk; k++)
        row[k] = 0;
    if (label >= 0)
        row[label] -= 1;
    for (int64_t k = 0; k < K; k++)
        row[k] *= weight;
    return (double)weight * (log(total) - (double)of->gap);
}

const lli_wide lli_ref_wide = {top, sum, residual};
