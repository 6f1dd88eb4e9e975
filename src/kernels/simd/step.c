/* SPDX-License-Identifier: MIT */
/* One step of a head whose theta fits the caches, on padded rows where they lie, while the rows of a later batch are on their way. Rows
 * that are not padded, or masked, are brought together first. The shape chooses the arithmetic: that of tiny heads, or the kernels one
 * after the other. */
#include "kernels/simd/level.h"

enum {
    POINTER = sizeof(void *) / sizeof(float), /* in floats, like */
    LANE = LLI_BYTES / 4,
    NEAR = 6 * 1024, /* theta that leaves room for rows in the first-level cache */
    MASKED = 8       /* those rows */
};

static int64_t round_up(int64_t n) {
    return (n + STEP_PAIR - 1) / STEP_PAIR * STEP_PAIR;
}

int64_t LEVEL(step_floats)(int64_t B, int64_t D, int64_t K) {
    return 2 * round_up(B) * POINTER + B * lli_kernels_stride(D) + round_up(B) * lli_kernels_stride_classes(K);
}

/* place[i] = row rows[i] of z (i where rows is NULL); the last one is repeated up to `places`. */
static void find(const float **place, int64_t places, const float *z, const int64_t *rows, int64_t n, int64_t ld) {
    for (int64_t i = 0; i < n; i++)
        place[i] = z + (rows ? rows[i] : i) * ld;
    for (int64_t i = n; i < places; i++)
        place[i] = place[n - 1];
}

/* Logits of masked rows, which stay in z. Where theta is near, rows are used while they are in the same cache; short ones share draws. */
static void masked_logits(float *g, float *z, const float *const *place, const float *theta, const lli_mask *mask, int64_t n, int64_t K,
                          int64_t D, int64_t ld, int64_t ldk) {
    const int64_t some = K * ld <= NEAR && lli_mask_span(D) >= 128 ? MASKED : n;
    for (int64_t i = 0; i < n; i += some) {
        const int64_t count = LLI_MIN(some, n - i);
        LEVEL(mask_of)(z + i * ld, place + i, mask, i, count, D, ld, ld);
        LEVEL(logits)(g + i * ldk, theta, z + i * ld, count, K, ld, ldk);
    }
}

double LEVEL(step)(float *theta, float *work, const lli_rows *rows, const lli_batch *batch, const lli_update *u, const lli_mask *mask,
                   int64_t K) {
    const int64_t n = batch->n, D = rows->D, ld = lli_kernels_stride(D), ldk = lli_kernels_stride_classes(K), places = round_up(n);
    const bool tiny = D <= STEP_TINY_D && K <= STEP_TINY_K;
    /* a tiny head is done with the next batch before memory has answered, so it asks for the one after that */
    const int64_t skipped = tiny ? n : 0, asked = rows->padded && batch->next ? LLI_MIN(n, batch->next_n - skipped) : 0;
    const float **place = (const float **)(void *)work, **next = asked > 0 ? place + places : NULL;
    float *z = work + 2 * places * POINTER, *g = z + n * ld;
    if (rows->padded) {
        find(place, places, rows->padded, batch->rows, n, ld);
    } else {
        LEVEL(gather)(z, rows->features, rows->half, batch->rows, 0, n, D, ld);
        find(place, places, z, NULL, n, ld);
    }
    if (next)
        find(next, places, rows->padded, batch->next + skipped, asked, ld);
    if (mask && tiny)
        LEVEL(mask_of)(z, place, mask, 0, n, D, ld, (D + LANE) / LANE * LANE);
    else if (mask)
        masked_logits(g, z, place, theta, mask, n, K, D, ld, ldk);
    if (mask)
        find(place, places, z, NULL, n, ld);
    if (tiny)
        return LEVEL(step_tiny)(theta, g, place, next, batch->labels, batch->weights, u, n, K, D, ld);
    if (!mask)
        LEVEL(logits_of)(g, theta, place, n, K, ld, ldk);
    double nll = LEVEL(residual)(g, batch->labels, batch->weights, n, K, ldk);
    LEVEL(update_of)(theta, g, place, next, u, n, K, D, ld, ldk);
    return nll;
}
