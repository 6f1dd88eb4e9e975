/* SPDX-License-Identifier: MIT */
/* sgld whose learning rate falls along a cosine, several times; members come from the last fifth of each cycle. docs/math/samplers.md */
#include "methods/chains.h"

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_sample(ctx, fit, &options, task, worker);
}

const lli_method lli_method_cyclical = {
    .info = {"cyclical", "sgld with a learning rate that falls in cycles, members at the end of each", 100, 0, LLI_GROUP_SAMPLERS},
    .reads = (const size_t[]){LLI_READS(samples), LLI_READS(lr), LLI_READS(batch_size), LLI_READS(prior_precision), LLI_READS(seed),
                              LLI_READS(shuffle), LLI_READS(thin), LLI_READS(chains), 0},
    .places = LLI_PLACES_ALL,
    .needs = LLI_NEEDS_NAMING,
    .simplicity = 4,
    .members = LLI_MEMBERS_STORED,
    .lr_factor = 10, /* of the start of a cycle */
    .cycles = 4,
    .optimiser = &lli_optimiser_sgld,
    .tasks = lli_method_chains,
    .steps = lli_chains_sample_steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
