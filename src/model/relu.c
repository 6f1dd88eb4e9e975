/* SPDX-License-Identifier: MIT */
/* y = max(x, 0), dx = dy where y > 0. In place: y > 0 is all that backward asks of y, and a dropout behind it that sets y to 0 sets dy to 0
 * as well. A NaN stays one. */
#include "base/pool.h"
#include "model/layers.h"

enum { PIECE = 1 << 16 }; /* elements of a task */

typedef struct job {
    float *out;
    const float *y;
    int64_t count;
} job;

static ll_status plan(ll_context *ctx, lli_layer *layer) {
    (void)ctx;
    layer->out = layer->in;
    return LL_OK;
}

static ll_status rectify(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    for (int64_t i = task * PIECE, end = LLI_MIN(j->count, i + PIECE); i < end; i++)
        j->out[i] = j->out[i] < 0 ? 0 : j->out[i];
    return LL_OK;
}

static ll_status gate(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    for (int64_t i = task * PIECE, end = LLI_MIN(j->count, i + PIECE); i < end; i++)
        j->out[i] = j->y[i] > 0 ? j->out[i] : 0;
    return LL_OK;
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    (void)x;
    (void)keep;
    if (layer->fused)
        return LL_OK;
    job j = {y, NULL, run->n * lli_extent_units(layer->out)};
    return lli_pool_run(run->ctx, rectify, &j, (j.count + PIECE - 1) / PIECE);
}

static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)dy;
    (void)x;
    (void)keep;
    if (layer->gated)
        return LL_OK;
    job j = {dx, y, run->n * lli_extent_units(layer->out)};
    return lli_pool_run(run->ctx, gate, &j, (j.count + PIECE - 1) / PIECE);
}

const lli_layer_kind lli_layer_relu = {.name = "relu", .in_place = true, .plan = plan, .forward = forward, .backward = backward};
