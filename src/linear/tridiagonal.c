/* SPDX-License-Identifier: MIT */
/* Reflections in blocks of 32: each needs one product of the matrix with a vector, and the matrix itself changes once per block, by a
 * product of matrices. Both triangles are kept, so that every sum runs along a row. */
#include "linear/tridiagonal.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/matrix64.h"

enum { BLOCK = 32, BAND = 64 }; /* reflections of a block; rows of a task */

typedef struct reduction {
    const lli_kernels *kernels;
    double *a;
    int64_t n, k, end;    /* the reflection under way; the first row behind the block */
    double *left, *right; /* [2 BLOCK,n]: v_c and w_c; w_c and v_c. a loses left' right after the block */
    int64_t begin, held;  /* first reflection of the block; how many it has */
    double *work;         /* [workers,LLI_LINEAR_WORK] */
} reduction;

static double *v_of(const reduction *r, int64_t c) {
    return r->left + c * r->n;
}

static double *w_of(const reduction *r, int64_t c) {
    return r->right + c * r->n;
}

/* w = a v behind row k, a band of it. */
static ll_status multiply_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    (void)ctx;
    (void)worker;
    const reduction *r = arg;
    int64_t from = r->k + 1, first = from + band * BAND, last = LLI_MIN(first + BAND, r->n);
    const double *v = v_of(r, r->held);
    for (int64_t i = first; i < last; i++)
        w_of(r, r->held)[i] = r->kernels->linear->dot(r->a + i * r->n + from, v + from, r->n - from);
    return LL_OK;
}

static void add(double *restrict x, double scale, const double *restrict y, int64_t from, int64_t n) {
    for (int64_t i = from; i < n; i++)
        x[i] += scale * y[i];
}

/* x, behind place k: v and tau with (I - tau v v') x = beta (1, 0, ..). */
static double reflection(double *tau, double *v, const double *x, int64_t from, int64_t n, const lli_kernels *kernels) {
    double alpha = x[from], rest = kernels->linear->dot(x + from + 1, x + from + 1, n - from - 1);
    memset(v, 0, (size_t)n * sizeof *v);
    v[from] = 1;
    *tau = 0;
    if (rest == 0)
        return alpha;
    double beta = -copysign(sqrt(alpha * alpha + rest), alpha);
    *tau = (beta - alpha) / beta;
    for (int64_t i = from + 1; i < n; i++)
        v[i] = x[i] / (alpha - beta);
    return beta;
}

/* Row k as the reflections before it leave it, the next reflection, and its w = tau (a v) + c v. */
static ll_status reflect_row(ll_context *ctx, reduction *r, double *d, double *e, double *tau) {
    int64_t k = r->k, from = k + 1, n = r->n, q = r->held;
    double *row = r->a + k * n, *v = v_of(r, q), *w = w_of(r, q);
    for (int64_t c = 0; c < q; c++) {
        double wk = w_of(r, c)[k], vk = v_of(r, c)[k];
        add(row, -wk, v_of(r, c), k, n);
        add(row, -vk, w_of(r, c), k, n);
    }
    d[k] = row[k];
    e[k] = reflection(&tau[k], v, row, from, n, r->kernels);
    memset(w, 0, (size_t)n * sizeof *w);
    if (tau[k] != 0) {
        LLI_TRY(lli_pool_run(ctx, multiply_band, r, (n - from - 1) / BAND + 1));
        for (int64_t c = 0; c < q; c++) {
            double wv = r->kernels->linear->dot(w_of(r, c) + from, v + from, n - from),
                   vv = r->kernels->linear->dot(v_of(r, c) + from, v + from, n - from);
            add(w, -wv, v_of(r, c), from, n);
            add(w, -vv, w_of(r, c), from, n);
        }
        double half = -0.5 * tau[k] * tau[k] * r->kernels->linear->dot(w + from, v + from, n - from);
        for (int64_t i = from; i < n; i++)
            w[i] = tau[k] * w[i] + half * v[i];
    }
    memcpy(row + from, v + from, (size_t)(n - from) * sizeof *v);
    r->held++;
    return LL_OK;
}

/* A band of a - left' right up to the diagonal, and its mirror image. */
static ll_status update_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    const reduction *r = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t n = r->n, first = r->end + band * BAND, last = LLI_MIN(first + BAND, n);
    r->kernels->linear->product(r->a + first * n + r->end, n, (lli_matrix64){r->left + first, 1, n},
                                (lli_matrix64){r->right + r->end, n, 1}, last - first, last - r->end, 2 * r->held, -1,
                                r->work + worker * LLI_LINEAR_WORK);
    for (int64_t i = first; i < last; i++)
        for (int64_t j = r->end; j < i; j++)
            r->a[j * n + i] = r->a[i * n + j];
    return LL_OK;
}

ll_status lli_tridiagonal_reduce(ll_context *ctx, const lli_kernels *kernels, double *a, double *d, double *e, double *tau, int64_t n) {
    reduction r = {.kernels = kernels, .a = a, .n = n};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &r.left, 2 * BLOCK * n, sizeof *r.left));
    LLI_DO(lli_memory_new(ctx, &r.right, 2 * BLOCK * n, sizeof *r.right));
    LLI_DO(lli_memory_new(ctx, &r.work, (int64_t)lli_pool_workers(ctx) * LLI_LINEAR_WORK, sizeof *r.work));
    for (r.begin = 0; r.begin < n - 1; r.begin = r.end) {
        r.end = LLI_MIN(r.begin + BLOCK, n - 1);
        r.held = 0;
        for (r.k = r.begin; r.k < r.end; r.k++)
            LLI_DO(reflect_row(ctx, &r, d, e, tau));
        memcpy(r.left + r.held * n, r.right, (size_t)(r.held * n) * sizeof *a);
        memcpy(r.right + r.held * n, r.left, (size_t)(r.held * n) * sizeof *a);
        LLI_DO(lli_pool_run(ctx, update_band, &r, (n - r.end - 1) / BAND + 1));
    }
    d[n - 1] = a[n * n - 1];
done:
    lli_memory_free(r.left);
    lli_memory_free(r.right);
    lli_memory_free(r.work);
    return status;
}
