/* SPDX-License-Identifier: MIT */
/* y = W x + b, with W [out,in]. Three products: y = x W', dx = dy W, dW = dy' x. The left one of each is packed once, then the product
 * is cut into tiles of its result.
 *
 * theta holds W in panels of 16 outputs, [panel][in][16], then b; all three products read or write it in place. Values beyond the last
 * output are unused. A piece of dW, some inputs of one panel, goes to the update while it is in the cache. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "model/layers.h"

enum {
    PANEL = LLI_GEMM_PANEL,
    TILES = 16,          /* of rows of the batch in a task, at most */
    PIECE = 32,          /* tiles of inputs in a piece of the gradient, at most */
    TASK_WORK = 1 << 21, /* multiply-adds of a task, about */
    PACK_WORK = 1 << 16  /* elements that a task packs, about */
};

/* How a product is cut: for each block of tiles, `across` tasks of `width` panels. */
typedef struct job {
    const lli_run *run;
    const lli_layer *layer;
    lli_matrix a;  /* [m,k] */
    float *packed; /* the same */
    int64_t m, k;
    float *out;     /* y or dx */
    const float *g; /* dy */
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
    int64_t product = LLI_MAX(lli_gemm_floats(layer->units), lli_gemm_floats(n));
    return LLI_MAX(product, lli_gemm_floats(lli_extent_units(layer->in))) + PIECE * LLI_GEMM_TILE * PANEL;
}

static int64_t shared_floats(const lli_layer *layer, int64_t n) {
    int64_t in = lli_extent_units(layer->in), backward = LLI_MAX(lli_gemm_packed_floats(in, n), lli_gemm_packed_floats(n, layer->units));
    return LLI_MAX(backward, lli_gemm_packed_floats(n, in));
}

static ll_status pack_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    (void)worker;
    const job *j = arg;
    int64_t tiles = lli_gemm_tiles(j->m);
    j->run->kernels->gemm_pack(j->packed, j->a, j->m, j->k, task * tiles / j->across, (task + 1) * tiles / j->across);
    return LL_OK;
}

static ll_status pack_left(job *j, lli_matrix a, int64_t m, int64_t k) {
    j->a = a;
    j->m = m;
    j->k = k;
    j->packed = j->run->shared;
    j->across = LLI_MAX(1, LLI_MIN(lli_gemm_tiles(m), m * k / PACK_WORK));
    return lli_pool_run(j->run->ctx, pack_task, j, j->across);
}

/* Tasks as wide as the work is worth, over all panels; one row of them for each block of tiles. */
static ll_status run_tasks(job *j, lli_task *task, int64_t panels, int64_t tiles) {
    int64_t rows = LLI_MIN(j->m, tiles * LLI_GEMM_TILE);
    j->width = LLI_MAX(1, LLI_MIN(panels, TASK_WORK / LLI_MAX(rows * j->k * PANEL, 1)));
    j->across = (panels + j->width - 1) / j->width;
    return lli_pool_run(j->run->ctx, task, j, j->across * ((lli_gemm_tiles(j->m) + tiles - 1) / tiles));
}

/* The product of a task but for its right side. */
static lli_gemm product_of(const job *j, int64_t task, int64_t columns, int64_t ldc) {
    int64_t first = task / j->across * TILES, column = task % j->across * j->width * PANEL;
    return (lli_gemm){
        .a = j->packed,
        .m = j->m,
        .n = LLI_MIN(j->width * PANEL, columns - column),
        .k = j->k,
        .first = first,
        .end = LLI_MIN(first + TILES, lli_gemm_tiles(j->m)),
        .panel = j->in * PANEL,
        .c = j->out + lli_gemm_row(j->m, first) * ldc + column,
        .ldc = ldc,
    };
}

static ll_status forward_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    const lli_layer *layer = j->layer;
    lli_gemm product = product_of(j, task, layer->units, layer->ld);
    int64_t panel = task % j->across * j->width;
    product.b = kernel_of(layer, j->run->theta, panel);
    product.panels = LLI_PANELS_COLUMNS;
    product.bias = j->run->theta + layer->part[1].first + panel * PANEL;
    product.relu = layer->fused;
    j->run->kernels->gemm(&product, lli_layer_scratch(j->run, worker));
    return LL_OK;
}

static ll_status forward(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep) {
    (void)keep;
    job j = {.run = run, .layer = layer, .out = y, .in = lli_extent_units(layer->in), .panels = panels_of(layer->units)};
    LLI_TRY(pack_left(&j, (lli_matrix){x, j.in, 1}, run->n, j.in));
    return run_tasks(&j, forward_task, j.panels, TILES);
}

static ll_status input_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    lli_gemm product = product_of(j, task, j->in, j->in);
    product.b = kernel_of(j->layer, j->run->theta, 0) + task % j->across * j->width * PANEL * PANEL;
    product.panels = LLI_PANELS_ROWS;
    j->run->kernels->gemm(&product, lli_layer_scratch(j->run, worker));
    return LL_OK;
}

/* Some panels of W, piece by piece. */
static ll_status weight_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const job *j = arg;
    float *gradient = lli_layer_scratch(j->run, worker), *work = gradient + PIECE * LLI_GEMM_TILE * PANEL;
    int64_t tiles = lli_gemm_tiles(j->m);
    for (int64_t q = task * j->width; q < LLI_MIN(j->panels, (task + 1) * j->width); q++) {
        if (q == j->panels - 1) /* beyond the last output there is no gradient */
            memset(gradient, 0, PIECE * LLI_GEMM_TILE * PANEL * sizeof *gradient);
        for (int64_t first = 0; first < tiles; first += PIECE) {
            const lli_gemm product = {
                .a = j->packed,
                .m = j->m,
                .n = LLI_MIN(PANEL, j->layer->units - q * PANEL),
                .k = j->k,
                .first = first,
                .end = LLI_MIN(first + PIECE, tiles),
                .b = j->g + q * PANEL,
                .row = j->layer->ld,
                .c = gradient,
                .ldc = PANEL,
            };
            j->run->kernels->gemm(&product, work);
            int64_t i = lli_gemm_row(j->m, first), count = lli_gemm_row(j->m, product.end) - i;
            lli_layer_apply(j->run, j->layer, 0, (q * j->in + i) * PANEL, count * PANEL, gradient);
        }
    }
    return LL_OK;
}

static void bias_gradient(const lli_run *run, const lli_layer *layer, const float *g) {
    for (int64_t first = 0; first < layer->units; first += PANEL) {
        float sum[PANEL] = {0};
        for (int64_t i = 0; i < run->n; i++)
            for (int64_t o = 0; o < LLI_MIN(PANEL, layer->units - first); o++)
                sum[o] += g[i * layer->ld + first + o];
        lli_layer_apply(run, layer, 1, first, PANEL, sum);
    }
}

static ll_status backward(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep) {
    (void)y;
    (void)keep;
    job j = {.run = run, .layer = layer, .out = dx, .g = dy, .in = lli_extent_units(layer->in), .panels = panels_of(layer->units)};
    if (dx) {
        LLI_TRY(pack_left(&j, (lli_matrix){dy, layer->ld, 1}, run->n, layer->units));
        LLI_TRY(run_tasks(&j, input_task, panels_of(j.in), TILES));
    }
    bias_gradient(run, layer, dy);
    LLI_TRY(pack_left(&j, (lli_matrix){x, 1, j.in}, j.in, run->n));
    return run_tasks(&j, weight_task, j.panels, lli_gemm_tiles(j.in));
}

const lli_layer_kind lli_layer_dense = {
    .name = "dense",
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
