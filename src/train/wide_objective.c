/* SPDX-License-Identifier: MIT */
/* Rows in blocks: their logits of the classes here, then the largest and the sum of all classes, then residuals and gradient. A gradient
 * sums CHUNK rows in f32 and then adds in f64, in row order; workers share the classes. */
#include "train/wide_objective.h"

#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "kernels/wide.h"

enum { CHUNK = 64, BLOCK = 8 * CHUNK, BAND = 64 }; /* rows of a task, rows at a time, classes of a task */

struct lli_wide_objective {
    const lli_kernels *kernels;
    const ll_dataset *data;
    const lli_divided *classes;
    int64_t D, ld, ldk;
    int power;
    float *z, *g;        /* [BLOCK,ld], [BLOCK,ldk] */
    float *top;          /* [BLOCK] */
    int64_t *sums;       /* [2 n + 1] sums of exponentials, the bits of f_y - top, and whether a rank is to stop */
    double *nll;         /* [BLOCK] */
    char *scratch;       /* [workers,chunk_bytes] of rows in files */
    int64_t chunk_bytes; /* of it */
    /* the block under way: */
    const float *theta, *weights;
    double *gradient;
    int64_t first, n;
};

ll_status lli_wide_objective_new(lli_wide_objective **out, ll_context *ctx, const ll_dataset *data, const lli_divided *classes) {
    *out = NULL;
    lli_wide_objective *o;
    LLI_TRY(lli_memory_new(ctx, &o, 1, sizeof *o));
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &o->kernels));
    o->data = data;
    o->classes = classes;
    o->D = data->rows.D;
    o->ld = lli_kernels_stride(o->D);
    o->ldk = lli_kernels_stride_classes(classes->count);
    o->power = lli_wide_power(classes->all);
    LLI_DO(lli_memory_new(ctx, &o->z, BLOCK * o->ld, sizeof *o->z));
    LLI_DO(lli_memory_new(ctx, &o->g, BLOCK * o->ldk, sizeof *o->g));
    LLI_DO(lli_memory_new(ctx, &o->top, BLOCK, sizeof *o->top));
    LLI_DO(lli_memory_new(ctx, &o->sums, 2 * BLOCK + 1, sizeof *o->sums));
    LLI_DO(lli_memory_new(ctx, &o->nll, BLOCK, sizeof *o->nll));
    o->chunk_bytes = lli_rows_scratch(&data->rows, CHUNK);
    LLI_DO(lli_memory_new(ctx, &o->scratch, lli_pool_workers(ctx) * o->chunk_bytes, 1));
    *out = o;
    o = NULL;
done:
    lli_wide_objective_free(o);
    return status;
}

void lli_wide_objective_free(lli_wide_objective *o) {
    if (!o)
        return;
    lli_memory_free(o->z);
    lli_memory_free(o->g);
    lli_memory_free(o->top);
    lli_memory_free(o->sums);
    lli_memory_free(o->nll);
    lli_memory_free(o->scratch);
    lli_memory_free(o);
}

/* The label of row i of the block among the classes here, or -1. */
static int64_t label_here(const lli_wide_objective *o, int64_t i) {
    int64_t label = o->data->labels[o->first + i] - o->classes->first;
    return label >= 0 && label < o->classes->count ? label : -1;
}

static ll_status find_tops(ll_context *ctx, void *arg, int64_t chunk, int worker) {
    const lli_wide_objective *o = arg;
    int64_t first = chunk * CHUNK, n = LLI_MIN(CHUNK, o->n - first);
    float *z = o->z + first * o->ld, *g = o->g + first * o->ldk;
    lli_rows block;
    LLI_TRY(lli_rows_block(&block, ctx, &o->data->rows, o->scratch + worker * o->chunk_bytes, o->first + first, n));
    o->kernels->gather(z, block.features, block.half, NULL, 0, n, o->D, o->ld);
    if (o->classes->count > 0)
        o->kernels->logits(g, o->theta, z, n, o->classes->count, o->ld, o->ldk);
    for (int64_t i = 0; i < n; i++)
        o->top[first + i] = o->kernels->wide->top(g + i * o->ldk, o->classes->count);
    return LL_OK;
}

