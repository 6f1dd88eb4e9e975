/* SPDX-License-Identifier: MIT */
/* Stochastic gradient Langevin dynamics: sgd plus noise of variance 2 lr / N. Paper 4.1, docs/math/sgld.md */
#include "methods/chains.h"

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_sample(ctx, fit, &options, task, worker);
}

/* With decreasing steps, a sample represents a time of the diffusion in proportion to its step. */
static double weight(const lli_fit *fit, int64_t member) {
    const lli_chain_options options = lli_chains_options(fit, 0);
    return options.lr_t0 > 0 ? lli_chain_lr(&options, lli_chains_sample_step(fit, member) - 1) : 1;
}

const lli_method lli_method_sgld = {
    .info = {"sgld", "stochastic gradient Langevin dynamics: sgd with noise added to every step", 100, 0, LLI_GROUP_SAMPLERS},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(thin), LLI_READS(burn_in), LLI_READS(chains), LLI_READS(precondition),
                              LLI_READS(control_variates), 0},
    .places = LLI_PLACES_ALL,
    .simplicity = 20,
    .variants = (const lli_variant[]){{"sgld-kfac", LLI_READS(precondition), "kfac", LLI_PLACE_HEAD, 7}, {0}},
    .members = LLI_MEMBERS_STORED,
    .optimiser = &lli_optimiser_sgld,
    .weight = weight,
    .tasks = lli_method_chains,
    .steps = lli_chains_sample_steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
