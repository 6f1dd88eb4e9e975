/* SPDX-License-Identifier: MIT */
/* vim: how far a row lies outside the directions in which the training rows vary most, in units of their logits. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "linear/linear.h"
#include "scores/scores_fit.h"
#include "scores/scores_work.h"

enum { SLICES = 16 }; /* of the rows, at most: their sums are added in order */
#define RANK 1e-6     /* of the largest eigenvalue of W W': smaller ones are 0 */
#define NOTHING 1e-13 /* of all variance: what rounding leaves outside where there is none */

/* ---- the origin: o = -W^+ b ---- */

typedef struct weights {
    const float *W;
    int64_t K, D;
} weights;

static ll_status rows_of(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    (void)ctx, (void)worker;
    const weights *w = arg;
    for (int64_t i = 0; i < count * w->D; i++)
        out[i] = (double)w->W[first * w->D + i];
    return LL_OK;
}

static ll_status columns_of(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    (void)ctx, (void)worker;
    const weights *w = arg;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < w->K; k++)
            out[i * w->K + k] = (double)w->W[k * w->D + first + i];
    return LL_OK;
}

/* x <- G^+ x by the eigenvectors of G, the rows of v [n,n]; y [n] is scratch. */
static void solve(double *x, double *y, const double *v, const double *values, int64_t n, const lli_kernels *kernels) {
    memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) {
        double scale = values[i] > RANK * values[n - 1] ? kernels->linear->dot(v + i * n, x, n) / values[i] : 0;
        for (int64_t j = 0; j < n; j++)
            y[j] += scale * v[i * n + j];
    }
    memcpy(x, y, (size_t)n * sizeof *y);
}

/* out [D] += scale W'x. */
static void times_weights(double *out, const weights *w, const double *x, double scale) {
    for (int64_t k = 0; k < w->K; k++)
        for (int64_t j = 0; j < w->D; j++)
            out[j] += scale * x[k] * (double)w->W[k * w->D + j];
}

/* By the smaller of W W' and W'W. */
static ll_status find_origin(ll_context *ctx, double *origin, const weights *w, const float *b, const lli_kernels *kernels) {
    bool tall = w->K > w->D;
    int64_t n = tall ? w->D : w->K;
    double *g = NULL, *values = NULL, *x = NULL, *bias = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &g, n * n, sizeof *g));
    LLI_DO(lli_memory_new(ctx, &values, n, sizeof *values));
    LLI_DO(lli_memory_new(ctx, &x, 2 * n, sizeof *x));
    LLI_DO(lli_memory_new(ctx, &bias, w->K, sizeof *bias));
    for (int64_t k = 0; k < w->K; k++)
        bias[k] = (double)b[k];
    LLI_DO(lli_gram_add(ctx, g, tall ? rows_of : columns_of, (void *)(uintptr_t)w, tall ? w->K : w->D, n, 1));
    LLI_DO(lli_eigen_symmetric(ctx, g, values, n));
    if (tall)
        times_weights(x, w, bias, 1);
    else
        memcpy(x, bias, (size_t)n * sizeof *x);
    solve(x, x + n, g, values, n, kernels);
    for (int64_t j = 0; tall && j < n; j++)
        origin[j] = -x[j];
    if (!tall)
        times_weights(origin, w, x, -1);
done:
    lli_memory_free(g);
    lli_memory_free(values);
    lli_memory_free(x);
    lli_memory_free(bias);
    return status;
}

/* ---- the directions ---- */

typedef struct moved {
    const lli_scores_rows *r;
    const double *origin;
} moved;

static ll_status from_origin(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    const moved *m = arg;
    LLI_TRY(lli_scores_fit_read(ctx, out, m->r, first, count, false, worker));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < m->r->D; j++)
            out[i * m->r->D + j] -= m->origin[j];
    return LL_OK;
}

static int64_t inside(int64_t D) {
    return D >= 2048 ? 1000 : D >= 512 ? 256 : D / 2;
}

