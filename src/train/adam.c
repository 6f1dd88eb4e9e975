/* SPDX-License-Identifier: MIT */
/* Adam (Kingma and Ba, 2015), in the form of its algorithm 1: eps is added to the corrected root. */
#include <math.h>

#include "train/optimiser.h"

static void prepare(lli_descent *d, const lli_step *step) {
    const lli_optimiser *o = d->optimiser;
    double t = (double)step->step + 1;
    d->with.adam = (lli_adam){
        .rest1 = (float)(1 - o->beta1),
        .beta2 = (float)o->beta2,
        .rest2 = (float)(1 - o->beta2),
        .step = (float)(step->lr / (1 - pow(o->beta1, t))),
        .root = (float)(1 / sqrt(1 - pow(o->beta2, t))),
        .eps = (float)o->eps,
    };
}

static void update(const lli_descent *d, int64_t first, int64_t count, const float *gradient, double decay) {
    float *m = d->slots + first;
    d->model->kernels->adam(d->theta + first, m, m + d->model->floats, gradient, &d->with.adam, (float)decay, count);
}

const lli_rule lli_rule_adam = {.name = "adam", .slots = 2, .lr = 1e-3, .prepare = prepare, .update = update};
