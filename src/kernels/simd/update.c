/* SPDX-License-Identifier: MIT */
/* sum_i g[i,k] z[i,j] in tiles of C classes x V vectors of features whose sums live in registers while the batch goes by in row order.
 * A finished tile goes straight into theta (update) or is added to an f64 gradient: there is no buffer for the sums. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/vector.h"

enum { CHUNK_BYTES = 20 * 1024 }; /* of g, within the first-level cache beside the columns of z */

typedef struct work {
    float *theta;            /* update, or */
    double *gradient;        /* gradient; the other is NULL */
    const lli_update *update;
    const float *g, *z;
    int64_t n, ld, ldk;
} work;

INLINE void finish(const work *w, int64_t place, vf sum) {
    if (w->theta) {
        float *theta = w->theta + place;
        store(theta, fma_f(sum, all(-w->update->scale), load(theta) * w->update->shrink));
    } else {
        float lanes[W];
        double *gradient = w->gradient + place;
        store(lanes, sum);
        store_d(gradient, load_d(gradient) + load_widened(lanes));
        store_d(gradient + H, load_d(gradient + H) + load_widened(lanes + H));
    }
}

INLINE void tile(const work *w, int64_t k, int64_t j, const int C, const int V) {
    vf sum[12] = {{0}};
    const float *g = w->g + k, *z = w->z + j;
    UNROLL2
    for (int64_t i = 0; i < w->n; i++, g += w->ldk, z += w->ld) {
        vf x[4];
        UNROLL
        for (int v = 0; v < V; v++)
            x[v] = load(z + v * W);
        UNROLL
        for (int c = 0; c < C; c++) {
            vf y = all(g[c]);
            UNROLL
            for (int v = 0; v < V; v++)
                sum[c * V + v] = fma_f(y, x[v], sum[c * V + v]);
        }
    }
    UNROLL
    for (int c = 0; c < C; c++)
        UNROLL
        for (int v = 0; v < V; v++)
            finish(w, (k + c) * w->ld + j + v * W, sum[c * V + v]);
}

/* The fewer classes, the more features: at least eight sums, so that no addition waits for the one before. */
static void column(const work *w, int64_t k, int64_t C, int64_t j, bool wide) {
    switch (C) {
    case 5: tile(w, k, j, 5, 2); break;
    case 4: tile(w, k, j, 4, 2); break;
    case 3: wide ? tile(w, k, j, 3, 4) : tile(w, k, j, 3, 2); break;
    case 2: wide ? tile(w, k, j, 2, 4) : tile(w, k, j, 2, 2); break;
    default: wide ? tile(w, k, j, 1, 4) : tile(w, k, j, 1, 2); break;
    }
}

static void outer_product(const work *w, int64_t K) {
    int64_t tiles = tiles_count(K), largest = tiles_start(1, tiles, K);
    int64_t in_chunk = LLI_MAX(1, CHUNK_BYTES / (w->n * TILE_CLASSES * (int64_t)sizeof *w->g + 1));
    for (int64_t t0 = 0; t0 < tiles; t0 += in_chunk)
        for (int64_t j = 0, step; j < w->ld; j += step) {
            bool wide = largest <= 3 && j + 4 * W <= w->ld;
            step = wide ? 4 * W : 2 * W;
            for (int64_t t = t0; t < LLI_MIN(tiles, t0 + in_chunk); t++) {
                int64_t k = tiles_start(t, tiles, K);
                column(w, k, tiles_start(t + 1, tiles, K) - k, j, wide);
            }
        }
}

void LEVEL(update)(float *theta, const float *g, const float *z, const lli_update *u, int64_t n, int64_t K, int64_t D, int64_t ld, int64_t ldk) {
    outer_product(&(work){theta, NULL, u, g, z, n, ld, ldk}, K);
    if (u->noise > 0)
        for (int64_t k = 0; k < K; k++)
            LEVEL(add_noise)(theta + k * ld, u->stream, k * ld, D + 1, u->noise);
}

void LEVEL(gradient)(double *gradient, const float *g, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk) {
    outer_product(&(work){NULL, gradient, NULL, g, z, n, ld, ldk}, K);
}
