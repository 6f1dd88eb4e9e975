/* SPDX-License-Identifier: MIT */
/* The two factors by Gram matrices of rows and of probabilities, and the Hessian as it is for small heads. */
#include "train/curvature.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "linear/linear.h"
#include "train/head_pass.h"

enum { SLICES = 16 }; /* of the rows, at most: their sums are added in order */

/* Rows sqrt(w) (z,1). */
static ll_status weighted_rows(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    lli_head_pass *pass = arg;
    int64_t n = pass->D + 1;
    const float *z;
    LLI_TRY(lli_head_pass_rows(&z, ctx, pass, first, count, worker, false));
    for (int64_t i = 0; i < count; i++) {
        double root = sqrt(lli_head_pass_weight(pass, first + i));
        for (int64_t j = 0; j < n; j++)
            out[i * n + j] = root * (double)z[i * pass->ld + j];
    }
    return LL_OK;
}

/* Rows sqrt(w) p. */
static ll_status weighted_p(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    lli_head_pass *pass = arg;
    const float *z;
    LLI_TRY(lli_head_pass_rows(&z, ctx, pass, first, count, worker, true));
    for (int64_t i = 0, top; i < count; i++) {
        double tail, root = sqrt(lli_head_pass_weight(pass, first + i));
        const double *p = lli_head_pass_softmax(pass, i, worker, &top, &tail);
        for (int64_t k = 0; k < pass->K; k++)
            out[i * pass->K + k] = root * p[k];
    }
    return LL_OK;
}

/* From sum w p p' to sum w (diag(p) - p p'): its rows sum to 0, so the diagonal is what the others of its row leave, without
 * cancellation. */
static void laplacian(double *g, int64_t K) {
    for (int64_t k = 0; k < K; k++) {
        double others = 0;
        for (int64_t l = 0; l < K; l++)
            if (l != k) {
                others += g[k * K + l];
                g[k * K + l] = -g[k * K + l];
            }
        g[k * K + k] = others;
    }
}

/* A pass over fixed slices of the rows: sums [K,columns] of w p (1 - p), times z^2 where there are n columns. */
typedef struct slices {
    lli_head_pass *pass;
    int64_t columns, rows, count;
    double *sums; /* [count,K,columns] */
} slices;

static ll_status sum_slice(ll_context *ctx, void *arg, int64_t slice, int worker) {
    const slices *s = arg;
    lli_head_pass *pass = s->pass;
    double *sums = s->sums + slice * pass->K * s->columns;
    int64_t end = LLI_MIN((slice + 1) * s->rows, pass->data->rows.N);
    for (int64_t first = slice * s->rows, count; first < end; first += count) {
        LLI_TRY(lli_cancel_check(ctx));
        count = LLI_MIN(LLI_HEAD_PASS_ROWS, end - first);
        const float *z;
        LLI_TRY(lli_head_pass_rows(&z, ctx, pass, first, count, worker, true));
        for (int64_t i = 0, top; i < count; i++, z += pass->ld) {
            double tail, weight = lli_head_pass_weight(pass, first + i);
            const double *p = lli_head_pass_softmax(pass, i, worker, &top, &tail);
            for (int64_t k = 0; k < pass->K; k++) {
                double h = weight * p[k] * (k == top ? tail : 1 - p[k]);
                for (int64_t j = 0; j < s->columns; j++)
                    sums[k * s->columns + j] += s->columns > 1 ? h * (double)z[j] * (double)z[j] : h;
            }
        }
    }
    return LL_OK;
}

static ll_status sum_diagonal(ll_context *ctx, double *out, lli_head_pass *pass, int64_t columns) {
    int64_t N = pass->data->rows.N, numbers = pass->K * columns;
    slices s = {.pass = pass, .columns = columns, .rows = LLI_MAX(((N - 1) / SLICES + 1), LLI_HEAD_PASS_ROWS)};
    s.count = (N - 1) / s.rows + 1;
    LLI_TRY(lli_memory_new(ctx, &s.sums, s.count * numbers, sizeof *s.sums));
    ll_status status = lli_pool_run(ctx, sum_slice, &s, s.count);
    for (int64_t i = 0; status == LL_OK && i < numbers; i++) {
        out[i] = 0;
        for (int64_t slice = 0; slice < s.count; slice++)
            out[i] += s.sums[slice * numbers + i];
    }
    lli_memory_free(s.sums);
    return status;
}

static ll_status decompose(ll_context *ctx, double *matrix, double *values, int64_t n) {
    LLI_TRY(lli_eigen_symmetric(ctx, matrix, values, n));
    for (int64_t i = 0; i < n; i++)
        values[i] = fmax(values[i], 0);
    return LL_OK;
}

