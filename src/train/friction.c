/* SPDX-License-Identifier: MIT */
/* The rule of sghmc: v <- (1 - a) v - lr (gradient + decay theta) + sqrt(a) noise xi, theta <- theta + v. The velocity is the slot.
 * docs/math/samplers.md */
#include <math.h>

#include "train/optimiser.h"

enum { NOISE = 1024 }; /* normals at a time */

static void prepare(lli_descent *d, const lli_step *step) {
    d->with.langevin = (lli_langevin){
        .lr = step->lr,
        .noise = (float)(step->noise * sqrt(d->optimiser->friction)),
        .stream = lli_rng_stream(step->seed, LLI_PURPOSE_NOISE, step->member, step->step),
    };
}

static void update(const lli_descent *d, int64_t first, int64_t count, const float *gradient, double decay) {
    const lli_langevin *l = &d->with.langevin;
    float keep = (float)(1 - d->optimiser->friction), lr = (float)l->lr, pull = (float)decay, xi[NOISE];
    for (int64_t at = 0, n; at < count; at += n) {
        float *theta = d->theta + first + at, *v = d->slots + first + at;
        n = LLI_MIN(NOISE, count - at);
        lli_model_normals(d->model, xi, l->stream, first + at, n);
        for (int64_t i = 0; i < n; i++) {
            v[i] = keep * v[i] - lr * (gradient[at + i] + pull * theta[i]) + l->noise * xi[i];
            theta[i] += v[i];
        }
    }
}

const lli_rule lli_rule_friction = {.name = "friction", .slots = 1, .prepare = prepare, .update = update};

const lli_optimiser lli_optimiser_sghmc = {.rule = &lli_rule_friction, .noise = true, .friction = 0.1};
