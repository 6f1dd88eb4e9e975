/* SPDX-License-Identifier: MIT */
/* Each member: N rows drawn with replacement, then `epochs` of SGD on them from theta*. Paper 4.3, docs/math/bootstrap.md */
#include "methods/method.h"

static int64_t member_steps(const lli_fit *fit) {
    return fit->options.epochs * lli_chain_epoch_steps(fit->data->rows.N, fit->options.batch_size);
}

static int64_t tasks(const lli_fit *fit) {
    return fit->options.samples;
}

static int64_t steps(const lli_fit *fit) {
    return tasks(fit) * member_steps(fit);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    if (lli_store_has(fit->store, task)) {
        lli_meter_add(ctx, fit->meter, member_steps(fit));
        return LL_OK;
    }
    lli_chain *chain = fit->chains[worker];
    lli_chain_options options = lli_fit_chain_options(fit, task);
    options.resampled = true;
    lli_chain_start(chain, &options, fit->start);
    LLI_TRY(lli_chain_run(ctx, chain, member_steps(fit)));
    return lli_fit_save(ctx, fit, task, chain->theta, worker);
}

const lli_method lli_method_bootstrap = {
    .info = {"bootstrap", "members trained on resamples of the rows", 10, 10},
    .uses = " samples lr batch-size epochs prior-precision seed lr-t0 lr-power shuffle ",
    .stored = lli_method_stored_all,
    .tasks = tasks,
    .steps = steps,
    .run = run,
};
