/* SPDX-License-Identifier: MIT */
/* y = W x + b, with W [out,in]. Three products: y = x W', dx = dy W, dW = dy' x, each cut into tiles of its result.
 *
 * theta holds W in panels of 16 outputs, [panel][in][16], then b; all three products read or write it as it lies. What lies beyond the last
 * output means nothing. A piece of dW, some inputs of one panel, goes to the update while it is in the cache. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "model/layers.h"

enum {
    PANEL = LLI_GEMM_PANEL,
    ROWS = 96,             /* of the batch in a task, at most */
    PIECE = 192,           /* inputs in a piece of the gradient, at most */
    TASK_WORK = 1 << 21    /* multiply-adds of a task, about */
};

/* How a product is cut: `across` tasks of `width` columns (or panels) for each block of rows. */
typedef struct job {
    const lli_run *run;
    const lli_layer *layer;
    float *out;         /* y or dx */
    const float *x, *g; /* x, dy */
    int64_t in, panels, width, across;
} job;

static int64_t panels_of(int64_t units) {
    return (units + PANEL - 1) / PANEL;
}

static ll_status plan(ll_context *ctx, lli_layer *layer) {
    (void)ctx;
    int64_t in = lli_extent_units(layer->in), out = layer->units, panels = panels_of(out);
    layer->out = (lli_extent){1, 1, out};
    layer->parts = 2;
    layer->part[0] = (lli_part){.count = panels * in * PANEL, .role = LLI_ROLE_KERNEL};
    layer->part[1] = (lli_part){.count = panels * PANEL, .role = LLI_ROLE_BIAS};
    layer->tensor[0] = (lli_tensor){.name = "weight", .rank = 2, .shape = {out, in}, .count = out * in, .role = LLI_ROLE_KERNEL};
    layer->tensor[1] = (lli_tensor){.name = "bias", .rank = 1, .shape = {out}, .count = out, .role = LLI_ROLE_BIAS};
    return LL_OK;
}

static float *kernel_of(const lli_layer *layer, const float *theta, int64_t panel) {
    return (float *)theta + layer->part[0].first + panel * lli_extent_units(layer->in) * PANEL;
}

static void pack(const lli_layer *layer, float *theta, const float *const *tensors) {
    int64_t in = lli_extent_units(layer->in), out = layer->units;
    for (int64_t o = 0; o < panels_of(out) * PANEL; o++) {
        float *kernel = kernel_of(layer, theta, o / PANEL) + o % PANEL;
        for (int64_t i = 0; i < in; i++)
            kernel[i * PANEL] = o < out ? tensors[0][o * in + i] : 0;
        theta[layer->part[1].first + o] = o < out ? tensors[1][o] : 0;
    }
}

static void unpack(const lli_layer *layer, float *const *tensors, const float *theta) {
    int64_t in = lli_extent_units(layer->in), out = layer->units;
    for (int64_t o = 0; o < out; o++) {
        const float *kernel = kernel_of(layer, theta, o / PANEL) + o % PANEL;
        for (int64_t i = 0; i < in; i++)
            tensors[0][o * in + i] = kernel[i * PANEL];
        tensors[1][o] = theta[layer->part[1].first + o];
    }
}

/* Element (o,i) of the weight has index o * in + i, wherever it lies. */
static void start(const lli_layer *layer, float *theta, lli_stream stream) {
    int64_t in = lli_extent_units(layer->in), out = layer->units;
    float limit = sqrtf(6.0f / (float)(in + out));
    for (int64_t o = 0; o < out; o++) {
        float *kernel = kernel_of(layer, theta, o / PANEL) + o % PANEL;
        for (int64_t i = 0; i < in; i++)
            kernel[i * PANEL] = lli_layer_uniform(o * in + i, limit, stream);
    }
}

static int64_t scratch_floats(const lli_layer *layer, int64_t n) {
    int64_t in = lli_extent_units(layer->in), across = LLI_MAX(lli_gemm_floats(n, in, layer->units), lli_gemm_floats(in, PANEL, n));
    return LLI_MAX(across, lli_gemm_floats(n, layer->units, in)) + PIECE * PANEL;
}

/* Tasks of at most `width` columns each (or panels), as many as the work is worth. */
static void cut(job *j, int64_t columns, int64_t work_per_column) {
    j->width = LLI_MAX(1, LLI_MIN(columns, TASK_WORK / LLI_MAX(work_per_column, 1)));
    j->across = (columns + j->width - 1) / j->width;
}

