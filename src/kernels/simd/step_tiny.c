/* SPDX-License-Identifier: MIT */
/* The arithmetic of a step of a tiny head (D <= 64, K <= 16), where everything lives in the first-level cache and a step takes less than a
 * microsecond. Forward: 2 W rows at a time, transposed, lanes = rows, so that the softmax needs no sums over lanes. Gradient: lanes =
 * features, straight from the rows. docs/kernels.md draws both. */
#include "base/status.h"
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"
#include "kernels/simd/tiles.h"

enum {
    FLUSH = 8, /* pairs whose totals may be multiplied: each total is at most 16 */
    LINE = 16  /* floats of a cache line */
};

/* Four columns of W rows, so that lane r of t[c] is column c of row r. */
INLINE void transpose_four(vf t[4], const float *const *z, int64_t j) {
#if LLI_BYTES == 32
    vf x[4];
    UNROLL
    for (int r = 0; r < 4; r++)
        x[r] = load_halves(z[r] + j, z[r + 4] + j);
    vf p = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13), q = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
    vf r = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15),
       s = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
    t[0] = __builtin_shufflevector(p, q, 0, 1, 8, 9, 4, 5, 12, 13);
    t[1] = __builtin_shufflevector(p, q, 2, 3, 10, 11, 6, 7, 14, 15);
    t[2] = __builtin_shufflevector(r, s, 0, 1, 8, 9, 4, 5, 12, 13);
    t[3] = __builtin_shufflevector(r, s, 2, 3, 10, 11, 6, 7, 14, 15);
#else
    UNROLL
    for (int r = 0; r < 4; r++)
        t[r] = load(z[r] + j);
    transpose(t);
#endif
}

/* A pair of vectors of rows: what their logits say together. */
typedef struct pair {
    vf logits[STEP_TINY_K][2];
    vf top[2], low[2], correct[2]; /* the largest, the smallest and that of the label */
    vi label[2];
} pair;

/* The logits of C classes from k on. */
INLINE void logits_tile(pair *p, const vf (*x)[2], const float *theta, int64_t k, int64_t ld, int64_t D, const int C) {
    vf sum[TILE_CLASSES][2];
    theta += k * ld;
    UNROLL
    for (int c = 0; c < C; c++)
        sum[c][0] = sum[c][1] = all(theta[c * ld + D]);
    UNROLL2
    for (int64_t j = 0; j < D; j++)
        UNROLL
    for (int c = 0; c < C; c++) {
        vf y = all(theta[c * ld + j]);
        sum[c][0] = fma_f(y, x[j][0], sum[c][0]);
        sum[c][1] = fma_f(y, x[j][1], sum[c][1]);
    }
    vi class = (vi){0} + (int32_t)k;
    UNROLL
    for (int c = 0; c < C; c++, class += 1)
        UNROLL
    for (int h = 0; h < 2; h++) {
        p->logits[k + c][h] = sum[c][h];
        p->top[h] = larger(p->top[h], sum[c][h]);
        p->low[h] = smaller(p->low[h], sum[c][h]);
        p->correct[h] = choose(p->label[h] == class, sum[c][h], p->correct[h]);
    }
}

static void logits_of_pair(pair *p, const float *const *z, const int32_t *labels, const float *theta, tiling tiles, int64_t ld, int64_t D) {
    vf x[STEP_TINY_D][2];
    UNROLL
    for (int h = 0; h < 2; h++) {
        p->top[h] = all(-INFINITY);
        p->low[h] = all(INFINITY);
        p->correct[h] = (vf){0};
        p->label[h] = load_i(labels + h * W);
    }
    for (int64_t j = 0; j < D; j += 4)
        UNROLL
    for (int h = 0; h < 2; h++) {
        vf t[4];
        transpose_four(t, z + h * W, j);
        UNROLL
        for (int c = 0; c < 4; c++)
            x[j + c][h] = t[c];
    }
    for (int64_t t = 0, k = 0, C; t < tiles.count; t++, k += C) {
        C = tiles.small + (t < tiles.larger);
        switch (C) {
        case 5: logits_tile(p, x, theta, k, ld, D, 5); break;
        case 4: logits_tile(p, x, theta, k, ld, D, 4); break;
        case 3: logits_tile(p, x, theta, k, ld, D, 3); break;
        case 2: logits_tile(p, x, theta, k, ld, D, 2); break;
        default: logits_tile(p, x, theta, k, ld, D, 1); break;
        }
    }
}

