/* SPDX-License-Identifier: MIT */
/* What every method needs around it: workspaces, saving, checkpoints, the parallel run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "data/padded.h"
#include "methods/method.h"

int64_t lli_fit_floats(const ll_fit_options *options, const lli_origin *origin) {
    bool optimises = lli_method_optimises(lli_method_find(options->method));
    return (1 + (optimises ? origin->recipe->optimiser.rule->slots : 0)) * origin->model->floats;
}

static ll_status make_chain(ll_context *ctx, lli_fit *fit, int worker) {
    bool optimises = lli_method_optimises(fit->method);
    int64_t B = optimises ? fit->origin->recipe->options.batch_size : fit->options.batch_size;
    lli_chain **chain = &fit->chains[worker];
    LLI_TRY(lli_chain_new(chain, ctx, fit->origin->model, fit->data, B, lli_fit_block_rows(fit->options.shuffle),
                          fit->method == &lli_method_bootstrap));
    if (optimises)
        LLI_TRY(lli_chain_add_optimiser(ctx, *chain, fit->origin->recipe->optimiser.rule));
    (*chain)->meter = fit->meter;
    (*chain)->rows.padded = fit->padded;
    if (fit->origin->network)
        lli_input_apply(&(*chain)->rows, &fit->origin->input, fit->origin->scaling);
    (*chain)->rows.augment = fit->origin->augment;
    (*chain)->rows.augment_options = fit->origin->augment_options;
    return LL_OK;
}

ll_status lli_fit_init(ll_context *ctx, lli_fit *fit, const ll_fit_options *options, const lli_origin *origin, const ll_dataset *data,
                       lli_store *store, lli_meter *meter) {
    const lli_model *model = origin->model;
    *fit = (lli_fit){
        .method = lli_method_find(options->method), .options = *options, .origin = origin, .data = data, .store = store, .meter = meter};
    /* One task runs on the first workspace, whoever runs it; several take their worker's. */
    fit->workers = fit->method->tasks(options) > 1 ? lli_pool_workers(ctx) : 1;
    int64_t floats = 0;
    for (int i = 0; i < model->tensors; i++)
        floats += model->tensor[i].count;
    floats = LLI_MAX(floats, model->floats);
    ll_status status;
    if (model->padded && !lli_fit_block_rows(options->shuffle) && fit->method->steps(fit) > 0)
        LLI_DO(lli_padded_new(ctx, &fit->padded, &data->rows));
    LLI_DO(lli_memory_new(ctx, &fit->chains, fit->workers, sizeof *fit->chains));
    LLI_DO(lli_memory_new(ctx, &fit->room, fit->workers, sizeof *fit->room));
    for (int w = 0; w < fit->workers; w++) {
        LLI_DO(make_chain(ctx, fit, w));
        LLI_DO(lli_memory_new(ctx, &fit->room[w], floats, sizeof(float)));
    }
done:
    if (status != LL_OK)
        lli_fit_release(fit);
    return status;
}

void lli_fit_release(lli_fit *fit) {
    for (int w = 0; w < fit->workers; w++) {
        if (fit->chains)
            lli_chain_free(fit->chains[w]);
        if (fit->room)
            lli_memory_free(fit->room[w]);
    }
    lli_memory_free(fit->chains);
    lli_memory_free(fit->padded);
    lli_memory_free(fit->room);
    fit->chains = NULL;
    fit->padded = NULL;
    fit->room = NULL;
}

lli_chain_options lli_fit_chain_options(const lli_fit *fit, int64_t member) {
    const ll_fit_options *o = &fit->options;
    lli_chain_options options = {
        .lr = o->lr,
        .lr_t0 = o->lr_t0,
        .lr_power = o->lr_power,
        .batch_size = o->batch_size,
        .prior_precision = o->prior_precision,
        .seed = o->seed,
        .member = member,
    };
    lli_fit_set_shuffle(&options, o->shuffle);
    return options;
}

ll_status lli_fit_save(ll_context *ctx, lli_fit *fit, int64_t member, const float *theta, int worker) {
    const lli_model *model = fit->origin->model;
    for (int64_t i = 0; i < model->floats; i++)
        if (!isfinite(theta[i]))
            return lli_fail(ctx, LL_ERR_DIVERGED,
                            "training diverged: member %" PRId64 " (lr %g) holds a parameter that is not finite; try a smaller --lr",
                            member, fit->options.lr);
    float *tensors[LLI_TENSORS_MAX];
    tensors[0] = fit->room[worker];
    for (int i = 1; i < model->tensors; i++)
        tensors[i] = tensors[i - 1] + model->tensor[i - 1].count;
    model->ops->unpack(model, tensors, theta);
    return fit->store->ops->save(fit->store, ctx, member, (const float *const *)tensors);
}

ll_status lli_fit_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain *chain) {
    if (!fit->store->ops->checkpoint)
        return LL_OK;
    const lli_checkpoint state = {chain->state.step, chain->state.first_nll, chain->state.epoch_nll};
    return fit->store->ops->checkpoint(fit->store, ctx, task, &state, chain->theta, lli_chain_floats(chain));
}

ll_status lli_fit_restore(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) {
    if (!fit->store->ops->restore)
        return LL_OK;
    lli_checkpoint state;
    bool found = false;
    LLI_TRY(fit->store->ops->restore(fit->store, ctx, task, &state, chain->theta, lli_chain_floats(chain), &found));
    if (found) {
        chain->state = (lli_chain_state){state.step, state.first_nll, state.epoch_nll};
        lli_meter_add(ctx, fit->meter, state.step);
    }
    return LL_OK;
}

ll_status lli_fit_train(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain_options *options, const float *start, int64_t epochs,
                        int worker) {
    lli_chain *chain = fit->chains[worker];
    int64_t epoch_steps = lli_chain_epoch_steps(fit->data->rows.N, options->batch_size), steps = epochs * epoch_steps;
    if (lli_store_has(fit->store, task)) {
        lli_meter_add(ctx, fit->meter, steps);
        return LL_OK;
    }
    lli_chain_start(chain, options, start);
    LLI_TRY(lli_fit_restore(ctx, fit, task, chain));
    while (chain->state.step < steps) {
        LLI_TRY(lli_chain_run(ctx, chain, (chain->state.step / epoch_steps + 1) * epoch_steps));
        LLI_TRY(lli_fit_checkpoint(ctx, fit, task, chain));
    }
    return lli_fit_save(ctx, fit, task, chain->theta, worker);
}

ll_status lli_fit_task(ll_context *ctx, void *fit_, int64_t task, int worker) {
    lli_fit *fit = fit_;
    return fit->method->run(ctx, fit, task, fit->workers > 1 ? worker : 0);
}

ll_status lli_fit_run(ll_context *ctx, lli_fit *fit) {
    return lli_pool_run(ctx, lli_fit_task, fit, fit->method->tasks(&fit->options));
}
