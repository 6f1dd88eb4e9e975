/* SPDX-License-Identifier: MIT */
/* Batch norm over the pixels of the batch, a mean and a variance per channel: y = g (x - mean) / sqrt(var + eps) + b. Training takes the
 * statistics of the batch and moves the running ones, inference takes those. docs/math/network.md
 *
 * theta holds g, b, mean and variance one after the other. Each pass over the rows is cut into slices by shape, and their f64 sums are
 * added in order. If this layer also does the backward of the ReLU before it, dx is 0 where x is: that pass reads x anyway. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "kernels/norm.h"
#include "model/layers.h"

static const double epsilon = 1e-3, momentum = 0.99;

enum { SCALE, SHIFT, MEAN, VARIANCE, PARTS };

typedef struct job {
    const lli_run *run;
    const lli_layer *layer;
    float *out; /* y or dx */
    const float *x, *dy;
    int64_t rows, all; /* of a slice, in all */
    int64_t slices;
    double *sums;     /* [slices,2,C] */
    const float *row; /* [2,C] scale and shift, or [3,C] of backward */
} job;

static ll_status plan(ll_context *ctx, lli_layer *layer) {
    (void)ctx;
    static const char *const name[PARTS] = {"weight", "bias", "running_mean", "running_var"};
    layer->out = layer->in;
    layer->parts = PARTS;
    for (int p = 0; p < PARTS; p++) {
        lli_role role = p < MEAN ? LLI_ROLE_NORM : LLI_ROLE_STATISTIC;
        layer->part[p] = (lli_part){.count = layer->in.C, .role = role};
        layer->tensor[p] = (lli_tensor){.name = name[p], .rank = 1, .shape = {layer->in.C}, .count = layer->in.C, .role = role};
    }
    return LL_OK;
}

static float *part_of(const lli_layer *layer, const float *theta, int part) {
    return (float *)theta + layer->part[part].first;
}

static void pack(const lli_layer *layer, float *theta, const float *const *tensors) {
    for (int p = 0; p < PARTS; p++)
        memcpy(part_of(layer, theta, p), tensors[p], (size_t)layer->in.C * sizeof *theta);
}

static void unpack(const lli_layer *layer, float *const *tensors, const float *theta) {
    for (int p = 0; p < PARTS; p++)
        memcpy(tensors[p], part_of(layer, theta, p), (size_t)layer->in.C * sizeof *theta);
}

static void start(const lli_layer *layer, float *theta, lli_stream stream) {
    (void)stream;
    for (int64_t c = 0; c < layer->in.C; c++) {
        part_of(layer, theta, SCALE)[c] = part_of(layer, theta, VARIANCE)[c] = 1;
        part_of(layer, theta, SHIFT)[c] = part_of(layer, theta, MEAN)[c] = 0;
    }
}

static job job_of(const lli_run *run, const lli_layer *layer, float *out, const float *x, const float *dy) {
    job j = {.run = run, .layer = layer, .out = out, .x = x, .dy = dy, .rows = lli_norm_rows(layer->in.C)};
    j.all = run->n * layer->in.H * layer->in.W;
    j.slices = (j.all + j.rows - 1) / j.rows;
    return j;
}

/* keep: mean and 1 / sqrt(var + eps) of the batch, [2,C] f64, then the sums of the slices, then coefficients [3,C] f32. */
static int64_t keep_floats(const lli_layer *layer, int64_t n) {
    int64_t C = layer->in.C, rows = lli_norm_rows(C), slices = (n * layer->in.H * layer->in.W + rows - 1) / rows;
    return 4 * C + 4 * C * slices + 3 * C;
}

static int64_t scratch_floats(const lli_layer *layer, int64_t n) {
    (void)n;
    return 2 * layer->in.C;
}

static ll_status sum_slice(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    const lli_norm_kernels *k = j->run->kernels->norm;
    int64_t C = j->layer->in.C, first = task * j->rows, rows = LLI_MIN(j->rows, j->all - first);
    double *sums = j->sums + task * 2 * C;
    if (j->dy)
        k->back_sums(sums, j->dy + first * C, j->x + first * C, rows, C);
    else
        k->sums(sums, j->x + first * C, rows, C);
    return LL_OK;
}

static ll_status apply_slice(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    const lli_norm_kernels *k = j->run->kernels->norm;
    int64_t C = j->layer->in.C, first = task * j->rows, rows = LLI_MIN(j->rows, j->all - first);
    if (j->dy)
        k->back(j->out + first * C, j->dy + first * C, j->x + first * C, j->row, j->layer->gated, rows, C);
    else
        k->apply(j->out + first * C, j->x + first * C, j->row, j->row + C, rows, C);
    return LL_OK;
}

