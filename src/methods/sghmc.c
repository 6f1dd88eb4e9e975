/* SPDX-License-Identifier: MIT */
/* Stochastic gradient Hamiltonian Monte Carlo: steps with a velocity, friction, and the noise that belongs to it. docs/math/samplers.md */
#include "methods/chains.h"

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_sample(ctx, fit, &options, task, worker);
}

const lli_method lli_method_sghmc = {
    .info = {"sghmc", "Langevin steps with a velocity (stochastic gradient HMC)", 100, 0, LLI_GROUP_SAMPLERS},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(thin), LLI_READS(burn_in), LLI_READS(chains), LLI_READS(control_variates), 0},
    .places = LLI_PLACES_ALL,
    .needs = LLI_NEEDS_NAMING,
    .simplicity = 8,
    .members = LLI_MEMBERS_STORED,
    .lr_factor = 0.1, /* the friction: then theta diffuses as fast as with sgld */
    .optimiser = &lli_optimiser_sghmc,
    .tasks = lli_method_chains,
    .steps = lli_chains_sample_steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
