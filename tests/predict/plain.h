/* SPDX-License-Identifier: MIT */
/* The confidences as their definitions read: every probability of every member kept, one loop each, long double.
 * Features and parameters are small multiples of powers of two, so that logits are the same number in any order and precision. */
#ifndef TESTS_PREDICT_PLAIN_H
#define TESTS_PREDICT_PLAIN_H

#include <math.h>

#include "ensemble/ensemble.h"
#include "problem.h"

typedef struct plain {
    int64_t N, K, S;
    long double *p;     /* [N,S,K] */
    long double *other; /* [N,S,K] 1 - p, summed from the other classes */
    int64_t *top;       /* [N,S] */
    long double *w;     /* [S] normalised */
    int64_t *label;     /* [N] */
} plain;

/* An ensemble of S members with weights (NULL = 1), or of S masks on one member. Parameters are multiples of scale/8 in [-scale,scale). */
static inline ll_ensemble *plain_ensemble(ll_context *ctx, int64_t S, int64_t K, int64_t D, float scale, const double *weight,
                                          uint32_t drop16) {
    lli_ensemble_plan plan = {
        .method = drop16 ? "dropout" : "sgd", .S = S, .K = K, .D = D, .stored = drop16 ? 1 : S, .seed = 5, .drop16 = drop16};
    CHECK_OK(ctx, lli_memory_new(ctx, &plan.weight, S, sizeof(double)));
    for (int64_t s = 0; s < S; s++)
        plan.weight[s] = weight ? weight[s] : 1;
    ll_ensemble *e;
    CHECK_OK(ctx, lli_ensemble_new(&e, ctx, &plan));
    for (int64_t i = 0; i < e->plan.stored * K * D; i++) /* members share a part, so that they mostly agree */
        e->owned[0][i] = scale / 8 * (floorf(6 * problem_number(21, i % (K * D))) + floorf(1.5f * problem_number(22, i)));
    for (int64_t i = 0; i < e->plan.stored * K; i++)
        e->owned[1][i] = scale / 8 * (floorf(6 * problem_number(23, i % K)) + floorf(2 * problem_number(25, i)));
    return e;
}

/* Features: multiples of 1/steps in [-1,1). */
static inline float *plain_features(int64_t N, int64_t D, float steps) {
    float *z = problem_room(N * D, sizeof *z);
    for (int64_t i = 0; i < N * D; i++)
        z[i] = floorf(steps * problem_number(24, i)) / steps;
    return z;
}

/* Is unit j of this row kept in pass s? 16 bits, one from each of 16 blocks, the highest first; rows of up to 32 or 64 units share
 * blocks. */
static inline bool plain_keeps(const ll_ensemble *e, int64_t s, int64_t row, int64_t j) {
    int64_t D = e->plan.D, span = D <= 32 ? 32 : D <= 64 ? 64 : (D + 127) / 128 * 128, bit = row * span + j;
    uint32_t number = 0;
    for (int64_t plane = 0; plane < 16; plane++) {
        lli_philox bits = lli_rng_block(lli_rng_stream(e->plan.seed, LLI_PURPOSE_PREDICT_MASK, 0, s), (uint64_t)(bit / 128 * 16 + plane));
        number = 2 * number + (bits.lane[bit % 128 / 32] >> bit % 32 & 1);
    }
    return number >= e->plan.drop16;
}

/* p_hat of class k, with the first S members of the given number (weights of those alone). */
static inline long double plain_mean(const plain *a, int64_t i, int64_t k, int64_t members) {
    long double sum = 0, total = 0;
    for (int64_t s = 0; s < members; s++) {
        sum += a->w[s] * a->p[(i * a->S + s) * a->K + k];
        total += a->w[s];
    }
    return sum / total;
}

/* The largest of them. */
static inline int64_t plain_label(const plain *a, int64_t i, int64_t members) {
    int64_t best = 0;
    for (int64_t k = 1; k < a->K; k++)
        if (plain_mean(a, i, k, members) > plain_mean(a, i, best, members))
            best = k;
    return best;
}