/* What the loss is made of, row by row in lanes: the sum of log(total) - gap of the label is that of log(product of totals) - sum of
 * gaps. */
typedef struct losses {
    vf product, gaps;
    double sum;
} losses;

INLINE void flush(losses *l) {
    float lanes[W];
    store(lanes, log_f(l->product) - l->gaps + (l->product - l->product)); /* NaN where the product is not finite */
    vd pairs = load_widened(lanes) + load_widened(lanes + H);
    UNROLL
    for (int lane = 0; lane < H; lane++)
        l->sum += pairs[lane];
    l->product = all(1);
    l->gaps = (vf){0};
}

/* exp(logit - largest) of C classes, in place. */
INLINE void exponentials(vf total[2], vf (*x)[2], const vf top[2], const int C) {
    UNROLL
    for (int c = 0; c < C; c++)
        UNROLL
    for (int h = 0; h < 2; h++)
        x[c][h] -= top[h];
    exp_each(x[0], 2 * C);
    UNROLL
    for (int c = 0; c < C; c++)
        UNROLL
    for (int h = 0; h < 2; h++)
        total[h] += x[c][h];
}

/* What residual_of_pair stored and what it adds to the loss, times the weights [STEP_PAIR] of the rows. */
static double weigh_pair(float *g, const pair *p, const vf total[2], const float *weights, int64_t K, int64_t stride) {
    double sum = 0;
    for (int64_t k = 0; k < K; k++)
        for (int h = 0; h < 2; h++)
            store(g + k * stride + h * W, load(g + k * stride + h * W) * load(weights + h * W));
    for (int h = 0; h < 2; h++) {
        vf loss = log_f(total[h]) - (p->correct[h] - p->top[h]) + (total[h] - total[h]);
        for (int r = 0; r < W; r++)
            sum += (double)weights[h * W + r] * (double)loss[r];
    }
    return sum;
}

/* Logits of a pair of vectors of rows -> g = w (p - 1{k = y}), stored by class; `inside` says which lanes are rows. */
INLINE void residual_of_pair(float *g, losses *l, pair *p, const float *weights, const vi inside[2], int64_t K, int64_t stride) {
    vf total[2] = {{0}}, inverse[2];
    for (int64_t k = 0; k + 1 < K; k += 2)
        exponentials(total, p->logits + k, p->top, 2);
    if (K % 2)
        exponentials(total, p->logits + K - 1, p->top, 1);
    UNROLL
    for (int h = 0; h < 2; h++) {
        total[h] = fma_f(p->low[h] - p->top[h], (vf){0}, total[h]); /* NaN if a logit lies infinitely far below: exp alone would hide it */
        inverse[h] = 1.0f / total[h];
    }
    if (!weights)
        UNROLL
    for (int h = 0; h < 2; h++) {
        l->product *= choose(inside[h], total[h], all(1));
        l->gaps += (vf)((vi)(p->correct[h] - p->top[h]) & inside[h]);
    }
    vi class = {0};
    for (int64_t k = 0; k < K; k++, class += 1)
        UNROLL
    for (int h = 0; h < 2; h++)
        store(g + k * stride + h * W, fma_f(p->logits[k][h], inverse[h], (vf)((vi)all(-1) & (p->label[h] == class))));
    if (weights)
        l->sum += weigh_pair(g, p, total, weights, K, stride);
}

/* The second product: theta from the sums over the batch, while the next rows are prefetched. */
typedef struct second {
    float *theta;
    const float *g;
    const float *const *z, *const *next; /* [n] */
    vf shrink, scale;                    /* scale is negated */
    int64_t n, stride, ld;
} second;

