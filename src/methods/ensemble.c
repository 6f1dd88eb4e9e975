/* SPDX-License-Identifier: MIT */
/* Deep ensembles: networks trained independently, each from a start of its own, by the recipe that trained theta*.
 * docs/math/whole-networks.md */
#include "methods/method.h"

static int64_t steps(const lli_fit *fit) {
    const lli_recipe *recipe = fit->origin->recipe;
    return fit->options.samples * recipe->options.epochs * recipe->steps;
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_recipe *recipe = fit->origin->recipe;
    lli_chain_options options = recipe->chain;
    options.seed = fit->options.seed;
    options.member = task;
    lli_fit_set_shuffle(&options, fit->options.shuffle);
    float *start = fit->room[worker];
    lli_network_start(fit->origin->network, start, options.seed, task);
    return lli_fit_train(ctx, fit, task, &options, start, recipe->options.epochs, worker);
}

const lli_method lli_method_ensemble = {
    .info = {"ensemble", "networks trained independently", 10, 0},
    .uses = " samples seed shuffle ",
    .networks_only = true,
    .stored = lli_method_all,
    .tasks = lli_method_all,
    .steps = steps,
    .run = run,
};

bool lli_method_optimises(const lli_method *method) {
    return method == &lli_method_ensemble;
}