static int64_t row_blocks(int64_t n) {
    return (n + ROWS - 1) / ROWS;
}

static ll_status forward_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    int64_t first = task / j->across * ROWS, panel = task % j->across * j->width, out = j->layer->units;
    const lli_gemm product = {
        .m = LLI_MIN(ROWS, j->run->n - first),
        .n = LLI_MIN(j->width * PANEL, out - panel * PANEL),
        .k = j->in,
        .a = {j->x + first * j->in, j->in, 1},
        .b = {.at = kernel_of(j->layer, j->run->theta, panel)},
        .panels = LLI_PANELS_COLUMNS,
        .panel = j->in * PANEL,
        .c = j->out + first * j->layer->ld + panel * PANEL,
        .ldc = j->layer->ld,
        .bias = j->run->theta + j->layer->part[1].first + panel * PANEL,
        .relu = j->layer->fused,
    };
    j->run->kernels->gemm(&product, lli_layer_scratch(j->run, worker));
    return LL_OK;
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    (void)keep;
    job j = {.run = run, .layer = layer, .out = y, .x = x, .in = lli_extent_units(layer->in), .panels = panels_of(layer->units)};
    cut(&j, j.panels, LLI_MIN(run->n, ROWS) * j.in * PANEL);
    return lli_pool_run(run->ctx, forward_task, &j, j.across * row_blocks(run->n));
}

static ll_status input_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    int64_t first = task / j->across * ROWS, column = task % j->across * j->width * PANEL;
    const lli_gemm product = {
        .m = LLI_MIN(ROWS, j->run->n - first),
        .n = LLI_MIN(j->width * PANEL, j->in - column),
        .k = j->layer->units,
        .a = {j->g + first * j->layer->ld, j->layer->ld, 1},
        .b = {.at = kernel_of(j->layer, j->run->theta, 0) + column * PANEL},
        .panels = LLI_PANELS_ROWS,
        .panel = j->in * PANEL,
        .c = j->out + first * j->in + column,
        .ldc = j->in,
    };
    j->run->kernels->gemm(&product, lli_layer_scratch(j->run, worker));
    return LL_OK;
}

/* Some panels of W and their biases. A sum over the batch is a product with ones. */
static ll_status weight_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    static const float one = 1;
    const job *j = arg;
    float *gradient = lli_layer_scratch(j->run, worker), *work = gradient + PIECE * PANEL;
    for (int64_t q = task * j->width; q < LLI_MIN(j->panels, (task + 1) * j->width); q++) {
        lli_gemm product = {
            .n = LLI_MIN(PANEL, j->layer->units - q * PANEL),
            .k = j->run->n,
            .b = {j->g + q * PANEL, j->layer->ld, 1},
            .c = gradient,
            .ldc = PANEL,
        };
        memset(gradient, 0, PIECE * PANEL * sizeof *gradient);
        for (int64_t i = 0; i < j->in; i += PIECE) {
            product.m = LLI_MIN(PIECE, j->in - i);
            product.a = (lli_matrix){j->x + i, 1, j->in};
            j->run->kernels->gemm(&product, work);
            lli_layer_apply(j->run, j->layer, 0, (q * j->in + i) * PANEL, product.m * PANEL, gradient);
        }
        product.m = 1;
        product.a = (lli_matrix){&one, 0, 0};
        j->run->kernels->gemm(&product, work);
        lli_layer_apply(j->run, j->layer, 1, q * PANEL, PANEL, gradient);
    }
    return LL_OK;
}

static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)y;
    (void)keep;
    job j = {.run = run, .layer = layer, .out = dx, .x = x, .g = dy, .in = lli_extent_units(layer->in), .panels = panels_of(layer->units)};
    if (dx) {
        cut(&j, panels_of(j.in), LLI_MIN(run->n, ROWS) * layer->units * PANEL);
        LLI_TRY(lli_pool_run(run->ctx, input_task, &j, j.across * row_blocks(run->n)));
    }
    cut(&j, j.panels, run->n * j.in * PANEL);
    return lli_pool_run(run->ctx, weight_task, &j, j.across);
}

const lli_layer_kind lli_layer_dense = {
    .name = "dense",
    .fuses = true,
    .plan = plan,
    .start = start,
    .pack = pack,
    .unpack = unpack,
    .scratch_floats = scratch_floats,
    .forward = forward,
    .backward = backward,
};