/* The sums of all slices, in the place of the first. */
static ll_status sum_all(job *j) {
    int64_t C = j->layer->in.C;
    LLI_TRY(lli_pool_run(j->run->ctx, sum_slice, j, j->slices));
    for (int64_t s = 1; s < j->slices; s++)
        for (int64_t c = 0; c < 2 * C; c++)
            j->sums[c] += j->sums[s * 2 * C + c];
    return LL_OK;
}

static ll_status infer(const lli_run *run, const lli_layer *layer, float *y, const float *x) {
    float *row = lli_layer_scratch(run, 0);
    int64_t C = layer->in.C;
    for (int64_t c = 0; c < C; c++) {
        double scale = (double)part_of(layer, run->theta, SCALE)[c] / sqrt((double)part_of(layer, run->theta, VARIANCE)[c] + epsilon);
        row[c] = (float)scale;
        row[C + c] = (float)((double)part_of(layer, run->theta, SHIFT)[c] - scale * (double)part_of(layer, run->theta, MEAN)[c]);
    }
    job j = job_of(run, layer, y, x, NULL);
    j.row = row;
    return lli_pool_run(run->ctx, apply_slice, &j, j.slices);
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    if (!run->step)
        return infer(run, layer, y, x);
    int64_t C = layer->in.C;
    job j = job_of(run, layer, y, x, NULL);
    double *mean = (double *)(void *)keep, *inverse = mean + C;
    j.sums = mean + 2 * C;
    float *row = (float *)(j.sums + j.slices * 2 * C), *theta = run->theta;
    LLI_TRY(sum_all(&j));
    for (int64_t c = 0; c < C; c++) {
        mean[c] = j.sums[c] / (double)j.all;
        double variance = fmax(0, j.sums[C + c] / (double)j.all - mean[c] * mean[c]), scale;
        inverse[c] = 1 / sqrt(variance + epsilon);
        scale = (double)part_of(layer, theta, SCALE)[c] * inverse[c];
        row[c] = (float)scale;
        row[C + c] = (float)((double)part_of(layer, theta, SHIFT)[c] - scale * mean[c]);
        float *moved[2] = {part_of(layer, theta, MEAN) + c, part_of(layer, theta, VARIANCE) + c};
        *moved[0] = (float)(momentum * (double)*moved[0] + (1 - momentum) * mean[c]);
        *moved[1] = (float)(momentum * (double)*moved[1] + (1 - momentum) * variance);
    }
    j.row = row;
    return lli_pool_run(run->ctx, apply_slice, &j, j.slices);
}

/* With xhat = (x - mean) / s, s = sqrt(var + eps), over m rows:
 *     dg = sum dy xhat,  db = sum dy,  dx = g / s (dy - db / m - xhat dg / m) = a dy + b x + c. */
static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)y;
    int64_t C = layer->in.C;
    job j = job_of(run, layer, dx, x, dy);
    const double *mean = (const double *)(void *)keep, *inverse = mean + C;
    j.sums = (double *)(void *)keep + 2 * C;
    float *row = (float *)(j.sums + j.slices * 2 * C);
    LLI_TRY(sum_all(&j));
    for (int64_t c = 0; c < C; c++) {
        double db = j.sums[c], dg = (j.sums[C + c] - mean[c] * db) * inverse[c], m = (double)j.all;
        double a = (double)part_of(layer, run->theta, SCALE)[c] * inverse[c], b = -a * inverse[c] * dg / m;
        row[c] = (float)a;
        row[C + c] = (float)b;
        row[2 * C + c] = (float)(-a * db / m - b * mean[c]);
        j.sums[c] = db;
        j.sums[C + c] = dg;
    }
    j.row = row;
    if (dx)
        LLI_TRY(lli_pool_run(run->ctx, apply_slice, &j, j.slices));
    for (int p = SCALE; p <= SHIFT; p++) {
        for (int64_t c = 0; c < C; c++)
            row[c] = (float)j.sums[(p == SCALE ? C : 0) + c];
        lli_layer_apply(run, layer, p, 0, C, row);
    }
    return LL_OK;
}

const lli_layer_kind lli_layer_batchnorm = {
    .name = "batchnorm",
    .gates = true,
    .plan = plan,
    .start = start,
    .pack = pack,
    .unpack = unpack,
    .keep_floats = keep_floats,
    .scratch_floats = scratch_floats,
    .forward = forward,
    .backward = backward,
};
