/* SPDX-License-Identifier: MIT */
/* One step of a head: the five kernels one after the other. */
#include "kernels/simd/level.h"

int64_t LEVEL(step_floats)(int64_t B, int64_t D, int64_t K) {
    return B * (lli_kernels_stride(D) + lli_kernels_stride_classes(K));
}

double LEVEL(step)(float *theta, float *work, const lli_rows *rows, const lli_batch *batch, const lli_update *u, const lli_mask *mask, int64_t K) {
    int64_t n = batch->n, D = rows->D, ld = lli_kernels_stride(D), ldk = lli_kernels_stride_classes(K);
    float *z = work, *g = work + n * ld;
    LEVEL(gather)(z, rows->features, rows->half, batch->rows, 0, n, D, ld);
    if (mask)
        LEVEL(mask)(z, z, mask, 0, n, D, ld);
    LEVEL(logits)(g, theta, z, n, K, ld, ldk);
    double nll = LEVEL(residual)(g, batch->labels, n, K, ldk);
    LEVEL(update)(theta, g, z, u, n, K, D, ld, ldk);
    return nll;
}
