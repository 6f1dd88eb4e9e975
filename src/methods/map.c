/* SPDX-License-Identifier: MIT */
/* One head, fitted anew: the MAP of the rows as a point, S = 1, wherever theta* comes from. docs/math/map.md */
#include <string.h>

#include "base/memory.h"
#include "methods/method.h"
#include "model/head.h"

static int64_t steps(const lli_fit *fit) {
    (void)fit;
    return 1;
}

static ll_status prepare(ll_context *ctx, lli_fit *fit) {
    const lli_model *model = fit->star->model;
    ll_head *head = NULL;
    float *theta;
    LLI_TRY(lli_memory_new(ctx, &theta, model->floats, sizeof *theta));
    fit->prepared = theta;
    if (fit->star->is_map && fit->star->map_precision == fit->options.prior_precision) {
        memcpy(theta, fit->star->theta, (size_t)model->floats * sizeof *theta);
        return LL_OK;
    }
    LLI_TRY(lli_fit_solve(&head, ctx, fit));
    model->ops->pack(model, theta, (const float *const[]){head->W, head->b});
    ll_head_free(head);
    return LL_OK;
}

static void release(lli_fit *fit) {
    lli_memory_free(fit->prepared);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    LLI_TRY(lli_fit_save(ctx, fit, task, fit->prepared, worker));
    lli_meter_add(ctx, fit->meter, 1);
    return LL_OK;
}

const lli_method lli_method_map = {
    .info = {"map", "one head fitted anew, wherever theta* comes from", 1, 0, LLI_GROUP_POINT},
    .reads = (const size_t[]){LLI_READS(prior_precision), 0},
    .places = LLI_PLACE_HEAD,
    .needs = LLI_NEEDS_OTHER_START,
    .simplicity = 60,
    .members = LLI_MEMBERS_STORED,
    .tasks = lli_method_one,
    .steps = steps,
    .prepare = prepare,
    .release = release,
    .run = run,
};
