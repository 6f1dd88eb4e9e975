/* SPDX-License-Identifier: MIT */
/* The softmax of very many classes in fixed point: kernels/wide.h. Lanes are classes. */
#include "kernels/wide.h"

#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

/* A double from 2^51 to 2^52 on has no fraction: adding this one rounds, and the last bits are the integer. */
#define MAGIC 0x1.8p52

INLINE vi inside(int64_t k, int64_t K) {
    return LANES(vi) < (int32_t)LLI_MIN(K - k, W);
}

static float top(const float *row, int64_t K) {
    vf most = all(-INFINITY), wrong = {0};
    for (int64_t k = 0; k < K; k += W) {
        vf x = load(row + k);
        vi here = inside(k, K);
        most = larger(most, choose(here, x, all(-INFINITY)));
        wrong += (vf)((vi)(x - x) & here); /* NaN where x is not finite */
    }
    return sum_lanes(wrong) == 0 ? largest_lane(most) : INFINITY;
}

/* W exponentials as integers, two by two added. */
INLINE vq integers(const float *e, vd scale) {
    vq magic = (vq)all_d(MAGIC);
    return ((vq)(load_widened(e) * scale + MAGIC) - magic) + ((vq)(load_widened(e + H) * scale + MAGIC) - magic);
}

static int64_t sum(float *row, float top_of_all, int64_t K, int power) {
    if (!isfinite(top_of_all))
        return 0;
    vf most = all(top_of_all);
    vd scale = all_d((double)((int64_t)1 << power));
    vq total = {0};
    for (int64_t k = 0; k < K; k += W) {
        vi here = inside(k, K);
        store(row + k, (vf)((vi)exp_f((vf)((vi)(load(row + k) - most) & here)) & here));
        total += integers(row + k, scale);
    }
    uint64_t added = 0;
    for (int i = 0; i < H; i++)
        added += total[i];
    return (int64_t)added;
}

static double residual(float *row, const lli_wide_row *of, float weight, int64_t label, int64_t K, int64_t ldk, int power) {
    double total = isfinite(of->top) ? (double)of->total / (double)((int64_t)1 << power) : (double)NAN;
    vf inverse = all((float)(1 / total)), w = all(weight);
    for (int64_t k = 0; k < K; k += W)
        store(row + k, load(row + k) * inverse);
    for (int64_t k = (K + W - 1) / W * W; k < ldk; k += W)
        store(row + k, (vf){0});
    if (label >= 0)
        row[label] -= 1;
    for (int64_t k = 0; weight != 1 && k < K; k += W)
        store(row + k, load(row + k) * w);
    return (double)weight * (log_d(all_d(total))[0] - (double)of->gap + (total - total));
}

const lli_wide LEVEL(wide) = {top, sum, residual};
