/* SPDX-License-Identifier: MIT */
/* MC-Dropout: SGD with dropout; one parameter vector is kept, S masked passes make the members at prediction.
 * Paper 4.2, docs/math/dropout.md */
#include <string.h>

#include "methods/chains.h"

static int64_t steps(const lli_fit *fit) {
    return fit->options.epochs * lli_chain_epoch_steps(fit->data->rows.N, fit->options.batch_size);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    lli_chain_options options = lli_chains_options(fit, task);
    options.drop16 = lli_fit_drop16(fit->options.dropout);
    options.drop_own = strcmp(fit->options.dropout_at, "own") == 0;
    return lli_chains_train(ctx, fit, task, &options, fit->star->theta, fit->options.epochs, worker);
}

const lli_method lli_method_dropout = {
    .info = {"dropout", "MC-Dropout: one training, S masked passes", 100, 100, LLI_GROUP_ENSEMBLES},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(epochs), LLI_READS(dropout), LLI_READS(dropout_at), LLI_READS(key), 0},
    .places = LLI_PLACES_ALL,
    .simplicity = 10,
    .members = LLI_MEMBERS_MASKS,
    .optimiser = &lli_optimiser_sgd,
    .tasks = lli_method_one,
    .steps = steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run,
};
