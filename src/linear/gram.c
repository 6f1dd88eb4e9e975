/* SPDX-License-Identifier: MIT */
/* X'X of rows that are made block by block. Many blocks are made at once, then each band of the result adds them in order. */
#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "linear/linear.h"

enum { BAND = 64, BATCH_BYTES = 8 << 20 }; /* rows of g per task; of X at a time */

typedef struct gram {
    const lli_kernels *kernels;
    double *g;
    lli_gram_rows *rows;
    void *arg;
    int64_t n, first, count; /* the batch of rows under way */
    double scale;
    double *x;    /* [batch,n] */
    double *work; /* [workers,LLI_LINEAR_WORK] */
} gram;

static ll_status make_rows(ll_context *ctx, void *arg, int64_t block, int worker) {
    const gram *g = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t at = block * LLI_GRAM_BLOCK;
    return g->rows(ctx, g->arg, g->x + at * g->n, g->first + at, LLI_MIN(LLI_GRAM_BLOCK, g->count - at), worker);
}

/* Up to and on the diagonal. */
static ll_status add_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    const gram *g = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t top = band * BAND, end = LLI_MIN(top + BAND, g->n);
    g->kernels->linear->product(g->g + top * g->n, g->n, (lli_matrix64){g->x + top, 1, g->n}, (lli_matrix64){g->x, g->n, 1}, end - top, end,
                                g->count, g->scale, g->work + worker * LLI_LINEAR_WORK);
    return LL_OK;
}

ll_status lli_gram_add(ll_context *ctx, double *out, lli_gram_rows *rows, void *arg, int64_t N, int64_t n, double scale) {
    int64_t most = BATCH_BYTES / (n * (int64_t)sizeof(double)) / LLI_LINEAR_DEPTH * LLI_LINEAR_DEPTH,
            batch = LLI_MAX(most, LLI_LINEAR_DEPTH);
    gram g = {.g = out, .rows = rows, .arg = arg, .n = n, .scale = scale};
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &g.kernels));
    LLI_DO(lli_memory_new(ctx, &g.x, LLI_MIN(batch, N) * n, sizeof *g.x));
    LLI_DO(lli_memory_new(ctx, &g.work, (int64_t)lli_pool_workers(ctx) * LLI_LINEAR_WORK, sizeof *g.work));
    for (g.first = 0; g.first < N; g.first += batch) {
        g.count = LLI_MIN(batch, N - g.first);
        LLI_DO(lli_pool_run(ctx, make_rows, &g, (g.count - 1) / LLI_GRAM_BLOCK + 1));
        LLI_DO(lli_pool_run(ctx, add_band, &g, (n - 1) / BAND + 1));
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            out[j * n + i] = out[i * n + j];
done:
    lli_memory_free(g.x);
    lli_memory_free(g.work);
    return status;
}
