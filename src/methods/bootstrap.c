/* SPDX-License-Identifier: MIT */
/* Each member: N rows drawn with replacement, then `epochs` of SGD on them from theta*. Paper 4.3, docs/math/bootstrap.md */
#include "methods/chains.h"

static int64_t steps(const lli_fit *fit) {
    const ll_fit_options *o = &fit->options;
    return o->samples * o->epochs * lli_chain_epoch_steps(fit->data->rows.N, o->batch_size);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_train(ctx, fit, task, &options, fit->star->theta, fit->options.epochs, worker);
}

const lli_method lli_method_bootstrap = {
    .info = {"bootstrap", "members trained on resamples of the rows", 10, 10},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(epochs), 0},
    .places = LLI_PLACES_ALL,
    .needs = LLI_NEEDS_RESAMPLE,
    .simplicity = 40,
    .members = LLI_MEMBERS_STORED,
    .optimiser = &lli_optimiser_sgd,
    .tasks = lli_method_all,
    .steps = steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
