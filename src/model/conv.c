/* SPDX-License-Identifier: MIT */
/* Convolution 3 x 3 with zeros around the image, see kernels/conv.h. theta holds the weights in panels of 16 outputs, then the bias;
 * files have [O,I,3,3].
 *
 * Large maps are divided into tasks by images, small ones by panels, so that a task reads few weights or few images repeatedly. The
 * gradient of the weights is divided by input channels, with all images in each task: nothing is added across tasks. */
#include "kernels/conv.h"

#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "kernels/require.h"
#include "model/layers.h"

enum {
    PANEL = LLI_CONV_PANEL,
    TAPS = LLI_CONV_TAPS,
    PIXELS = 4096, /* of a task, about */
    LARGE = 256    /* pixels of a map that is divided by images alone */
};

typedef struct job {
    const lli_run *run;
    const lli_layer *layer;
    lli_conv_shape s; /* of the convolution that runs: backward, from dy to dx */
    float *out;
    const float *x, *dy;
    int64_t images, panels; /* of a task */
} job;

static lli_conv_shape shape_of(const lli_layer *layer) {
    return (lli_conv_shape){layer->in.H, layer->in.W, layer->in.C, layer->units};
}

static int64_t part_panels(const lli_conv_shape *s) {
    return s->H * s->W >= LARGE ? lli_conv_panels(s->out) : 2; /* two: what the widest vectors take at once */
}

static int64_t part_images(const lli_conv_shape *s) {
    return LLI_MAX(1, PIXELS / (s->H * s->W));
}

static int64_t part_channels(const lli_conv_shape *s) {
    return LLI_MIN(s->in, s->in >= 256 ? 32 : 16);
}

static ll_status plan(ll_context *ctx, lli_layer *layer) {
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    layer->conv = kernels->conv;
    lli_conv_shape s = shape_of(layer);
    layer->out = (lli_extent){s.H, s.W, s.out};
    layer->parts = 2;
    layer->part[0] = (lli_part){.count = lli_conv_weights(&s), .role = LLI_ROLE_KERNEL};
    layer->part[1] = (lli_part){.count = s.out, .role = LLI_ROLE_BIAS};
    layer->tensor[0] = (lli_tensor){
        .name = "weight", .rank = 4, .shape = {s.out, s.in, 3, 3}, .count = s.out * s.in * TAPS, .role = LLI_ROLE_KERNEL};
    layer->tensor[1] = (lli_tensor){.name = "bias", .rank = 1, .shape = {s.out}, .count = s.out, .role = LLI_ROLE_BIAS};
    return LL_OK;
}

static float *part_of(const lli_layer *layer, const float *theta, int part) {
    return (float *)theta + layer->part[part].first;
}

static void pack(const lli_layer *layer, float *theta, const float *const *tensors) {
    lli_conv_shape s = shape_of(layer);
    float *kernel = part_of(layer, theta, 0);
    memset(kernel, 0, (size_t)layer->part[0].count * sizeof *kernel);
    for (int64_t k = 0; k < s.out * s.in * TAPS; k++)
        kernel[lli_conv_place(&s, k / (s.in * TAPS), k / TAPS % s.in, k % TAPS)] = tensors[0][k];
    memcpy(part_of(layer, theta, 1), tensors[1], (size_t)s.out * sizeof *theta);
}

static void unpack(const lli_layer *layer, float *const *tensors, const float *theta) {
    lli_conv_shape s = shape_of(layer);
    const float *kernel = part_of(layer, theta, 0);
    for (int64_t k = 0; k < s.out * s.in * TAPS; k++)
        tensors[0][k] = kernel[lli_conv_place(&s, k / (s.in * TAPS), k / TAPS % s.in, k % TAPS)];
    memcpy(tensors[1], part_of(layer, theta, 1), (size_t)s.out * sizeof *theta);
}

/* Glorot: each input meets nine outputs, and the other way round. */
static void start(const lli_layer *layer, float *theta, lli_stream stream) {
    lli_conv_shape s = shape_of(layer);
    float *kernel = part_of(layer, theta, 0), limit = sqrtf(6.0f / (float)(TAPS * (s.in + s.out)));
    for (int64_t k = 0; k < s.out * s.in * TAPS; k++)
        kernel[lli_conv_place(&s, k / (s.in * TAPS), k / TAPS % s.in, k % TAPS)] = lli_layer_uniform(k, limit, stream);
}

