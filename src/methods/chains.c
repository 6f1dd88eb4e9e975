/* SPDX-License-Identifier: MIT */
/* Makes chains and runs them so that a killed run can continue: each task first restores its checkpoint, and writes new ones as it runs. */
#include "methods/chains.h"

#include <math.h>

#include "base/memory.h"
#include "data/padded.h"

static const lli_optimiser *optimiser_of(const lli_fit *fit) {
    return fit->method->needs & LLI_NEEDS_RECIPE ? &fit->star->recipe->optimiser : fit->method->optimiser;
}

static ll_status make_chain(ll_context *ctx, const lli_fit *fit, lli_chain **out, const float *padded) {
    const lli_theta_star *star = fit->star;
    int64_t B = fit->method->needs & LLI_NEEDS_RECIPE ? star->recipe->options.batch_size : fit->options.batch_size;
    LLI_TRY(lli_chain_new(out, ctx, star->model, fit->data, optimiser_of(fit)->rule, B, lli_fit_block_rows(fit->options.shuffle),
                          fit->method->needs & LLI_NEEDS_RESAMPLE));
    lli_chain *chain = *out;
    chain->meter = fit->meter;
    chain->rows.padded = padded;
    if (star->network)
        lli_ensemble_apply_input(&chain->rows, &star->input, star->scaling);
    chain->rows.augment = star->augment;
    chain->rows.augment_options = star->augment_options;
    return LL_OK;
}

/* Batches add noise that the metric does not know: with g its share, the variance is 1 + lr N / (2 B) times too large. */
static void doubt_batches(ll_context *ctx, const lli_fit *fit) {
    const ll_fit_options *o = &fit->options;
    double N = (double)fit->data->rows.N, B = fmin((double)o->batch_size, N);
    if (B < N && o->lr > 0.2 * B / N)
        lli_log(
            ctx, LL_LOG_WARNING,
            "steps of `lr %g` with `precondition %s` and plain batches make the variance of the members about %.3g times too large by the "
            "noise of batches of %g of %g rows, and %.3g times by their length; use `control-variates on`, or an lr of at most %.2g",
            o->lr, o->precondition, 1 + o->lr * N / (2 * B), B, N, 1 / (1 - fmin(o->lr, 1.99) / 2), 0.2 * B / N);
}

ll_status lli_chains_prepare(ll_context *ctx, lli_fit *fit) {
    lli_chains *chains;
    LLI_TRY(lli_memory_new(ctx, &chains, 1, sizeof *chains));
    fit->prepared = chains;
    LLI_TRY(lli_memory_new(ctx, &chains->chain, fit->workers, sizeof *chains->chain));
    if (fit->star->model->padded && !fit->data->rows.store && !lli_fit_block_rows(fit->options.shuffle))
        LLI_TRY(lli_padded_new(ctx, &chains->padded, &fit->data->rows));
    bool control = lli_fit_controls(&fit->options), metric = lli_fit_preconditions(&fit->options);
    if (metric && !control)
        doubt_batches(ctx, fit);
    if (control || metric)
        LLI_TRY(lli_around_init(ctx, &chains->around, fit->data, fit->star->model, fit->star->theta, fit->options.prior_precision, control,
                                metric));
    for (int w = 0; w < fit->workers; w++) {
        LLI_TRY(make_chain(ctx, fit, &chains->chain[w], chains->padded));
        if (control || metric)
            LLI_TRY(lli_chain_surround(ctx, chains->chain[w], &chains->around, fit->options.batch_size));
    }
    return LL_OK;
}

void lli_chains_release(lli_fit *fit) {
    lli_chains *chains = fit->prepared;
    if (!chains)
        return;
    for (int w = 0; chains->chain && w < fit->workers; w++)
        lli_chain_free(chains->chain[w]);
    lli_memory_free(chains->chain);
    lli_memory_free(chains->padded);
    lli_around_release(&chains->around);
    lli_memory_free(chains);
}

static int64_t chain_samples(const lli_fit *fit) {
    return fit->options.samples / fit->options.chains;
}

/* Of one cycle, with its share of the members rounded up. */
static int64_t cycle_samples(const lli_fit *fit) {
    return (chain_samples(fit) - 1) / fit->method->cycles + 1;
}

static int64_t cycle_steps(const lli_fit *fit) {
    return LLI_CHAINS_CYCLE * cycle_samples(fit) * fit->options.thin;
}

