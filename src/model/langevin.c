/* SPDX-License-Identifier: MIT */
/* The prior pulls at kernels and biases; the noise reaches every parameter that has a gradient. */
#include "model/langevin.h"

enum { NOISE = 1024 }; /* normals at a time */

lli_langevin lli_langevin_of(const lli_kernels *kernels, float *theta, const lli_step *s) {
    return (lli_langevin){
        .theta = theta,
        .kernels = kernels,
        .shrink = (float)(1 - s->lr * s->decay),
        .lr = (float)s->lr,
        .noise = (float)s->noise,
        .stream = lli_rng_stream(s->seed, LLI_PURPOSE_NOISE, s->member, s->step),
    };
}

void lli_langevin_piece(void *arg, const lli_part *part, int64_t first, int64_t count, const float *g) {
    const lli_langevin *l = arg;
    float shrink = part->role == LLI_ROLE_KERNEL || part->role == LLI_ROLE_BIAS ? l->shrink : 1, xi[NOISE];
    for (int64_t at = 0, n; at < count; at += n) {
        float *theta = l->theta + first + at;
        n = LLI_MIN(NOISE, count - at);
        for (int64_t i = 0; i < n; i++)
            theta[i] = shrink * theta[i] - l->lr * g[at + i];
        if (l->noise > 0) {
            l->kernels->normals(xi, l->stream, first + at, n);
            for (int64_t i = 0; i < n; i++)
                theta[i] += l->noise * xi[i];
        }
    }
}