static int64_t scratch_floats(const lli_layer *layer, int64_t n) {
    lli_conv_shape s = shape_of(layer), back = {s.H, s.W, s.out, s.in};
    int64_t zeros = LLI_MAX(s.in, s.out), flipped = part_panels(&back) * TAPS * s.out * PANEL;
    int64_t gradient = lli_conv_panels(s.out) * TAPS * part_channels(&s) * PANEL + lli_conv_scratch(&s, n) + s.out;
    return LLI_MAX(zeros + flipped, gradient);
}

static int64_t shared_floats(const lli_layer *layer, int64_t n) {
    lli_conv_shape s = shape_of(layer);
    return lli_conv_turned(&s, n);
}

/* Some images and panels, forward or backward. */
static ll_status convolve_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    const lli_conv_kernels *k = j->layer->conv;
    float *zeros = lli_layer_scratch(j->run, worker), *flipped = zeros + j->s.in;
    int64_t groups = (lli_conv_panels(j->s.out) + j->panels - 1) / j->panels, first = task / groups * j->images,
            q = task % groups * j->panels;
    lli_range images = {first, LLI_MIN(first + j->images, j->run->n)}, panels = {q, LLI_MIN(q + j->panels, lli_conv_panels(j->s.out))};
    const float *weights = part_of(j->layer, j->run->theta, 0), *bias = part_of(j->layer, j->run->theta, 1);
    memset(zeros, 0, (size_t)j->s.in * sizeof *zeros);
    if (j->dy) {
        lli_conv_shape s = shape_of(j->layer);
        k->flip(flipped, weights, &s, panels);
        k->forward(j->out, j->dy, flipped, NULL, false, zeros, &j->s, images, panels);
    } else
        k->forward(j->out, j->x, weights + q * TAPS * j->s.in * PANEL, bias, j->layer->fused, zeros, &j->s, images, panels);
    return LL_OK;
}

static ll_status convolve(job *j) {
    j->images = part_images(&j->s);
    j->panels = part_panels(&j->s);
    int64_t groups = (lli_conv_panels(j->s.out) + j->panels - 1) / j->panels, blocks = (j->run->n + j->images - 1) / j->images;
    return lli_pool_run(j->run->ctx, convolve_task, j, groups * blocks);
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    (void)keep;
    job j = {.run = run, .layer = layer, .s = shape_of(layer), .out = y, .x = x};
    return convolve(&j);
}

/* A chunk of dy for the gradient of the weights. */
static ll_status turn_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx, (void)worker;
    const job *j = arg;
    j->layer->conv->turn(j->run->shared, j->dy, &j->s, j->run->n, (lli_range){task, task + 1});
    return LL_OK;
}

/* The gradient of the weights of some input channels; the first task has the bias. */
static ll_status weights_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    int64_t most = part_channels(&j->s), panels = lli_conv_panels(j->s.out);
    lli_range channels = {task * most, LLI_MIN((task + 1) * most, j->s.in)};
    int64_t range = channels.end - channels.first;
    float *scratch = lli_layer_scratch(j->run, worker), *dw = scratch + lli_conv_scratch(&j->s, j->run->n),
          *db = dw + panels * TAPS * most * PANEL;
    j->layer->conv->weights(dw, task == 0 ? db : NULL, scratch, j->x, j->dy, j->run->shared, &j->s, j->run->n, channels);
    for (int64_t p = 0; p < panels * TAPS; p++)
        lli_layer_apply(j->run, j->layer, 0, (p * j->s.in + channels.first) * PANEL, range * PANEL, dw + p * range * PANEL);
    if (task == 0)
        lli_layer_apply(j->run, j->layer, 1, 0, j->s.out, db);
    return LL_OK;
}

static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)y;
    (void)keep;
    lli_conv_shape s = shape_of(layer);
    if (dx) {
        job back = {.run = run, .layer = layer, .s = {s.H, s.W, s.out, s.in}, .out = dx, .dy = dy};
        LLI_TRY(convolve(&back));
    }
    job j = {.run = run, .layer = layer, .s = s, .x = x, .dy = dy};
    int64_t most = part_channels(&s), chunk = lli_conv_chunk(&s);
    if (lli_conv_turns(&s))
        LLI_TRY(lli_pool_run(run->ctx, turn_task, &j, (run->n + chunk - 1) / chunk));
    return lli_pool_run(run->ctx, weights_task, &j, (s.in + most - 1) / most);
}

const lli_layer_kind lli_layer_conv = {
    .name = "conv",
    .fuses = true,
    .plan = plan,
    .start = start,
    .pack = pack,
    .unpack = unpack,
    .scratch_floats = scratch_floats,
    .shared_floats = shared_floats,
    .forward = forward,
    .backward = backward,
};
