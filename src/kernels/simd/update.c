/* SPDX-License-Identifier: MIT */
/* sum_i g[i,k] z[i,j] in tiles of C classes x V vectors of features whose sums live in registers while the batch goes by in row order.
 * A finished tile goes straight into theta (update) or is added to an f64 gradient: there is no buffer for the sums. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/vector.h"

enum {
    ROWS = 128, /* of the batch at a time: their 16 columns of z and their g stay in the first-level cache */
    CHUNK = 4,  /* tiles of classes that pass over them */
    SUMS = 12,  /* vectors of sums in a tile, at most */
    LINE = 16   /* floats of a cache line */
};

typedef enum target { UPDATE, GRADIENT } target;
typedef enum layout { TOGETHER, APART, APART_FETCH } layout; /* of the rows: one after the other, anywhere, anywhere and more to ask for */

typedef struct work {
    float *theta;     /* of UPDATE */
    double *gradient; /* of GRADIENT */
    vf shrink, scale; /* of UPDATE; scale is negated */
    const float *g, *z;
    const float *const *rows, *const *next; /* of APART */
    int64_t n, ld, ldk;
} work;

INLINE void finish(const work *w, int64_t place, vf sum, const target kind) {
    if (kind == UPDATE) {
        float *theta = w->theta + place;
        store(theta, fma_f(sum, w->scale, load(theta) * w->shrink));
    } else {
        float lanes[W];
        double *gradient = w->gradient + place;
        store(lanes, sum);
        store_d(gradient, load_d(gradient) + load_widened(lanes));
        store_d(gradient + H, load_d(gradient + H) + load_widened(lanes + H));
    }
}

/* Rows i0 to i1 of the batch. Sums come from and go to `partial`, if the batch starts before i0 and ends after i1. */
INLINE void tile(const work *w, float *partial, int64_t i0, int64_t i1, int64_t k, int64_t j, const int C, const int V, const target kind,
                 const layout where) {
    vf sum[SUMS] = {{0}};
    const float *g = w->g + i0 * w->ldk + k, *z = where == TOGETHER ? w->z + i0 * w->ld + j : NULL;
    if (i0 > 0)
        UNROLL
    for (int s = 0; s < C * V; s++)
        sum[s] = load(partial + s * W);
    UNROLL2
    for (int64_t i = i0; i < i1; i++, g += w->ldk, z += where == TOGETHER ? w->ld : 0) {
        vf x[4];
        if (where != TOGETHER)
            z = w->rows[i] + j;
        if (where == APART_FETCH)
            UNROLL
        for (int v = 0; v < V; v += LINE / W)
            __builtin_prefetch(w->next[i] + j + v * W, 0, 2);
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
    for (int s = 0; s < C * V; s++)
        if (i1 < w->n)
            store(partial + s * W, sum[s]);
        else
            finish(w, (k + s / V) * w->ld + j + s % V * W, sum[s], kind);
}

/* The fewer classes, the more features: at least eight sums, so that no addition waits for the one before. */
INLINE void any_tile(const work *w, float *partial, int64_t i0, int64_t i1, int64_t k, int64_t C, int64_t j, bool wide, const target kind,
                     const layout where) {
    switch (C) {
    case 5: tile(w, partial, i0, i1, k, j, 5, 2, kind, where); break;
    case 4: tile(w, partial, i0, i1, k, j, 4, 2, kind, where); break;
    case 3: wide ? tile(w, partial, i0, i1, k, j, 3, 4, kind, where) : tile(w, partial, i0, i1, k, j, 3, 2, kind, where); break;
    case 2: wide ? tile(w, partial, i0, i1, k, j, 2, 4, kind, where) : tile(w, partial, i0, i1, k, j, 2, 2, kind, where); break;
    default: wide ? tile(w, partial, i0, i1, k, j, 1, 4, kind, where) : tile(w, partial, i0, i1, k, j, 1, 2, kind, where); break;
    }
}

/* The first tile of classes that passes over a column also asks for that column of the next rows. */
INLINE void outer_product(const work *w, int64_t K, const target kind, const layout where) {
    float partial[CHUNK][SUMS * W];
    int64_t tiles = tiles_count(K), largest = tiles_start(1, tiles, K);
    for (int64_t chunk = 0; chunk < tiles; chunk += CHUNK)
        for (int64_t j = 0, step; j < w->ld; j += step) {
            bool wide = largest <= 3 && j + 4 * W <= w->ld;
            step = wide ? 4 * W : 2 * W;
            for (int64_t i = 0; i < w->n; i += ROWS)
                for (int64_t t = chunk; t < LLI_MIN(tiles, chunk + CHUNK); t++) {
                    int64_t k = tiles_start(t, tiles, K), C = tiles_start(t + 1, tiles, K) - k, end = LLI_MIN(w->n, i + ROWS);
                    if (where == APART && w->next && t == tiles - 1)
                        any_tile(w, partial[t - chunk], i, end, k, C, j, wide, kind, APART_FETCH);
                    else
                        any_tile(w, partial[t - chunk], i, end, k, C, j, wide, kind, where);
                }
        }
}

void LEVEL(update)(float *theta, const float *g, const float *z, const lli_update *u, int64_t n, int64_t K, int64_t D, int64_t ld,
                   int64_t ldk) {
    outer_product(&(work){theta, NULL, all(u->shrink), all(-u->scale), g, z, NULL, NULL, n, ld, ldk}, K, UPDATE, TOGETHER);
    if (u->noise > 0)
        LEVEL(add_noise)(theta, u->stream, K, D, ld, u->noise);
}

void LEVEL(update_of)(float *theta, const float *g, const float *const *z, const float *const *next, const lli_update *u, int64_t n,
                      int64_t K, int64_t D, int64_t ld, int64_t ldk) {
    outer_product(&(work){theta, NULL, all(u->shrink), all(-u->scale), g, NULL, z, next, n, ld, ldk}, K, UPDATE, APART);
    if (u->noise > 0)
        LEVEL(add_noise)(theta, u->stream, K, D, ld, u->noise);
}

void LEVEL(gradient)(double *gradient, const float *g, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk) {
    outer_product(&(work){NULL, gradient, {0}, {0}, g, z, NULL, NULL, n, ld, ldk}, K, GRADIENT, TOGETHER);
}
