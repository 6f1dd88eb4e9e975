/* SPDX-License-Identifier: MIT */
/* The arithmetic of a step of a tiny head (D <= 64, K <= 16), where everything lives in the first-level cache and a step takes less than a
 * microsecond. Forward: 2 W rows at a time, transposed, lanes = rows, so that the softmax needs no sums over lanes. Gradient: lanes =
 * features, straight from the rows. docs/kernels.md draws both. */
#include "base/status.h"
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"
#include "kernels/simd/tiles.h"

enum {
    COLUMNS = STEP_TINY_D + 4, /* features and bias, up to a multiple of 4 */
    FLUSH = 8                  /* pairs whose totals may be multiplied: each total is at most 16 */
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

/* The logits of C classes from k on, of a pair of vectors of rows. */
INLINE void logits_tile(vf (*logits)[2], const vf (*x)[2], const float *theta, int64_t k, int64_t ld, int64_t columns, const int C) {
    vf sum[TILE_CLASSES][2] = {{{0}}};
    theta += k * ld;
    for (int64_t j = 0; j < columns; j++)
        UNROLL
        for (int c = 0; c < C; c++) {
            vf y = all(theta[c * ld + j]);
            sum[c][0] = fma_f(y, x[j][0], sum[c][0]);
            sum[c][1] = fma_f(y, x[j][1], sum[c][1]);
        }
    UNROLL
    for (int c = 0; c < C; c++) {
        logits[k + c][0] = sum[c][0];
        logits[k + c][1] = sum[c][1];
    }
}

static void logits_of_pair(vf (*logits)[2], const float *const *z, const float *theta, int64_t K, int64_t ld, int64_t columns) {
    vf x[COLUMNS][2];
    for (int64_t j = 0; j < columns; j += 4)
        UNROLL
        for (int h = 0; h < 2; h++) {
            vf t[4];
            transpose_four(t, z + h * W, j);
            UNROLL
            for (int c = 0; c < 4; c++)
                x[j + c][h] = t[c];
        }
    for (int64_t t = 0, tiles = tiles_count(K); t < tiles; t++) {
        int64_t k = tiles_start(t, tiles, K);
        switch (tiles_start(t + 1, tiles, K) - k) {
        case 5: logits_tile(logits, x, theta, k, ld, columns, 5); break;
        case 4: logits_tile(logits, x, theta, k, ld, columns, 4); break;
        case 3: logits_tile(logits, x, theta, k, ld, columns, 3); break;
        case 2: logits_tile(logits, x, theta, k, ld, columns, 2); break;
        default: logits_tile(logits, x, theta, k, ld, columns, 1); break;
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

/* exp(logit - largest) of C classes from k on, in place, and the gap of the label. */
INLINE void exponentials(vf total[2], vf correct[2], vf (*x)[2], const vf top[2], const vi label[2], int64_t k, const int C) {
    UNROLL
    for (int c = 0; c < C; c++)
        UNROLL
        for (int h = 0; h < 2; h++) {
            x[c][h] -= top[h];
            correct[h] += (vf)((vi)x[c][h] & (label[h] == (int32_t)k + c));
        }
    exp_each(x[0], 2 * C);
    UNROLL
    for (int c = 0; c < C; c++)
        UNROLL
        for (int h = 0; h < 2; h++)
            total[h] += x[c][h];
}

/* Logits of a pair of vectors of rows -> g = p - 1{k = y}, stored by class; `inside` says which lanes are rows. */
INLINE void residual_of_pair(float *g, losses *l, vf (*x)[2], const int32_t *labels, const vi inside[2], int64_t K, int64_t stride) {
    vf top[2], low[2], total[2] = {{0}}, correct[2] = {{0}}, inverse[2];
    vi label[2];
    UNROLL
    for (int h = 0; h < 2; h++) {
        top[h] = all(-INFINITY);
        low[h] = all(INFINITY);
        label[h] = load_i(labels + h * W);
    }
    for (int64_t k = 0; k < K; k++)
        UNROLL
        for (int h = 0; h < 2; h++) {
            top[h] = larger(top[h], x[k][h]);
            low[h] = smaller(low[h], x[k][h]);
        }
    for (int64_t k = 0; k + 1 < K; k += 2)
        exponentials(total, correct, x + k, top, label, k, 2);
    if (K % 2)
        exponentials(total, correct, x + K - 1, top, label, K - 1, 1);
    UNROLL
    for (int h = 0; h < 2; h++) {
        total[h] = fma_f(low[h] - top[h], (vf){0}, total[h]); /* NaN if a logit lies infinitely far below: exp alone would hide it */
        inverse[h] = 1.0f / total[h];
        l->product *= choose(inside[h], total[h], all(1));
        l->gaps += (vf)((vi)correct[h] & inside[h]);
    }
    for (int64_t k = 0; k < K; k++)
        UNROLL
        for (int h = 0; h < 2; h++)
            store(g + k * stride + h * W, fma_f(x[k][h], inverse[h], (vf)((vi)all(-1) & (label[h] == (int32_t)k))));
}

/* Classes k to k + C - 1, V vectors of columns from j on: their sums over the batch in row order, then theta. */
INLINE void update_tile(float *theta, const float *g, const float *const *z, vf shrink, vf scale, int64_t n, int64_t stride, int64_t k,
                        int64_t j, int64_t ld, const int C, const int V) {
    vf sum[4][3] = {{{0}}};
    g += k * stride;
    theta += k * ld + j;
    for (int64_t i = 0; i < n; i++) {
        const float *row = z[i] + j;
        vf x[3];
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
            store(place, fma_f(sum[c][v], scale, load(place) * shrink));
        }
}

INLINE void update_columns(float *theta, const float *g, const float *const *z, const lli_update *u, int64_t n, int64_t stride, int64_t K,
                           int64_t j, int64_t ld, const int V) {
    const vf shrink = all(u->shrink), scale = all(-u->scale);
    for (int64_t t = 0, tiles = (K + 3) / 4; t < tiles; t++) {
        int64_t k = tiles_start(t, tiles, K);
        switch (tiles_start(t + 1, tiles, K) - k) {
        case 4: update_tile(theta, g, z, shrink, scale, n, stride, k, j, ld, 4, V); break;
        case 3: update_tile(theta, g, z, shrink, scale, n, stride, k, j, ld, 3, V); break;
        case 2: update_tile(theta, g, z, shrink, scale, n, stride, k, j, ld, 2, V); break;
        default: update_tile(theta, g, z, shrink, scale, n, stride, k, j, ld, 1, V); break;
        }
    }
}

double LEVEL(step_tiny)(float *theta, float *g, const float *const *z, const int32_t *labels, const lli_update *u, int64_t n, int64_t K,
                        int64_t D, int64_t ld) {
    const int64_t columns = D + 1, stride = (n + STEP_PAIR - 1) / STEP_PAIR * STEP_PAIR, vectors = (columns + W - 1) / W;
    losses l = {all(1), {0}, 0};
    for (int64_t i = 0, pairs = 0; i < n; i += STEP_PAIR) {
        vf logits[STEP_TINY_K][2];
        int32_t some[STEP_PAIR] = {0};
        const int32_t *label = labels + i;
        if (n - i < STEP_PAIR)
            label = memcpy(some, label, (size_t)(n - i) * sizeof *some);
        logits_of_pair(logits, z + i, theta, K, ld, columns);
        const int32_t left = (int32_t)LLI_MIN(n - i, STEP_PAIR);
        residual_of_pair(g + i, &l, logits, label, (const vi[2]){LANES(vi) < left, LANES(vi) < left - W}, K, stride);
        if (++pairs % FLUSH == 0)
            flush(&l);
    }
    flush(&l);
    for (int64_t v = 0; v < vectors; v += 3)
        switch (vectors - v) {
        case 1: update_columns(theta, g, z, u, n, stride, K, v * W, ld, 1); break;
        case 2: update_columns(theta, g, z, u, n, stride, K, v * W, ld, 2); break;
        default: update_columns(theta, g, z, u, n, stride, K, v * W, ld, 3); break;
        }
    if (u->noise > 0)
        LEVEL(add_noise)(theta, u->stream, K, D, ld, u->noise);
    return l.sum;
}
