/* SPDX-License-Identifier: MIT */
/* Softmax of rows, lanes along the classes: in f32 as the residual of training, in f64 with tails for prediction. */
#include <float.h>

#include "base/status.h"
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

/* log(total) - correct for up to W rows, added in row order. */
static double row_losses(const float *total, const float *correct, int64_t rows) {
    float loss[W];
    double sum = 0;
    store(loss, log_f(load(total)) - load(correct));
    for (int64_t i = 0; i < rows; i++)
        sum += isfinite(total[i]) ? (double)loss[i] : (double)NAN;
    return sum;
}

/* One row to probabilities; their sum before the division goes to *total, NaN if a logit is not finite. Returns the largest logit. */
INLINE float probabilities(float *total, float *row, int64_t K, int64_t ldk) {
    int64_t padded = (K + W - 1) / W * W;
    for (int64_t k = K; k < padded; k++)
        row[k] = row[0];
    vf top = load(row);
    for (int64_t k = W; k < padded; k += W)
        top = larger(top, load(row + k));
    float largest = largest_lane(top);
    vf sum = {0};
    vi gap = {0}; /* lanes where a logit is infinitely below the largest */
    for (int64_t k = 0; k < padded; k += W) {
        vf x = load(row + k) - largest, e = exp_f(x);
        e = (vf)((vi)e & (LANES(vi) < (int32_t)LLI_MIN(K - k, W)));
        gap |= x < all(-FLT_MAX);
        sum += e;
        store(row + k, e);
    }
    *total = sum_lanes(sum) + sum_lanes((vf)(gap & 0x7fc00000));
    vf inverse = 1.0f / all(*total);
    for (int64_t k = 0; k < padded; k += W)
        store(row + k, load(row + k) * inverse);
    for (int64_t k = padded; k < ldk; k++)
        row[k] = 0;
    return largest;
}

double LEVEL(residual)(float *logits, const int32_t *labels, int64_t n, int64_t K, int64_t ldk) {
    double nll = 0;
    for (int64_t i = 0; i < n; i += W) {
        int64_t rows = LLI_MIN(n - i, W);
        float total[W], correct[W] = {0};
        store(total, all(1.0f));
        for (int64_t r = 0; r < rows; r++) {
            float *row = logits + (i + r) * ldk, logit = row[labels[i + r]];
            correct[r] = logit - probabilities(total + r, row, K, ldk);
            row[labels[i + r]] -= 1;
        }
        nll += row_losses(total, correct, rows);
    }
    return nll;
}

/* Lowest index of the largest logit; index 0 if there is a NaN in the way. */
static int64_t argmax(const float *row, int64_t K) {
    vf top = all(-INFINITY);
    int64_t k;
    for (k = 0; k + W <= K; k += W)
        top = larger(top, load(row + k));
    float largest = largest_lane(top);
    for (; k < K; k++)
        largest = row[k] > largest ? row[k] : largest;
    for (k = 0; k + W <= K; k += W) {
        vi equal = load(row + k) == all(largest);
        int32_t any = 0;
        UNROLL
        for (int lane = 0; lane < W; lane++)
            any |= equal[lane];
        if (any)
            break;
    }
    for (; k < K; k++)
        if (row[k] == largest)
            return k;
    return 0;
}

/* r <- exp(logit - top) of the other classes. *others = their sum, *weighted = sum of exp(d) * -d, both of terms >= 0. */
static void exponentials(double *others, double *weighted, double *r, const float *row, int64_t best, int64_t K) {
    const double largest = (double)row[best];
    vd sum = {0}, product = {0};
    for (int64_t k = 0; k < K; k += H) {
        float lanes[H];
        double tail[H];
        const bool full = k + H <= K;
        for (int64_t lane = 0; !full && lane < H; lane++)
            lanes[lane] = row[k + lane < K ? k + lane : best];
        vd d = load_widened(full ? row + k : lanes) - largest;
        vl under = d < all_d(-708.0);
        d = choose_d(under, all_d(-708.0), d);
        vl index = LANES_D(vl) + k;
        vd e = (vd)((vl)exp_d(d) & ~under & (index != best) & (index < K));
        sum += e;
        product = fma_d(e, -d, product);
        store_d(full ? r + k : tail, e);
        for (int64_t lane = 0; !full && k + lane < K; lane++)
            r[k + lane] = tail[lane];
    }
    *others = sum_lanes_d(sum);
    *weighted = sum_lanes_d(product);
}

/* With o = sum of exp(d_k) over the other classes: log p_top = -log(1 + o) and log p_k = d_k - log(1 + o), so
 * entropy = log(1 + o) + sum of exp(d_k) * -d_k / (1 + o): no term is negative, nothing cancels. */
void LEVEL(softmax)(double *r, int32_t *top, double *entropy, const float *logits, int64_t n, int64_t K, int64_t ldk) {
    for (int64_t i = 0; i < n; i += H) {
        int64_t rows = LLI_MIN(n - i, H);
        double others[H] = {0}, weighted[H], logs[H];
        for (int64_t a = 0; a < rows; a++) {
            const float *row = logits + (i + a) * ldk;
            double *out = r + (i + a) * K;
            int64_t best = argmax(row, K), k;
            exponentials(others + a, weighted + a, out, row, best, K);
            double inverse = 1 / (1 + others[a]);
            for (k = 0; k + H <= K; k += H)
                store_d(out + k, load_d(out + k) * inverse);
            for (; k < K; k++)
                out[k] *= inverse;
            out[best] = -others[a] * inverse;
            top[i + a] = (int32_t)best;
        }
        store_d(logs, log1p_d(load_d(others)));
        for (int64_t a = 0; a < rows; a++)
            entropy[i + a] = logs[a] + weighted[a] / (1 + others[a]);
    }
}
