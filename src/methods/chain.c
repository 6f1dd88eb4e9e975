/* SPDX-License-Identifier: MIT */
/* What sgd and sgld share: one chain, a sample every `thin` steps after the burn-in. */
#include "methods/method.h"

int64_t lli_method_one(const ll_fit_options *options) {
    (void)options;
    return 1;
}

int64_t lli_method_all(const ll_fit_options *options) {
    return options->samples;
}

/* The number of steps after which sample i is taken. */
static int64_t sample_step(const lli_fit *fit, int64_t i) {
    const ll_fit_options *o = &fit->options;
    return o->burn_in * lli_chain_epoch_steps(fit->data->rows.N, o->batch_size) + (i + 1) * o->thin;
}

int64_t lli_method_chain_steps(const lli_fit *fit) {
    return sample_step(fit, fit->options.samples - 1);
}

/* A restored chain goes on only if every sample it has passed is whole in the store. */
static bool samples_kept(const lli_fit *fit, int64_t step) {
    for (int64_t i = 0; i < fit->options.samples && sample_step(fit, i) < step; i++)
        if (!lli_store_has(fit->store, i))
            return false;
    return true;
}

ll_status lli_method_run_chain(ll_context *ctx, lli_fit *fit, bool noise, int worker) {
    lli_chain *chain = fit->chains[worker];
    lli_chain_options options = lli_fit_chain_options(fit, 0);
    options.noise = noise;
    lli_chain_start(chain, &options, fit->origin->theta);
    LLI_TRY(lli_fit_restore(ctx, fit, 0, chain));
    if (!samples_kept(fit, chain->state.step))
        lli_chain_start(chain, &options, fit->origin->theta);
    for (int64_t i = 0; i < fit->options.samples; i++) {
        if (chain->state.step > sample_step(fit, i))
            continue; /* restored past this sample: it is in the store */
        LLI_TRY(lli_chain_run(ctx, chain, sample_step(fit, i)));
        LLI_TRY(lli_fit_save(ctx, fit, i, chain->theta, worker));
        LLI_TRY(lli_fit_checkpoint(ctx, fit, 0, chain));
    }
    return LL_OK;
}
