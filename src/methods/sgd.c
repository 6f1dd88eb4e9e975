/* SPDX-License-Identifier: MIT */
/* Snapshots of stochastic gradient descent with a constant or decreasing learning rate. Paper 4.1, docs/math/sgld.md */
#include "methods/chains.h"

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_sample(ctx, fit, &options, task, worker);
}

const lli_method lli_method_sgd = {
    .info = {"sgd", "snapshots of stochastic gradient descent", 100, 0, LLI_GROUP_SAMPLERS},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(thin), LLI_READS(burn_in), LLI_READS(chains), 0},
    .places = LLI_PLACES_ALL,
    .simplicity = 30,
    .members = LLI_MEMBERS_STORED,
    .optimiser = &lli_optimiser_sgd,
    .tasks = lli_method_chains,
    .steps = lli_chains_sample_steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
