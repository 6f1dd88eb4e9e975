/* SPDX-License-Identifier: MIT */
/* Deep ensembles: networks trained independently, each from its own random start, by the recipe that trained theta*.
 * docs/math/whole-networks.md */
#include "methods/chains.h"

static int64_t steps(const lli_fit *fit) {
    const lli_recipe *recipe = fit->star->recipe;
    return fit->options.samples * recipe->options.epochs * recipe->steps;
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_recipe *recipe = fit->star->recipe;
    lli_chain_options options = recipe->chain;
    options.seed = fit->options.seed;
    options.member = task;
    lli_fit_set_shuffle(&options, fit->options.shuffle);
    float *start = fit->scratch[worker];
    lli_network_start(fit->star->network, start, options.seed, task);
    return lli_chains_train(ctx, fit, task, &options, start, recipe->options.epochs, worker);
}

const lli_method lli_method_ensemble = {
    .info = {"ensemble", "networks trained independently", 10, 0, LLI_GROUP_ENSEMBLES},
    .reads = (const size_t[]){LLI_READS(samples), LLI_READS(seed), LLI_READS(shuffle), 0},
    .places = LLI_PLACE_DEEP_HEAD | LLI_PLACE_NETWORK,
    .needs = LLI_NEEDS_RECIPE,
    .members = LLI_MEMBERS_STORED,
    .tasks = lli_method_all,
    .steps = steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