/* *none: the rows have nothing outside the top directions. */
static ll_status find_outside(ll_context *ctx, lli_scores *s, bool *none, const lli_scores_rows *r) {
    int64_t D = r->D, outside = D - inside(D);
    moved m = {r, s->at[LLI_SCORES_ORIGIN]};
    double *g = NULL, *values = NULL, beyond = 0, all = 0;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &g, D * D, sizeof *g));
    LLI_DO(lli_memory_new(ctx, &values, D, sizeof *values));
    LLI_DO(lli_gram_add(ctx, g, from_origin, &m, r->N, D, 1 / (double)r->N));
    LLI_DO(lli_eigen_symmetric(ctx, g, values, D));
    for (int64_t i = 0; i < D; i++) {
        all += fmax(values[i], 0);
        beyond += i < outside ? fmax(values[i], 0) : 0;
    }
    *none = !(beyond > NOTHING * all);
    LLI_DO(lli_scores_allocate(ctx, s, LLI_SCORES_OUTSIDE, outside, D));
    memcpy(s->owned[LLI_SCORES_OUTSIDE], g, (size_t)(outside * D) * sizeof *g);
done:
    lli_memory_free(g);
    lli_memory_free(values);
    return status;
}

/* ---- alpha ---- */

typedef struct means {
    const lli_scores_rows *r;
    lli_scores_work *work; /* [workers] */
    int64_t rows;          /* of a slice */
    double (*sums)[2];     /* [slices] of the largest logits, of the lengths outside */
} means;

static ll_status sum_slice(ll_context *ctx, void *arg, int64_t slice, int worker) {
    const means *m = arg;
    lli_scores_work *w = &m->work[worker];
    double most[LLI_SCORES_FIT_ROWS], other[LLI_SCORES_FIT_ROWS];
    int64_t end = LLI_MIN((slice + 1) * m->rows, m->r->N);
    for (int64_t first = slice * m->rows, count; first < end; first += count) {
        lli_rows block;
        count = LLI_MIN((int64_t)LLI_SCORES_FIT_ROWS, end - first);
        LLI_TRY(lli_cancel_check(ctx));
        LLI_TRY(lli_scores_fit_block(&block, ctx, m->r, first, count, worker));
        lli_scores_work_take(w, block.features, block.half, 0, count);
        lli_scores_work_logits(w, most, other);
        lli_scores_work_outside(w, other);
        for (int64_t i = 0; i < count; i++) {
            m->sums[slice][0] += most[i];
            m->sums[slice][1] += other[i];
        }
    }
    return LL_OK;
}

static ll_status find_alpha(ll_context *ctx, double *alpha, const lli_scores *s, const lli_scores_rows *r) {
    int workers = lli_pool_workers(ctx);
    means m = {.r = r, .rows = LLI_MAX((r->N - 1) / SLICES + 1, (int64_t)LLI_SCORES_FIT_ROWS)};
    int64_t slices = (r->N - 1) / m.rows + 1;
    double logits = 0, lengths = 0;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &m.sums, slices, sizeof *m.sums));
    LLI_DO(lli_memory_new(ctx, &m.work, workers, sizeof *m.work));
    for (int i = 0; i < workers; i++)
        LLI_DO(lli_scores_work_init(ctx, &m.work[i], s, LLI_SCORES_FIT_ROWS, r->D));
    LLI_DO(lli_pool_run(ctx, sum_slice, &m, slices));
    for (int64_t i = 0; i < slices; i++) {
        logits += m.sums[i][0];
        lengths += m.sums[i][1];
    }
    *alpha = lengths > 0 ? logits / lengths : 0;
done:
    for (int i = 0; m.work && i < workers; i++)
        lli_scores_work_release(&m.work[i]);
    lli_memory_free(m.work);
    lli_memory_free(m.sums);
    return status;
}

ll_status lli_scores_fit_vim(ll_context *ctx, lli_scores *s, const lli_scores_rows *r) {
    const weights w = {s->at[LLI_SCORES_THETA_W], s->rows[LLI_SCORES_THETA_W], r->D};
    bool none;
    LLI_TRY(lli_scores_allocate(ctx, s, LLI_SCORES_ORIGIN, r->D, r->D));
    LLI_TRY(find_origin(ctx, s->owned[LLI_SCORES_ORIGIN], &w, s->at[LLI_SCORES_THETA_B], r->kernels));
    LLI_TRY(find_outside(ctx, s, &none, r));
    if (none) {
        lli_scores_fit_drop(ctx, s, LLI_SCORES_BIT(LL_CONFIDENCE_VIM),
                            "the training rows have no length outside the directions in which they vary most");
        return LL_OK;
    }
    LLI_TRY(lli_scores_allocate(ctx, s, LLI_SCORES_ALPHA, 1, r->D));
    return find_alpha(ctx, s->owned[LLI_SCORES_ALPHA], s, r);
}
