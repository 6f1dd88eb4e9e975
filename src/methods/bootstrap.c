/* SPDX-License-Identifier: MIT */
/* Each member: N rows drawn with replacement, then `epochs` of SGD on them from theta*. Paper 4.3, docs/math/bootstrap.md */
#include "methods/method.h"

static int64_t steps(const lli_fit *fit) {
    const ll_fit_options *o = &fit->options;
    return o->samples * o->epochs * lli_chain_epoch_steps(fit->data->rows.N, o->batch_size);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    lli_chain_options options = lli_fit_chain_options(fit, task);
    options.resampled = true;
    return lli_fit_train(ctx, fit, task, &options, fit->origin->theta, fit->options.epochs, worker);
}

const lli_method lli_method_bootstrap = {
    .info = {"bootstrap", "members trained on resamples of the rows", 10, 10},
    .uses = " samples lr batch-size epochs prior-precision seed lr-t0 lr-power shuffle ",
    .stored = lli_method_all,
    .tasks = lli_method_all,
    .steps = steps,
    .run = run,
};
