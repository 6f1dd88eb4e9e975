/* SPDX-License-Identifier: MIT */
/* The point estimate SGD-PE: theta* itself, S = 1. */
#include "methods/method.h"

static int64_t steps(const lli_fit *fit) {
    (void)fit;
    return 1;
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    LLI_TRY(lli_fit_save(ctx, fit, task, fit->star->theta, worker));
    lli_meter_add(ctx, fit->meter, 1);
    return LL_OK;
}

const lli_method lli_method_point = {
    .info = {"point", "theta* itself, the baseline", 1, 0, LLI_GROUP_POINT},
    .reads = (const size_t[]){LLI_READS(prior_precision), 0},
    .places = LLI_PLACES_ALL,
    .simplicity = 70,
    .members = LLI_MEMBERS_STORED,
    .tasks = lli_method_one,
    .steps = steps,
    .run = run,
};
