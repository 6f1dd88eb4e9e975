/* SPDX-License-Identifier: MIT */
/* The softmax of training, in f32 and in place: logits -> w (p - 1{k = y}), and the loss.
 * Few classes: W rows at a time, transposed, lanes = rows. Many: row by row, lanes = classes. Very many: wide.h. K
 * alone decides, so a row's bits do not depend on its neighbours. */
#include <float.h>

#include "base/status.h"
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"
#include "kernels/wide.h"

enum { FEW = 32 };

/* log(total) - correct. A total that is not finite stands for a logit that is not. */
INLINE vf losses(vf total, vf correct) {
    return log_f(total) - correct + (total - total);
}

/* In row order. */
INLINE double sum_rows(vf loss, int64_t rows) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++)
        sum += (double)loss[r];
    return sum;
}

/* Residuals and losses times the weights of their rows. */
static double weigh(float *logits, vf loss, const float *weights, int64_t rows, int64_t K, int64_t ldk) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = 0; k < K; k += W)
            store(logits + r * ldk + k, load(logits + r * ldk + k) * all(weights[r]));
        sum += (double)weights[r] * (double)loss[r];
    }
    return sum;
}

/* NaN in the lanes where a logit lies infinitely far below the largest: exp alone would hide it. */
INLINE vf gaps(vf x) {
    return (vf)((x < all(-FLT_MAX)) & 0x7fc00000);
}

/* W columns of `rows` rows to x[column]; missing rows repeat the last. */
INLINE void load_columns(vf *x, const float *logits, int64_t rows, int64_t ldk) {
    vf t[W];
    UNROLL
    for (int r = 0; r < W; r++)
        t[r] = load(logits + LLI_MIN(r, rows - 1) * ldk);
    transpose(t);
    UNROLL
    for (int r = 0; r < W; r++)
        x[r] = t[r];
}

INLINE void store_columns(float *logits, const vf *x, vf factor, int64_t rows, int64_t ldk) {
    vf t[W];
    UNROLL
    for (int r = 0; r < W; r++)
        t[r] = x[r] * factor;
    transpose(t);
    UNROLL
    for (int r = 0; r < W; r++)
        if (r < rows)
            store(logits + r * ldk, t[r]);
}

static double few_classes(float *logits, const int32_t *labels, const float *weights, int64_t rows, int64_t K, int64_t ldk) {
    vf x[FEW + W], top = all(-INFINITY), total = {0};
    float correct[W] = {0};
    int64_t padded = (K + W - 1) / W * W;
    for (int64_t r = 0; r < rows; r++)
        correct[r] = logits[r * ldk + labels[r]];
    for (int64_t k = 0; k < padded; k += W)
        load_columns(x + k, logits + k, rows, ldk);
    for (int64_t k = 0; k < K; k++)
        top = larger(top, x[k]);
    for (int64_t k = 0; k < K; k++) {
        vf gap = x[k] - top;
        x[k] = exp_f(gap);
        total += x[k] + gaps(gap);
    }
    for (int64_t k = K; k < padded; k++)
        x[k] = (vf){0};
    vf inverse = 1.0f / total;
    for (int64_t k = 0; k < padded; k += W)
        store_columns(logits + k, x + k, inverse, rows, ldk);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = padded; k < ldk; k += W)
            store(logits + r * ldk + k, (vf){0});
        logits[r * ldk + labels[r]] -= 1;
    }
    vf loss = losses(total, load(correct) - top);
    return weights ? weigh(logits, loss, weights, rows, K, ldk) : sum_rows(loss, rows);
}

/* exp(logit - largest) of W classes from k on, 0 beyond K. */
INLINE vf exponentials(vf *total, float *row, int64_t k, vf largest, int64_t K) {
    vi inside = LANES(vi) < (int32_t)LLI_MIN(K - k, W);
    vf gap = (vf)((vi)(load(row + k) - largest) & inside), e = (vf)((vi)exp_f(gap) & inside);
    *total += e + gaps(gap);
    return e;
}

static double many_classes(float *row, int32_t label, const float *weight, int64_t K, int64_t ldk) {
    int64_t full = K / W * W;
    vf top = load(row + K - W), total = {0}, correct = all(row[label]); /* the first and last vector overlap */
    for (int64_t k = 0; k < full; k += W)
        top = larger(top, load(row + k));
    top = all(largest_lane(top));
    for (int64_t k = 0; k < K; k += W)
        store(row + k, exponentials(&total, row, k, top, K));
    total = all(sum_lanes(total));
    vf inverse = 1.0f / total;
    for (int64_t k = 0; k < K; k += W)
        store(row + k, load(row + k) * inverse);
    for (int64_t k = (K + W - 1) / W * W; k < ldk; k += W)
        store(row + k, (vf){0});
    row[label] -= 1;
    vf loss = losses(total, correct - top);
    return weight ? weigh(row, loss, weight, 1, K, ldk) : (double)loss[0];
}

double LEVEL(residual)(float *logits, const int32_t *labels, const float *weights, int64_t n, int64_t K, int64_t ldk) {
    double nll = 0;
    int64_t step = K <= FEW ? W : 1;
    for (int64_t i = 0; i < n; i += step)
        if (K <= FEW)
            nll += few_classes(logits + i * ldk, labels + i, weights ? weights + i : NULL, LLI_MIN(n - i, W), K, ldk);
        else if (K >= LLI_WIDE_CLASSES)
            nll += lli_wide_softmax(&LEVEL(wide), logits + i * ldk, labels[i], weights ? weights[i] : 1, K, ldk);
        else
            nll += many_classes(logits + i * ldk, labels[i], weights ? weights + i : NULL, K, ldk);
    return nll;
}