/* Classes k to k + C - 1, V vectors of columns from j on: their sums over the batch in row order, then theta. */
INLINE void update_tile(const second *w, int64_t k, int64_t j, const int C, const int V, const bool fetch) {
    vf sum[4][3] = {{{0}}};
    const int64_t n = w->n, stride = w->stride, ld = w->ld;
    const float *g = w->g + k * stride, *const *z = w->z, *const *next = w->next;
    float *theta = w->theta + k * ld + j;
    for (int64_t i = 0; i < n; i++) {
        const float *row = z[i] + j;
        vf x[3];
        if (fetch)
            UNROLL
        for (int v = 0; v < V; v += LINE / W)
            __builtin_prefetch(next[i] + j + v * W);
        UNROLL
        for (int v = 0; v < V; v++)
            x[v] = load(row + v * W);
        UNROLL
        for (int c = 0; c < C; c++) {
            vf y = all(g[c * stride + i]);
            UNROLL
            for (int v = 0; v < V; v++)
                sum[c][v] = fma_f(y, x[v], sum[c][v]);
        }
    }
    UNROLL
    for (int c = 0; c < C; c++)
        UNROLL
    for (int v = 0; v < V; v++) {
        float *place = theta + c * ld + v * W;
        store(place, fma_f(sum[c][v], w->scale, load(place) * w->shrink));
    }
}

INLINE void any_tile(const second *w, int64_t k, int64_t C, int64_t j, const int V, const bool fetch) {
    switch (C) {
    case 4: update_tile(w, k, j, 4, V, fetch); break;
    case 3: update_tile(w, k, j, 3, V, fetch); break;
    case 2: update_tile(w, k, j, 2, V, fetch); break;
    default: update_tile(w, k, j, 1, V, fetch); break;
    }
}

/* The first tile of classes asks for these columns of the next rows; the first ones are already on their way. */
INLINE void update_columns(const second *w, tiling tiles, int64_t j, const int V) {
    for (int64_t t = 0, k = 0, C; t < tiles.count; t++, k += C) {
        C = tiles.small + (t < tiles.larger);
        if (t == 0 && w->next)
            any_tile(w, k, C, j, V, true);
        else
            any_tile(w, k, C, j, V, false);
    }
}

double LEVEL(step_tiny)(float *theta, float *g, const float *const *z, const float *const *next, const int32_t *labels,
                        const float *weights, const lli_update *u, int64_t n, int64_t K, int64_t D, int64_t ld) {
    const int64_t stride = (n + STEP_PAIR - 1) / STEP_PAIR * STEP_PAIR, vectors = (D + W) / W;
    tiling tiles = tiles_of(K, TILE_CLASSES);
    losses l = {all(1), {0}, 0};
    for (int64_t i = 0, pairs = 0; i < n; i += STEP_PAIR) {
        pair p;
        int32_t some[STEP_PAIR] = {0};
        float few[STEP_PAIR] = {0};
        const int32_t *label = labels + i;
        const float *weight = weights ? weights + i : NULL;
        if (n - i < STEP_PAIR)
            label = memcpy(some, label, (size_t)(n - i) * sizeof *some);
        if (weight && n - i < STEP_PAIR)
            weight = memcpy(few, weight, (size_t)(n - i) * sizeof *few);
        logits_of_pair(&p, z + i, label, theta, tiles, ld, D);
        if (next)
            UNROLL
        for (int r = 0; r < STEP_PAIR; r++)
            __builtin_prefetch(next[i + r]);
        const int32_t left = (int32_t)LLI_MIN(n - i, STEP_PAIR);
        residual_of_pair(g + i, &l, &p, weight, (const vi[2]){LANES(vi) < left, LANES(vi) < left - W}, K, stride);
        if (++pairs % FLUSH == 0)
            flush(&l);
    }
    flush(&l);
    const second w = {theta, g, z, next, all(u->shrink), all(-u->scale), n, stride, ld};
    tiles = tiles_of(K, 4);
    for (int64_t v = 0; v < vectors; v += 3)
        switch (vectors - v) {
        case 1: update_columns(&w, tiles, v * W, 1); break;
        case 2: update_columns(&w, tiles, v * W, 2); break;
        default: update_columns(&w, tiles, v * W, 3); break;
        }
    if (u->noise > 0)
        LEVEL(add_noise)(theta, u->stream, K, D, ld, u->noise);
    return l.sum;
}
