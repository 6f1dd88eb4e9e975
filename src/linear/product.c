/* SPDX-License-Identifier: MIT */
/* The product of two matrices, in blocks that workers share. */
#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "linear/linear.h"

enum { TALL = 64, WIDE = 512 }; /* of a task */

typedef struct product {
    const lli_kernels *kernels;
    double *c;
    lli_matrix64 a, b;
    int64_t m, n, k, across; /* blocks across */
    double scale;
    double *work; /* [workers,LLI_LINEAR_WORK] */
} product;

static ll_status multiply_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    const product *p = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t i = task / p->across * TALL, j = task % p->across * WIDE;
    p->kernels->linear->product(p->c + i * p->n + j, p->n, (lli_matrix64){p->a.at + i * p->a.row, p->a.row, p->a.column},
                                (lli_matrix64){p->b.at + j * p->b.column, p->b.row, p->b.column}, LLI_MIN(TALL, p->m - i),
                                LLI_MIN(WIDE, p->n - j), p->k, p->scale, p->work + worker * LLI_LINEAR_WORK);
    return LL_OK;
}

ll_status lli_product_add(ll_context *ctx, double *c, lli_matrix64 a, lli_matrix64 b, int64_t m, int64_t n, int64_t k, double scale) {
    product p = {.c = c, .a = a, .b = b, .m = m, .n = n, .k = k, .across = (n - 1) / WIDE + 1, .scale = scale};
    LLI_TRY(lli_kernels_require(ctx, &p.kernels));
    LLI_TRY(lli_memory_new(ctx, &p.work, (int64_t)lli_pool_workers(ctx) * LLI_LINEAR_WORK, sizeof *p.work));
    ll_status status = lli_pool_run(ctx, multiply_block, &p, ((m - 1) / TALL + 1) * p.across);
    lli_memory_free(p.work);
    return status;
}
