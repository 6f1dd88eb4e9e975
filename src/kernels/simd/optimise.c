/* SPDX-License-Identifier: MIT */
/* The optimisers' steps in vectors. Memory is what they cost: each array is read once and written once. */
#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

INLINE vf flush(vf x) {
    return (vf)((vi)x & ((x > all(LLI_MOMENT_MIN)) | (x < all(-LLI_MOMENT_MIN))));
}

enum { CHUNK = 512 }; /* parameters whose roots wait in the first-level cache */

/* The first half: both moments, and what the first one is divided by. */
INLINE vf adam_moments(const float *theta, float *m, float *v, const float *gradient, const lli_adam *a, float decay) {
    vf old = load(m);
    vf g = fma_f(all(decay), load(theta), load(gradient));
    vf square = fma_f(all(a->rest2) * g, g, all(a->beta2) * load(v));
    square = (vf)((vi)square & (square > all(LLI_MOMENT_MIN)));
    store(m, flush(fma_f(all(a->rest1), g - old, old)));
    store(v, square);
    return fma_f(all(a->root), square_root(square), all(a->eps));
}

INLINE void adam_step(float *theta, const float *m, vf divisor, const lli_adam *a) {
    store(theta, load(theta) - all(a->step) * load(m) / divisor);
}

/* In two short loops: the way from a gradient to its step is long, and the processor looks ahead over a few elements only. */
static void adam_chunk(float *theta, float *m, float *v, const float *gradient, lli_adam a, float decay, int64_t vectors) {
    vf divisor[CHUNK / W];
    for (int64_t i = 0; i < vectors; i++)
        divisor[i] = adam_moments(theta + i * W, m + i * W, v + i * W, gradient + i * W, &a, decay);
    for (int64_t i = 0; i < vectors; i++)
        adam_step(theta + i * W, m + i * W, divisor[i], &a);
}

INLINE void momentum(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, bool nesterov) {
    vf w = load(theta);
    vf g = fma_f(all(decay), w, load(gradient));
    vf u = flush(fma_f(all(o->momentum), load(velocity), g));
    store(velocity, u);
    store(theta, fma_f(all(-o->lr), nesterov ? fma_f(all(o->momentum), u, g) : u, w));
}

/* What is less than a vector goes through copies of one, so that an element's bits do not depend on its place. */
typedef struct rest {
    float theta[W], gradient[W], first[W], second[W];
} rest;

void LEVEL(adam)(float *theta, float *m, float *v, const float *gradient, const lli_adam *a, float decay, int64_t count) {
    int64_t i = 0;
    for (int64_t vectors; (vectors = LLI_MIN(CHUNK, count - i) / W) > 0; i += vectors * W)
        adam_chunk(theta + i, m + i, v + i, gradient + i, *a, decay, vectors);
    if (i == count)
        return;
    rest r = {0};
    size_t bytes = (size_t)(count - i) * sizeof(float);
    memcpy(r.theta, theta + i, bytes);
    memcpy(r.gradient, gradient + i, bytes);
    memcpy(r.first, m + i, bytes);
    memcpy(r.second, v + i, bytes);
    adam_chunk(r.theta, r.first, r.second, r.gradient, *a, decay, 1);
    memcpy(theta + i, r.theta, bytes);
    memcpy(m + i, r.first, bytes);
    memcpy(v + i, r.second, bytes);
}

INLINE void momentum_run(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, int64_t count,
                         bool nesterov) {
    int64_t i = 0;
    for (; i + W <= count; i += W)
        momentum(theta + i, velocity + i, gradient + i, o, decay, nesterov);
    if (i == count)
        return;
    rest r = {0};
    size_t bytes = (size_t)(count - i) * sizeof(float);
    memcpy(r.theta, theta + i, bytes);
    memcpy(r.gradient, gradient + i, bytes);
    memcpy(r.first, velocity + i, bytes);
    momentum(r.theta, r.first, r.gradient, o, decay, nesterov);
    memcpy(theta + i, r.theta, bytes);
    memcpy(velocity + i, r.first, bytes);
}

void LEVEL(momentum)(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, int64_t count) {
    if (o->nesterov)
        momentum_run(theta, velocity, gradient, o, decay, count, true);
    else
        momentum_run(theta, velocity, gradient, o, decay, count, false);
}
