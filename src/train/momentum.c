/* SPDX-License-Identifier: MIT */
/* SGD with momentum: heavy ball (Polyak, 1964) or Nesterov's (1983). The velocity is a sum of gradients, so that a change of lr acts at
 * once. */
#include "train/optimiser.h"

static void prepare(lli_descent *d, const lli_step *step) {
    d->with.momentum = (lli_momentum){
        .momentum = (float)d->optimiser->momentum, .lr = (float)step->lr, .nesterov = d->optimiser->rule == &lli_rule_nesterov};
}

static void update(const lli_descent *d, int64_t first, int64_t count, const float *gradient, double decay) {
    d->model->kernels->momentum(d->theta + first, d->slots + first, gradient, &d->with.momentum, (float)decay, count);
}

const lli_rule lli_rule_sgd = {.name = "sgd", .slots = 1, .lr = 0.1, .prepare = prepare, .update = update};
const lli_rule lli_rule_nesterov = {.name = "nesterov", .slots = 1, .lr = 0.1, .momentum = 0.9, .prepare = prepare, .update = update};