static inline plain plain_new(const ll_ensemble *e, const float *z, int64_t N, int64_t row_offset) {
    int64_t K = e->plan.K, D = e->plan.D, S = e->plan.S;
    plain a = {.N = N, .K = K, .S = S};
    a.p = problem_room(N * S * K, sizeof *a.p);
    a.other = problem_room(N * S * K, sizeof *a.other);
    a.top = problem_room(N * S, sizeof *a.top);
    a.w = problem_room(S, sizeof *a.w);
    long double total = 0, *logits = problem_room(K, sizeof *logits), *row = problem_room(D, sizeof *row);
    for (int64_t s = 0; s < S; s++)
        total += e->plan.weight[s];
    for (int64_t s = 0; s < S; s++)
        a.w[s] = e->plan.weight[s] / total;
    for (int64_t i = 0; i < N; i++)
        for (int64_t s = 0; s < S; s++) {
            int64_t stored = e->plan.drop16 ? 0 : s, best = 0;
            for (int64_t j = 0; j < D; j++) {
                bool kept = !e->plan.drop16 || plain_keeps(e, s, row_offset + i, j);
                row[j] = kept ? z[i * D + j] * 65536.0L / (65536 - e->plan.drop16) : 0;
            }
            for (int64_t k = 0; k < K; k++) {
                logits[k] = e->tensor[1][stored * K + k];
                for (int64_t j = 0; j < D; j++)
                    logits[k] += e->tensor[0][(stored * K + k) * D + j] * row[j];
                if (logits[k] > logits[best])
                    best = k;
            }
            long double sum = 0, *p = a.p + (i * S + s) * K, *other = a.other + (i * S + s) * K;
            for (int64_t k = 0; k < K; k++)
                sum += p[k] = expl(logits[k] - logits[best]);
            for (int64_t k = 0; k < K; k++)
                p[k] /= sum;
            for (int64_t k = 0; k < K; k++)
                for (int64_t m = 0; m < K; m++)
                    other[k] += m == k ? 0 : p[m];
            a.top[i * S + s] = best;
        }
    a.label = problem_room(N, sizeof *a.label);
    for (int64_t i = 0; i < N; i++)
        a.label[i] = plain_label(&a, i, S);
    free(logits);
    free(row);
    return a;
}

static inline void plain_free(plain *a) {
    free(a->p);
    free(a->other);
    free(a->top);
    free(a->w);
    free(a->label);
}

static inline long double plain_tail(const plain *a, int64_t i, int64_t k) {
    long double sum = 0;
    for (int64_t s = 0; s < a->S; s++)
        sum += a->w[s] * a->other[(i * a->S + s) * a->K + k];
    return sum;
}

static inline long double plain_share(const plain *a, int64_t i, int64_t k) {
    long double q = 0;
    for (int64_t s = 0; s < a->S; s++)
        q += a->top[i * a->S + s] == k ? a->w[s] : 0;
    return q;
}

static inline int64_t plain_vote(const plain *a, int64_t i) {
    int64_t best = 0;
    for (int64_t k = 1; k < a->K; k++)
        if (plain_share(a, i, k) > plain_share(a, i, best))
            best = k;
    return best;
}

/* -x log x, 0 at 0; near 1 by what is missing. */
static inline long double plain_piece(long double x, long double missing) {
    return x <= 0 ? 0 : x > 0.5L ? -x * log1pl(-missing) : -x * logl(x);
}

static inline long double plain_confidence(const plain *a, int64_t i, ll_confidence c) {
    int64_t label = a->label[i], K = a->K, S = a->S;
    const long double *other = a->other + i * S * K + label; /* of member s: other[s*K] = 1 - p(label) */
    long double sum = 0, mean = 0, low = INFINITY, high = -INFINITY;
    switch (c) {
    case LL_CONFIDENCE_SR: return plain_mean(a, i, label, S);
    case LL_CONFIDENCE_STD:
        for (int64_t s = 0; s < S; s++)
            mean += a->w[s] * other[s * K];
        for (int64_t s = 0; s < S; s++)
            sum += a->w[s] * (other[s * K] - mean) * (other[s * K] - mean);
        return -sqrtl(sum);
    case LL_CONFIDENCE_HQ:
        for (int64_t k = 0; k < K; k++)
            sum -= plain_share(a, i, k) > 0 ? plain_share(a, i, k) * logl(plain_share(a, i, k)) : 0;
        return -sum;
    case LL_CONFIDENCE_MAXMIN:
        for (int64_t s = 0; s < S; s++) {
            low = fminl(low, other[s * K]);
            high = fmaxl(high, other[s * K]);
        }
        return low - high;
    case LL_CONFIDENCE_ENTROPY:
    case LL_CONFIDENCE_MI:
        for (int64_t k = 0; k < K; k++)
            sum += plain_piece(plain_mean(a, i, k, S), plain_tail(a, i, k));
        if (c == LL_CONFIDENCE_ENTROPY)
            return -sum;
        for (int64_t s = 0; s < S; s++)
            for (int64_t k = 0; k < K; k++)
                sum -= a->w[s] * plain_piece(a->p[(i * S + s) * K + k], a->other[(i * S + s) * K + k]);
        return -sum;
    case LL_CONFIDENCE_MARGIN:
        high = 0;
        for (int64_t k = 0; k < K; k++)
            high = k == label ? high : fmaxl(high, plain_mean(a, i, k, S));
        return plain_mean(a, i, label, S) - high;
    default: break;
    }
    return NAN;
}

#endif
