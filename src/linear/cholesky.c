/* SPDX-License-Identifier: MIT */
/* Cholesky's factor and solves with it, in blocks: what lies before a block is taken off by a product of matrices. */
#include <math.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "linear/linear.h"

enum { BLOCK = 64, COLUMNS = 64 }; /* pivots of a block, and rows of a task; columns of a task of a solve */

typedef struct cholesky {
    const lli_kernels *kernels;
    double *a;
    int64_t n, begin, end; /* the block of pivots under way */
    /* of a solve: */
    const double *L;
    double *x;
    int64_t m;
    bool transposed;
    double *work; /* [workers,LLI_LINEAR_WORK] */
} cholesky;

static ll_status init(ll_context *ctx, cholesky *c) {
    LLI_TRY(lli_kernels_require(ctx, &c->kernels));
    return lli_memory_new(ctx, &c->work, (int64_t)lli_pool_workers(ctx) * LLI_LINEAR_WORK, sizeof *c->work);
}

/* Rows first .. last-1 from column `begin`: what the pivots begin..min(row,end)-1 leave, divided by them. */
static bool eliminate(const cholesky *c, int64_t first, int64_t last) {
    bool positive = true;
    for (int64_t i = first; i < last; i++) {
        double *row = c->a + i * c->n;
        for (int64_t j = c->begin; j < LLI_MIN(c->end, i); j++) {
            const double *pivot = c->a + j * c->n;
            row[j] = (row[j] - c->kernels->linear->dot(row + c->begin, pivot + c->begin, j - c->begin)) / pivot[j];
        }
        if (i < c->end) {
            double left = row[i] - c->kernels->linear->dot(row + c->begin, row + c->begin, i - c->begin);
            positive = positive && left > 0 && isfinite(left);
            row[i] = sqrt(left);
        }
    }
    return positive;
}

static ll_status solve_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    (void)worker;
    const cholesky *c = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t first = c->end + band * BLOCK;
    (void)eliminate(c, first, LLI_MIN(first + BLOCK, c->n));
    return LL_OK;
}

static ll_status update_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    const cholesky *c = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t n = c->n, first = c->end + band * BLOCK, last = LLI_MIN(first + BLOCK, n);
    c->kernels->linear->product(c->a + first * n + c->end, n, (lli_matrix64){c->a + first * n + c->begin, n, 1},
                                (lli_matrix64){c->a + c->end * n + c->begin, 1, n}, last - first, last - c->end, c->end - c->begin, -1,
                                c->work + worker * LLI_LINEAR_WORK);
    return LL_OK;
}

ll_status lli_cholesky_factor(ll_context *ctx, int64_t *failed, double *a, int64_t n) {
    *failed = -1;
    cholesky c = {.a = a, .n = n};
    ll_status status;
    LLI_DO(init(ctx, &c));
    for (c.begin = 0; c.begin < n && *failed < 0; c.begin = c.end) {
        c.end = LLI_MIN(c.begin + BLOCK, n);
        for (int64_t i = c.begin; i < c.end && *failed < 0; i++)
            if (!eliminate(&c, i, i + 1))
                *failed = i;
        int64_t bands = (n - c.end + BLOCK - 1) / BLOCK;
        if (bands == 0 || *failed >= 0)
            continue;
        LLI_DO(lli_pool_run(ctx, solve_band, &c, bands));
        LLI_DO(lli_pool_run(ctx, update_band, &c, bands));
    }
done:
    lli_memory_free(c.work);
    return status;
}

/* Rows begin..end-1 of x, columns first..first+count-1, with the triangle of that block. */
static void solve_block(const cholesky *c, int64_t begin, int64_t end, int64_t first, int64_t count) {
    for (int64_t step = 0; step < end - begin; step++) {
        int64_t i = c->transposed ? end - 1 - step : begin + step;
        double *x = c->x + i * c->m + first;
        for (int64_t j = 0; j < count; j++)
            x[j] /= c->L[i * c->n + i];
        for (int64_t r = c->transposed ? begin : i + 1; r < (c->transposed ? i : end); r++) {
            double scale = c->transposed ? c->L[i * c->n + r] : c->L[r * c->n + i], *y = c->x + r * c->m + first;
            for (int64_t j = 0; j < count; j++)
                y[j] -= scale * x[j];
        }
    }
}

/* A block of x loses what those solved before it explain; then it is solved. */
static ll_status solve_columns(ll_context *ctx, void *arg, int64_t task, int worker) {
    const cholesky *c = arg;
    int64_t first = task * COLUMNS, count = LLI_MIN(COLUMNS, c->m - first), blocks = (c->n - 1) / BLOCK + 1;
    for (int64_t step = 0; step < blocks; step++) {
        LLI_TRY(lli_cancel_check(ctx));
        int64_t begin = (c->transposed ? blocks - 1 - step : step) * BLOCK, end = LLI_MIN(begin + BLOCK, c->n);
        int64_t from = c->transposed ? end : 0, known = c->transposed ? c->n - end : begin;
        lli_matrix64 L = c->transposed ? (lli_matrix64){c->L + from * c->n + begin, 1, c->n} : (lli_matrix64){c->L + begin * c->n, c->n, 1};
        if (known > 0)
            c->kernels->linear->product(c->x + begin * c->m + first, c->m, L, (lli_matrix64){c->x + from * c->m + first, c->m, 1},
                                        end - begin, count, known, -1, c->work + worker * LLI_LINEAR_WORK);
        solve_block(c, begin, end, first, count);
    }
    return LL_OK;
}

static ll_status solve(ll_context *ctx, const double *L, double *x, int64_t n, int64_t m, bool transposed) {
    cholesky c = {.n = n, .L = L, .x = x, .m = m, .transposed = transposed};
    ll_status status;
    LLI_DO(init(ctx, &c));
    LLI_DO(lli_pool_run(ctx, solve_columns, &c, (m - 1) / COLUMNS + 1));
done:
    lli_memory_free(c.work);
    return status;
}

ll_status lli_cholesky_solve(ll_context *ctx, const double *L, double *x, int64_t n, int64_t m) {
    return solve(ctx, L, x, n, m, false);
}

ll_status lli_cholesky_solve_transposed(ll_context *ctx, const double *L, double *x, int64_t n, int64_t m) {
    return solve(ctx, L, x, n, m, true);
}