ll_status lli_curvature_init(ll_context *ctx, lli_curvature *c, const ll_dataset *data, const lli_curvature_head *head, bool diagonal) {
    int64_t K = head->K, n = data->rows.D + 1, N = data->rows.N;
    *c = (lli_curvature){.K = K, .n = n};
    lli_head_pass pass;
    ll_status status;
    LLI_TRY(lli_head_pass_init(ctx, &pass, data, head));
    LLI_DO(lli_memory_new(ctx, &c->a, n, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &c->b, K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &c->V, n * n, sizeof(double)));
    LLI_DO(lli_gram_add(ctx, c->V, weighted_rows, &pass, N, n, 1 / lli_dataset_weight(data)));
    LLI_DO(decompose(ctx, c->V, c->a, n));
    if (diagonal) {
        LLI_DO(sum_diagonal(ctx, c->b, &pass, 1));
        goto done;
    }
    LLI_DO(lli_memory_new(ctx, &c->U, K * K, sizeof(double)));
    LLI_DO(lli_gram_add(ctx, c->U, weighted_p, &pass, N, K, 1));
    laplacian(c->U, K);
    LLI_DO(decompose(ctx, c->U, c->b, K));
done:
    lli_head_pass_release(&pass);
    if (status != LL_OK)
        lli_curvature_release(c);
    return status;
}

void lli_curvature_release(lli_curvature *c) {
    lli_memory_free(c->a);
    lli_memory_free(c->V);
    lli_memory_free(c->b);
    lli_memory_free(c->U);
    *c = (lli_curvature){0};
}

ll_status lli_curvature_diagonal(ll_context *ctx, double *h, const ll_dataset *data, const lli_curvature_head *head) {
    lli_head_pass pass;
    LLI_TRY(lli_head_pass_init(ctx, &pass, data, head));
    ll_status status = sum_diagonal(ctx, h, &pass, data->rows.D + 1);
    lli_head_pass_release(&pass);
    return status;
}

/* Rows sqrt(w) p (x) z, or with a class c alone sqrt(w p_c) z. */
typedef struct outer {
    lli_head_pass *pass;
    int64_t class; /* -1: all */
} outer;

static ll_status outer_rows(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    const outer *o = arg;
    lli_head_pass *pass = o->pass;
    int64_t n = pass->D + 1, from = o->class < 0 ? 0 : o->class, to = o->class < 0 ? pass->K : o->class + 1;
    const float *z;
    LLI_TRY(lli_head_pass_rows(&z, ctx, pass, first, count, worker, true));
    for (int64_t i = 0, top; i < count; i++, z += pass->ld) {
        double tail, root = sqrt(lli_head_pass_weight(pass, first + i));
        const double *p = lli_head_pass_softmax(pass, i, worker, &top, &tail);
        for (int64_t k = from; k < to; k++)
            for (int64_t j = 0; j < n; j++)
                *out++ = root * (o->class < 0 ? p[k] : sqrt(p[k])) * (double)z[j];
    }
    return LL_OK;
}

ll_status lli_curvature_full(ll_context *ctx, double *h, const ll_dataset *data, const lli_curvature_head *head) {
    int64_t K = head->K, n = data->rows.D + 1, N = data->rows.N;
    lli_head_pass pass;
    double *block = NULL;
    ll_status status;
    LLI_TRY(lli_head_pass_init(ctx, &pass, data, head));
    outer rows = {&pass, -1};
    LLI_DO(lli_memory_new(ctx, &block, n * n, sizeof *block));
    memset(h, 0, (size_t)(K * n * K * n) * sizeof *h);
    LLI_DO(lli_gram_add(ctx, h, outer_rows, &rows, N, K * n, -1));
    for (rows.class = 0; rows.class < K; rows.class ++) {
        memset(block, 0, (size_t)(n * n) * sizeof *block);
        LLI_DO(lli_gram_add(ctx, block, outer_rows, &rows, N, n, 1));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                h[(rows.class * n + i) * K * n + rows.class * n + j] += block[i * n + j];
    }
done:
    lli_memory_free(block);
    lli_head_pass_release(&pass);
    return status;
}

/* out [K,n] = left in [K,n] right, left = U or U' (NULL: none), right = V or V'. */
static void sandwich(double *out, const double *in, const lli_curvature *c, bool forward, double *spare, double *work) {
    const lli_kernels *kernels = lli_kernels_get();
    int64_t K = c->K, n = c->n;
    lli_matrix64 U = {c->U, forward ? 1 : K, forward ? K : 1}, V = {c->V, forward ? n : 1, forward ? 1 : n};
    if (c->U) {
        memset(spare, 0, (size_t)(K * n) * sizeof *spare);
        kernels->linear->product(spare, n, U, (lli_matrix64){in, n, 1}, K, n, K, 1, work);
    } else
        memcpy(spare, in, (size_t)(K * n) * sizeof *spare);
    memset(out, 0, (size_t)(K * n) * sizeof *out);
    kernels->linear->product(out, n, (lli_matrix64){spare, n, 1}, V, K, n, n, 1, work);
}

static void multiply(double *x, const double *by, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        x[i] *= by[i];
}

void lli_curvature_to_theta(const lli_curvature *c, double *out, const double *y, const double *root, double *spare, double *work) {
    if (out != y)
        memcpy(out, y, (size_t)(c->K * c->n) * sizeof *out);
    multiply(out, root, c->K * c->n);
    sandwich(out, out, c, true, spare, work);
}

void lli_curvature_to_white(const lli_curvature *c, double *out, const double *g, const double *root, double *spare, double *work) {
    sandwich(out, g, c, false, spare, work);
    multiply(out, root, c->K * c->n);
}
