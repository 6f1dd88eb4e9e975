/* SPDX-License-Identifier: MIT */
/* The rule of psgld: v <- 0.99 v + 0.01 g^2, G = 1/(1e-5 + sqrt v), theta <- theta - lr G g + noise sqrt(G) xi, g = gradient + decay theta.
 * v is the slot. In its first epoch theta rests, and v becomes the mean of g^2 over the batches. docs/math/samplers.md */
#include <math.h>

#include "train/optimiser.h"

enum { NOISE = 1024 }; /* normals at a time */

static const float KEEP = 0.99f, LEAST = 1e-5f;

static void prepare(lli_descent *d, const lli_step *step) {
    d->with.langevin = (lli_langevin){
        .lr = step->lr,
        .noise = (float)step->noise,
        .stream = lli_rng_stream(step->seed, LLI_PURPOSE_NOISE, step->member, step->step),
    };
}

static void measure(const lli_descent *d, int64_t first, int64_t count, const float *gradient, float pull) {
    const float *theta = d->theta + first, share = 1 / (float)(d->step->step + 1);
    float *v = d->slots + first;
    for (int64_t i = 0; i < count; i++) {
        float g = gradient[i] + pull * theta[i];
        v[i] += share * (g * g - v[i]);
    }
}

static void update(const lli_descent *d, int64_t first, int64_t count, const float *gradient, double decay) {
    const lli_langevin *l = &d->with.langevin;
    float lr = (float)l->lr, pull = (float)decay, xi[NOISE];
    if (d->step->epoch == 0) {
        measure(d, first, count, gradient, pull);
        return;
    }
    for (int64_t at = 0, n; at < count; at += n) {
        float *theta = d->theta + first + at, *v = d->slots + first + at;
        n = LLI_MIN(NOISE, count - at);
        lli_model_normals(d->model, xi, l->stream, first + at, n);
        for (int64_t i = 0; i < n; i++) {
            float g = gradient[at + i] + pull * theta[i];
            v[i] = KEEP * v[i] + (1 - KEEP) * (g * g);
            float G = 1 / (LEAST + sqrtf(v[i]));
            theta[i] += l->noise * sqrtf(G) * xi[i] - lr * G * g;
        }
    }
}

const lli_rule lli_rule_scaled = {.name = "scaled", .slots = 1, .rests = true, .prepare = prepare, .update = update};

const lli_optimiser lli_optimiser_psgld = {.rule = &lli_rule_scaled, .noise = true};