static ll_status find_sums(ll_context *ctx, void *arg, int64_t chunk, int worker) {
    (void)ctx, (void)worker;
    const lli_wide_objective *o = arg;
    for (int64_t i = chunk * CHUNK; i < LLI_MIN((chunk + 1) * CHUNK, o->n); i++) {
        int64_t label = label_here(o, i);
        float *row = o->g + i * o->ldk, gap = label < 0 ? 0 : row[label] - o->top[i];
        uint32_t bits;
        memcpy(&bits, &gap, sizeof bits);
        o->sums[i] = o->kernels->wide->sum(row, o->top[i], o->classes->count, o->power);
        o->sums[o->n + i] = (int64_t)bits;
    }
    return LL_OK;
}

static ll_status find_residuals(ll_context *ctx, void *arg, int64_t chunk, int worker) {
    (void)ctx, (void)worker;
    const lli_wide_objective *o = arg;
    for (int64_t i = chunk * CHUNK; i < LLI_MIN((chunk + 1) * CHUNK, o->n); i++) {
        lli_wide_row of = {.top = o->top[i], .total = o->sums[i]};
        const uint32_t bits = (uint32_t)o->sums[o->n + i];
        memcpy(&of.gap, &bits, sizeof of.gap);
        o->nll[i] = o->kernels->wide->residual(o->g + i * o->ldk, &of, o->weights ? o->weights[o->first + i] : 1, label_here(o, i),
                                               o->classes->count, o->ldk, o->power);
    }
    return LL_OK;
}

static ll_status add_gradient(ll_context *ctx, void *arg, int64_t band, int worker) {
    (void)ctx, (void)worker;
    const lli_wide_objective *o = arg;
    int64_t k = band * BAND, count = LLI_MIN(BAND, o->classes->count - k);
    for (int64_t i = 0; i < o->n; i += CHUNK)
        o->kernels->gradient(o->gradient + k * o->ld, o->g + i * o->ldk + k, o->z + i * o->ld, LLI_MIN(CHUNK, o->n - i), count, o->ld,
                             o->ldk);
    return LL_OK;
}

/* What the ranks tell each other about a block, between its steps. */
static ll_status run_block(ll_context *ctx, lli_wide_objective *o) {
    lli_team *team = o->classes->team;
    int64_t chunks = (o->n - 1) / CHUNK + 1, *stop = &o->sums[2 * o->n];
    LLI_TRY(lli_pool_run(ctx, find_tops, o, chunks));
    if (team)
        LLI_TRY(team->table->max(team, ctx, o->top, o->n));
    LLI_TRY(lli_pool_run(ctx, find_sums, o, chunks));
    *stop = lli_cancelled(ctx);
    if (team)
        LLI_TRY(team->table->sum(team, ctx, o->sums, 2 * o->n + 1));
    if (*stop) /* all ranks stop at the same block */
        return lli_fail(ctx, LL_ERR_CANCELLED, "interrupted");
    LLI_TRY(lli_pool_run(ctx, find_residuals, o, chunks));
    return lli_pool_run(ctx, add_gradient, o, (o->classes->count + BAND - 1) / BAND);
}

ll_status lli_wide_objective_run(ll_context *ctx, lli_wide_objective *o, double *nll, double *gradient, const float *theta,
                                 const float *weights) {
    int64_t N = o->data->rows.N;
    o->theta = theta;
    o->weights = weights;
    o->gradient = gradient;
    memset(gradient, 0, (size_t)(o->classes->count * o->ld) * sizeof *gradient);
    *nll = 0;
    for (o->first = 0; o->first < N; o->first += o->n) {
        o->n = LLI_MIN(BLOCK, N - o->first);
        LLI_TRY(run_block(ctx, o));
        for (int64_t i = 0; i < o->n; i++)
            *nll += o->nll[i];
    }
    return LL_OK;
}
