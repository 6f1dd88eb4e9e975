/* SPDX-License-Identifier: MIT */
/* A pass over the rows: blocks in parallel, their sums added in order. */
#include "calibrate/evidence.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/pool.h"

enum { MOST_ROWS = 256, LEAST_ROWS = 32, BLOCK_VALUES = 1 << 17, BLOCKS_PER_WAVE = 64 };

int64_t lli_evidence_block(const lli_evidence *e) {
    return LLI_MAX(LEAST_ROWS, LLI_MIN(MOST_ROWS, BLOCK_VALUES / e->K));
}

typedef struct pass {
    const lli_evidence *e;
    lli_evidence_visit *visit;
    const void *arg;
    int64_t block, first_block, sums;
    double *f;    /* [workers,block,K] */
    double *part; /* [BLOCKS_PER_WAVE,sums] */
} pass;

static ll_status run_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    pass *p = arg;
    const lli_evidence *e = p->e;
    int64_t first = (p->first_block + task) * p->block, n = LLI_MIN(p->block, e->n - first);
    double *f = p->f + worker * p->block * e->K, *part = p->part + task * p->sums;
    LLI_TRY(lli_cancel_check(ctx));
    LLI_TRY(e->fill(ctx, e->arg, f, first, n, worker));
    memset(part, 0, (size_t)p->sums * sizeof *part);
    p->visit(part, e, p->arg, f, first, n);
    return LL_OK;
}

ll_status lli_evidence_pass(ll_context *ctx, const lli_evidence *e, double *out, int64_t sums, lli_evidence_visit *visit, const void *arg) {
    pass p = {.e = e, .visit = visit, .arg = arg, .block = lli_evidence_block(e), .sums = sums};
    int64_t blocks = (e->n - 1) / p.block + 1, wave = LLI_MIN(blocks, BLOCKS_PER_WAVE);
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &p.f, lli_pool_workers(ctx) * p.block * e->K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &p.part, wave * sums, sizeof(double)));
    memset(out, 0, (size_t)sums * sizeof *out);
    for (; p.first_block < blocks; p.first_block += wave) {
        int64_t count = LLI_MIN(wave, blocks - p.first_block);
        LLI_DO(lli_pool_run(ctx, run_block, &p, count));
        for (int64_t b = 0; b < count; b++)
            for (int64_t j = 0; j < sums; j++)
                out[j] += p.part[b * sums + j];
    }
done:
    lli_memory_free(p.f);
    lli_memory_free(p.part);
    return status;
}

ll_status lli_evidence_fill_array(ll_context *ctx, void *arg, double *f, int64_t first, int64_t n, int worker) {
    (void)ctx;
    (void)worker;
    const ll_array *array = arg;
    int64_t K = array->shape[array->rank - 1];
    lli_array_to_f64(f, array, first * K, n * K);
    return LL_OK;
}
