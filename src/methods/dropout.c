/* SPDX-License-Identifier: MIT */
/* MC-Dropout: SGD with dropout; one parameter vector is kept, S masked passes make the members at prediction.
 * Paper 4.2, docs/math/dropout.md */
#include <string.h>

#include "methods/method.h"

static int64_t steps(const lli_fit *fit) {
    return fit->options.epochs * lli_chain_epoch_steps(fit->data->rows.N, fit->options.batch_size);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    lli_chain_options options = lli_fit_chain_options(fit, 0);
    options.drop16 = lli_fit_drop16(fit->options.dropout);
    options.drop_own = strcmp(fit->options.dropout_at, "own") == 0;
    return lli_fit_train(ctx, fit, task, &options, fit->origin->theta, fit->options.epochs, worker);
}

const lli_method lli_method_dropout = {
    .info = {"dropout", "MC-Dropout: one training, S masked passes", 100, 100},
    .uses = " samples lr batch-size epochs dropout dropout-at prior-precision seed lr-t0 lr-power shuffle ",
    .stored = lli_method_one,
    .tasks = lli_method_one,
    .steps = steps,
    .run = run,
};
