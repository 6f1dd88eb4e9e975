/* SPDX-License-Identifier: MIT */
/* Stochastic gradient Langevin dynamics: sgd plus noise of variance 2 lr / N. Paper 4.1, docs/math/sgld.md */
#include "methods/method.h"

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    (void)task;
    return lli_method_run_chain(ctx, fit, true, worker);
}

const lli_method lli_method_sgld = {
    .info = {"sgld", "stochastic gradient Langevin dynamics: sgd plus the right noise", 100, 0},
    .uses = " samples lr batch-size prior-precision seed thin burn-in lr-t0 lr-power shuffle ",
    .stored = lli_method_all,
    .tasks = lli_method_one,
    .steps = lli_method_chain_steps,
    .run = run,
};
