/* SPDX-License-Identifier: MIT */
/* Softmax in f64 with tails, for prediction: r = p - 1{top}, top and entropy of each row.
 * Few classes: H rows at a time, transposed, lanes = rows. Many: row by row, lanes = classes. K alone decides. */
#include "base/status.h"
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

enum { FEW = 32 };

/* Sums over the other classes of exp(d) and of exp(d) * -d, d = logit - largest: no term is negative. */
typedef struct sums {
    vd others, weighted;
} sums;

/* exp(d) where `counts`, which is not the top class; 0 elsewhere and where it underflows. */
INLINE vd exponential(sums *s, vd d, vl counts) {
    d = keep_d(counts, d);
    counts &= ~(d < all_d(-708.0));
    d = keep_d(counts, d);
    vd e = keep_d(counts, exp_d(d));
    s->others += e;
    s->weighted = fma_d(e, -d, s->weighted);
    return e;
}

/* With o = sum of exp(d_k) over the other classes, log p_top = -log(1 + o) and log p_k = d_k - log(1 + o), so
 * entropy = log(1 + o) + sum of exp(d_k) * -d_k / (1 + o): nothing cancels. */
INLINE vd entropy_of(sums s) {
    return log1p_d(s.others) + s.weighted / (1.0 + s.others);
}

/* H columns of `rows` rows to x[column]; missing rows repeat the last. */
INLINE void load_columns(vd *x, const float *logits, int64_t rows, int64_t ldk) {
    vd t[H];
    UNROLL
    for (int a = 0; a < H; a++)
        t[a] = load_widened(logits + LLI_MIN(a, rows - 1) * ldk);
    transpose_d(t);
    UNROLL
    for (int a = 0; a < H; a++)
        x[a] = t[a];
}

INLINE void store_columns(double *r, const vd *x, int64_t rows, int64_t K, int64_t columns) {
    vd t[H];
    UNROLL
    for (int a = 0; a < H; a++)
        t[a] = x[a];
    transpose_d(t);
    UNROLL
    for (int a = 0; a < H; a++)
        if (a < rows && columns >= H)
            store_d(r + a * K, t[a]);
        else if (a < rows)
            UNROLL
            for (int b = 0; b < H - 1; b++)
                if (b < columns)
                    r[a * K + b] = t[a][b];
}

static void few_classes(double *r, int32_t *top, double *entropy, const float *logits, int64_t rows, int64_t K, int64_t ldk) {
    vd x[FEW + H], largest = all_d(-INFINITY), best = {0};
    for (int64_t k = 0; k < K; k += H)
        load_columns(x + k, logits + k, rows, ldk);
    for (int64_t k = 0; k < K; k++)
        largest = larger_d(x[k], largest);
    for (int64_t k = K - 1; k >= 0; k--) { /* backwards: the lowest index stays */
        vl equal = x[k] == largest;
        best = keep_d(~equal, best) + keep_d(equal, all_d((double)k));
    }
    sums s = {{0}, {0}};
    for (int64_t k = 0; k < K; k++)
        x[k] = exponential(&s, x[k] - largest, best != all_d((double)k));
    vd inverse = 1.0 / (1.0 + s.others), tail = s.others * inverse, h = entropy_of(s);
    for (int64_t k = 0; k < K; k++)
        x[k] = x[k] * inverse - keep_d(best == all_d((double)k), tail);
    for (int64_t k = 0; k < K; k += H)
        store_columns(r + k, x + k, rows, K, K - k);
    for (int64_t a = 0; a < rows; a++) {
        top[a] = (int32_t)best[a];
        entropy[a] = h[a];
    }
}

/* Lowest index of the largest logit; 0 if every comparison fails (NaN). Reads up to the next multiple of W. */
INLINE int64_t argmax(const float *row, int64_t K) {
    vf top = all(-INFINITY);
    vi first = LANES(vi) | INT32_MAX;
    for (int64_t k = 0; k + W <= K; k += W)
        top = larger(load(row + k), top);
    top = all(largest_lane(larger(load(row + K - W), top)));
    for (int64_t k = 0; k < K; k += W) {
        vi index = LANES(vi) + (int32_t)k, equal = (load(row + k) == top) & (index < (int32_t)K) & (first == INT32_MAX);
        first = (first & ~equal) | (index & equal);
    }
    int32_t best = smallest_lane(first);
    return best == INT32_MAX ? 0 : best;
}

static void many_classes(double *r, int32_t *top, double *entropy, const float *row, int64_t K) {
    int64_t best = argmax(row, K), k;
    const double largest = (double)row[best];
    sums s = {{0}, {0}};
    vd last = {0}, index = LANES_D(vd);
    for (k = 0; k + H <= K; k += H, index += (double)H)
        store_d(r + k, exponential(&s, load_widened(row + k) - largest, index != all_d((double)best)));
    if (k < K)
        last = exponential(&s, load_widened(row + k) - largest, (index != all_d((double)best)) & (index < all_d((double)K)));
    s.others = all_d(sum_lanes_d(s.others));
    s.weighted = all_d(sum_lanes_d(s.weighted));
    vd inverse = 1.0 / (1.0 + s.others);
    for (k = 0; k + H <= K; k += H)
        store_d(r + k, load_d(r + k) * inverse);
    last *= inverse;
    UNROLL
    for (int lane = 0; lane < H; lane++)
        if (k + lane < K)
            r[k + lane] = last[lane];
    r[best] = -s.others[0] * inverse[0];
    *top = (int32_t)best;
    *entropy = entropy_of(s)[0];
}

void LEVEL(softmax)(double *r, int32_t *top, double *entropy, const float *logits, int64_t n, int64_t K, int64_t ldk) {
    int64_t step = K <= FEW ? H : 1;
    for (int64_t i = 0; i < n; i += step)
        if (K <= FEW)
            few_classes(r + i * K, top + i, entropy + i, logits + i * ldk, LLI_MIN(n - i, H), K, ldk);
        else
            many_classes(r + i * K, top + i, entropy + i, logits + i * ldk, K);
}
