/* SPDX-License-Identifier: MIT */
/* The plain version of the optimisers' steps. */
#include <math.h>

#include "kernels/ref/ref.h"

static float flush(float x) {
    return fabsf(x) < LLI_MOMENT_MIN ? 0 : x;
}

void lli_ref_adam(float *theta, float *m, float *v, const float *gradient, const lli_adam *a, float decay, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        float g = gradient[i] + decay * theta[i];
        m[i] = flush(m[i] + a->rest1 * (g - m[i]));
        v[i] = flush(a->beta2 * v[i] + a->rest2 * g * g);
        theta[i] -= a->step * m[i] / (a->root * sqrtf(v[i]) + a->eps);
    }
}

void lli_ref_momentum(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        float g = gradient[i] + decay * theta[i];
        velocity[i] = flush(o->momentum * velocity[i] + g);
        theta[i] -= o->lr * (o->nesterov ? g + o->momentum * velocity[i] : velocity[i]);
    }
}
