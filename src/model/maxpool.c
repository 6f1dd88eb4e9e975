/* SPDX-License-Identifier: MIT */
/* Max-pooling 2 x 2, stride 2: y = the largest of four, dx = dy at the first place that holds it. An odd last row or column is left out. */
#include <inttypes.h>

#include "base/pool.h"
#include "kernels/norm.h"
#include "model/layers.h"

enum { PIECE = 1 << 15 }; /* elements of the output in a task, about */

typedef struct job {
    const lli_run *run;
    const lli_layer *layer;
    float *out;
    const float *x, *dy; /* dy: NULL forward */
    int64_t rows, all;   /* of a task, of the output: rows of pixels */
} job;

static ll_status plan(ll_context *ctx, lli_layer *layer) {
    if (layer->in.H < 2 || layer->in.W < 2)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "max-pooling got an image of %" PRId64 " x %" PRId64 "; expected at least 2 x 2, so the images are too small for "
                        "this network (vgg16: 32 x 32)",
                        layer->in.H, layer->in.W);
    layer->out = (lli_extent){layer->in.H / 2, layer->in.W / 2, layer->in.C};
    return LL_OK;
}

static ll_status pool_rows(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    const lli_norm_kernels *k = j->run->kernels->norm;
    lli_extent in = j->layer->in;
    int64_t first = task * j->rows, end = LLI_MIN(j->all, first + j->rows);
    if (j->dy)
        k->pool_back(j->out, j->dy, j->x, in.H, in.W, in.C, first, end);
    else
        k->pool(j->out, j->x, in.H, in.W, in.C, first, end);
    return LL_OK;
}

static ll_status run_job(const lli_run *run, const lli_layer *layer, float *out, const float *x, const float *dy) {
    job j = {run, layer, out, x, dy, .all = run->n * layer->out.H};
    j.rows = LLI_MAX(1, PIECE / (layer->out.W * layer->out.C));
    return lli_pool_run(run->ctx, pool_rows, &j, (j.all + j.rows - 1) / j.rows);
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    (void)keep;
    return run_job(run, layer, y, x, NULL);
}

static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)y;
    (void)keep;
    return dx ? run_job(run, layer, dx, x, dy) : LL_OK;
}

const lli_layer_kind lli_layer_maxpool = {.name = "maxpool", .plan = plan, .forward = forward, .backward = backward};
