/* SPDX-License-Identifier: MIT */
/* Inverted dropout, in place: y = x m / (1 - p), dx = dy m / (1 - p). The mask is a function of its keys, so backward makes it again and
 * nothing is kept. docs/math/dropout.md has the keys. */
#include "base/pool.h"
#include "model/layers.h"

enum { PIECE = 1 << 15 }; /* elements of a task, at least */

typedef struct job {
    const lli_kernels *kernels;
    float *y;
    lli_mask mask;
    const uint64_t *keys;        /* [n] of rows that have some, else NULL */
    int64_t row, n, units, rows; /* index of the first row, rows, units of a row, rows of a task */
} job;

static ll_status plan(ll_context *ctx, lli_layer *layer) {
    (void)ctx;
    layer->out = layer->in;
    return LL_OK;
}

/* The rate here and now: the network's own in training, or that of MC-Dropout at the places it has. */
static uint32_t rate(const lli_run *run, const lli_layer *layer) {
    if (!run->step && !run->pass)
        return 0;
    uint32_t drop16 = run->step ? run->step->drop16 : run->pass->drop16;
    bool own = run->step ? run->step->drop_own : run->pass->own;
    if (run->step && drop16 == 0)
        return layer->drop16;
    return (own ? layer->drop16 > 0 : layer->place) ? drop16 : 0;
}

static ll_status mask_rows(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    int64_t first = task * j->rows;
    float *y = j->y + first * j->units;
    int64_t count = LLI_MIN(j->rows, j->n - first);
    if (!j->keys)
        j->kernels->mask(y, y, &j->mask, j->row + first, count, j->units, j->units);
    for (int64_t i = 0; j->keys && i < count; i++) {
        lli_mask mask = j->mask;
        mask.start = j->keys[first + i];
        j->kernels->mask(y + i * j->units, y + i * j->units, &mask, 0, 1, j->units, j->units);
    }
    return LL_OK;
}

static ll_status apply(const lli_run *run, const lli_layer *layer, float *y) {
    uint32_t drop16 = rate(run, layer);
    if (drop16 == 0)
        return LL_OK;
    job j = {.kernels = run->kernels, .y = y, .n = run->n, .units = lli_extent_units(layer->in)};
    j.rows = (PIECE + j.units - 1) / j.units;
    j.mask = (lli_mask){.layer = layer->mask, .drop16 = drop16};
    if (run->step) {
        j.mask.stream = lli_rng_stream(run->step->seed, LLI_PURPOSE_TRAIN_MASK, run->step->member, run->step->step);
    } else {
        j.mask.stream = lli_rng_stream(run->pass->seed, LLI_PURPOSE_PREDICT_MASK, 0, run->pass->pass);
        j.row = run->pass->row;
        j.keys = run->pass->keys;
    }
    return lli_pool_run(run->ctx, mask_rows, &j, (j.n + j.rows - 1) / j.rows);
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    (void)x;
    (void)keep;
    return apply(run, layer, y);
}

static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)dy;
    (void)x;
    (void)y;
    (void)keep;
    return apply(run, layer, dx);
}

const lli_layer_kind lli_layer_dropout = {.name = "dropout", .in_place = true, .plan = plan, .forward = forward, .backward = backward};
