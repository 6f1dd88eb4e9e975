/* SPDX-License-Identifier: MIT */
/* MC-Dropout: SGD with dropout on the features; one parameter vector is kept, S masked passes make the members at prediction.
 * Paper 4.2, docs/math/dropout.md */
#include "methods/method.h"

static int64_t stored(const ll_fit_options *options) {
    (void)options;
    return 1;
}

static int64_t epoch_steps(const lli_fit *fit) {
    return lli_chain_epoch_steps(fit->data->rows.N, fit->options.batch_size);
}

static int64_t steps(const lli_fit *fit) {
    return fit->options.epochs * epoch_steps(fit);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    lli_chain *chain = fit->chains[worker];
    lli_chain_options options = lli_fit_chain_options(fit, 0);
    options.drop16 = lli_fit_drop16(fit->options.dropout);
    lli_chain_start(chain, &options, fit->start);
    LLI_TRY(lli_fit_restore(ctx, fit, chain));
    while (chain->state.step < steps(fit)) {
        LLI_TRY(lli_chain_run(ctx, chain, (chain->state.step / epoch_steps(fit) + 1) * epoch_steps(fit)));
        LLI_TRY(lli_fit_checkpoint(ctx, fit, chain));
    }
    return lli_fit_save(ctx, fit, task, chain->theta, worker);
}

const lli_method lli_method_dropout = {
    .info = {"dropout", "MC-Dropout: one training, S masked passes", 100, 100},
    .uses = " samples lr batch-size epochs dropout prior-precision seed lr-t0 lr-power shuffle ",
    .stored = stored,
    .tasks = lli_method_one,
    .steps = steps,
    .run = run,
};
