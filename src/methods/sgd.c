/* SPDX-License-Identifier: MIT */
/* Snapshots of stochastic gradient descent with a constant or decreasing learning rate. Paper 4.1, docs/math/sgld.md */
#include "methods/method.h"

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    (void)task;
    return lli_method_run_chain(ctx, fit, false, worker);
}

const lli_method lli_method_sgd = {
    .info = {"sgd", "snapshots of stochastic gradient descent", 100, 0},
    .uses = " samples lr batch-size prior-precision seed thin burn-in lr-t0 lr-power shuffle ",
    .stored = lli_method_all,
    .tasks = lli_method_one,
    .steps = lli_method_chain_steps,
    .run = run,
};
