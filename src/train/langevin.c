/* SPDX-License-Identifier: MIT */
/* The rule of sgd and sgld: theta <- (1 - lr decay) theta - lr gradient + noise xi. The noise reaches every parameter that has a gradient.
 * docs/math/sgld.md */
#include "train/optimiser.h"

enum { NOISE = 1024 }; /* normals at a time */

static void prepare(lli_descent *d, const lli_step *step) {
    d->with.langevin = (lli_langevin){
        .lr = step->lr,
        .noise = (float)step->noise,
        .stream = lli_rng_stream(step->seed, LLI_PURPOSE_NOISE, step->member, step->step),
    };
}

static void update(const lli_descent *d, int64_t first, int64_t count, const float *gradient, double decay) {
    const lli_langevin *l = &d->with.langevin;
    float shrink = (float)(1 - l->lr * decay), lr = (float)l->lr, xi[NOISE];
    for (int64_t at = 0, n; at < count; at += n) {
        float *theta = d->theta + first + at;
        n = LLI_MIN(NOISE, count - at);
        for (int64_t i = 0; i < n; i++)
            theta[i] = shrink * theta[i] - lr * gradient[at + i];
        if (l->noise > 0) {
            lli_model_normals(d->model, xi, l->stream, first + at, n);
            for (int64_t i = 0; i < n; i++)
                theta[i] += l->noise * xi[i];
        }
    }
}

const lli_rule lli_rule_langevin = {.name = "langevin", .fused = true, .prepare = prepare, .update = update};

const lli_rule lli_rule_swag = {.name = "swag", .slots = LLI_OPTIMISER_SWAG_SLOTS, .fused = true, .prepare = prepare, .update = update};

const lli_optimiser lli_optimiser_swag = {.rule = &lli_rule_swag};
const lli_optimiser lli_optimiser_sgd = {.rule = &lli_rule_langevin};
const lli_optimiser lli_optimiser_sgld = {.rule = &lli_rule_langevin, .noise = true};