lli_chain_options lli_chains_options(const lli_fit *fit, int64_t member) {
    const ll_fit_options *o = &fit->options;
    lli_chain_options options = {
        .optimiser = optimiser_of(fit),
        .lr = o->lr,
        .lr_t0 = o->lr_t0,
        .lr_power = o->lr_power,
        .batch_size = o->batch_size,
        .prior_precision = o->prior_precision,
        .seed = o->seed,
        .member = member,
        .resampled = fit->method->needs & LLI_NEEDS_RESAMPLE,
    };
    lli_fit_set_shuffle(&options, o->shuffle);
    if (fit->method->cycles)
        options.schedule = (lli_schedule){.curve = &lli_schedule_cycles, .every = cycle_steps(fit)};
    return options;
}

ll_status lli_chains_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) {
    const lli_checkpoint state = {chain->state.step, chain->state.first_nll, chain->state.epoch_nll};
    return lli_fit_checkpoint(ctx, fit, task, &state, chain->theta, 1 + chain->slots);
}

ll_status lli_chains_restore(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) {
    if (!fit->store->ops->restore)
        return LL_OK;
    const lli_model *m = chain->model;
    const lli_window here = {1 + chain->slots, m->team ? m->whole : m->floats, m->before, m->floats};
    lli_checkpoint state;
    bool found = false;
    LLI_TRY(fit->store->ops->restore(fit->store, ctx, task, &state, chain->theta, &here, &found));
    if (found) {
        chain->state = (lli_chain_state){state.step, state.first_nll, state.epoch_nll};
        lli_meter_add(ctx, fit->meter, state.step);
    }
    return LL_OK;
}

ll_status lli_chains_train(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain_options *options, const float *start,
                           int64_t epochs, int worker) {
    lli_chain *chain = ((lli_chains *)fit->prepared)->chain[worker];
    int64_t epoch_steps = lli_chain_epoch_steps(fit->data->rows.N, options->batch_size), steps = epochs * epoch_steps;
    if (lli_store_has(fit->store, task)) {
        lli_meter_add(ctx, fit->meter, steps);
        return LL_OK;
    }
    lli_chain_start(chain, options, start);
    LLI_TRY(lli_chains_restore(ctx, fit, task, chain));
    while (chain->state.step < steps) {
        LLI_TRY(lli_chain_run(ctx, chain, (chain->state.step / epoch_steps + 1) * epoch_steps));
        LLI_TRY(lli_chains_checkpoint(ctx, fit, task, chain));
    }
    return lli_fit_save(ctx, fit, task, chain->theta, worker);
}

int64_t lli_chains_sample_step(const lli_fit *fit, int64_t member) {
    const ll_fit_options *o = &fit->options;
    int64_t sample = member % chain_samples(fit), epochs = o->burn_in + (optimiser_of(fit)->rule->rests ? 1 : 0);
    if (fit->method->cycles) {
        int64_t each = cycle_samples(fit), cycle = sample / each;
        return (cycle + 1) * cycle_steps(fit) - (each - 1 - sample % each) * o->thin;
    }
    return epochs * lli_chain_epoch_steps(fit->data->rows.N, o->batch_size) + (sample + 1) * o->thin;
}

int64_t lli_chains_sample_steps(const lli_fit *fit) {
    return fit->options.chains * lli_chains_sample_step(fit, fit->options.samples - 1);
}

/* A restored chain continues only if every sample it has already taken is complete in the store. */
static bool has_samples_before(const lli_fit *fit, int64_t first, int64_t step) {
    for (int64_t i = first; i < first + chain_samples(fit) && lli_chains_sample_step(fit, i) < step; i++)
        if (!lli_store_has(fit->store, i))
            return false;
    return true;
}

ll_status lli_chains_sample(ll_context *ctx, lli_fit *fit, const lli_chain_options *options, int64_t task, int worker) {
    lli_chain *chain = ((lli_chains *)fit->prepared)->chain[worker];
    int64_t first = task * chain_samples(fit);
    lli_chain_start(chain, options, fit->star->theta);
    LLI_TRY(lli_chains_restore(ctx, fit, task, chain));
    if (!has_samples_before(fit, first, chain->state.step)) {
        lli_meter_add(ctx, fit->meter, -chain->state.step); /* these steps are taken again */
        lli_chain_start(chain, options, fit->star->theta);
    }
    for (int64_t i = first; i < first + chain_samples(fit); i++) {
        if (chain->state.step > lli_chains_sample_step(fit, i))
            continue; /* restored past this sample: it is in the store */
        LLI_TRY(lli_chain_run(ctx, chain, lli_chains_sample_step(fit, i)));
        LLI_TRY(lli_fit_save(ctx, fit, i, chain->theta, worker));
        LLI_TRY(lli_chains_checkpoint(ctx, fit, task, chain));
    }
    return LL_OK;
}
