/* SPDX-License-Identifier: MIT */
/* One step of a head whose theta fits the caches: the kernels one after the other, on padded rows where they lie, while the rows of the next
 * batch are on their way. */
#include <string.h>

#include "kernels/simd/level.h"

enum { POINTER = sizeof(void *) / sizeof(float) }; /* in floats */

int64_t LEVEL(step_floats)(int64_t B, int64_t D, int64_t K) {
    return lli_kernels_pad(2 * B * POINTER) + B * (lli_kernels_stride(D) + lli_kernels_stride_classes(K));
}

/* place[i] = where row rows[i] lies; the last one is repeated up to n. */
static void find(const float **place, const float *padded, const int64_t *rows, int64_t count, int64_t n, int64_t ld) {
    for (int64_t i = 0; i < n; i++)
        place[i] = padded + rows[LLI_MIN(i, count - 1)] * ld;
}

double LEVEL(step)(float *theta, float *work, const lli_rows *rows, const lli_batch *batch, const lli_update *u, const lli_mask *mask, int64_t K) {
    int64_t n = batch->n, D = rows->D, ld = lli_kernels_stride(D), ldk = lli_kernels_stride_classes(K);
    const float **place = (const float **)(void *)work, **next = NULL;
    float *z = work + lli_kernels_pad(2 * n * POINTER), *g = z + n * ld;
    if (rows->padded) {
        find(place, rows->padded, batch->rows, n, n, ld);
    } else {
        LEVEL(gather)(z, rows->features, rows->half, batch->rows, 0, n, D, ld);
        for (int64_t i = 0; i < n; i++)
            place[i] = z + i * ld;
    }
    if (mask) {
        LEVEL(mask_of)(z, place, mask, n, D, ld);
        for (int64_t i = 0; i < n; i++)
            place[i] = z + i * ld;
    }
    if (rows->padded && batch->next)
        find(next = place + n, rows->padded, batch->next, batch->next_n, n, ld);
    LEVEL(logits_of)(g, theta, place, n, K, ld, ldk);
    double nll = LEVEL(residual)(g, batch->labels, n, K, ldk);
    LEVEL(update_of)(theta, g, place, next, u, n, K, D, ld, ldk);
    return nll;
}
