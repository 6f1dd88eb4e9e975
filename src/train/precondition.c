/* SPDX-License-Identifier: MIT */
/* G, its Cholesky factor U, and triangular solves. Every number is made by one task, so threads change no bit. */
#include "train/precondition.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"

enum { BAND = 64, CHUNK = 64, CLASSES = 16 }; /* rows of G per task; data rows summed in f32; classes solved for at once */

struct lli_precondition {
    const lli_kernels *kernels;
    const ll_dataset *data;
    int64_t n, ld, K;     /* n = D + 1 */
    double *U;            /* [n,ld]: first G, then its factor above and on the diagonal */
    int64_t begin, end;   /* pivots of the elimination under way */
    float *z;             /* [workers,CHUNK,ld] */
    double *columns;      /* [workers,n,CLASSES]: one class per column */
    double *x;            /* [K,ld] of the solve under way */
};

/* A band of rows of Z'Z: the kernel that sums gradients, with the features themselves in place of the residuals. */
static ll_status sum_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    lli_precondition *p = arg;
    const lli_rows *rows = &p->data->rows;
    float *z = p->z + worker * CHUNK * p->ld;
    int64_t top = band * BAND, count = LLI_MIN(BAND, p->n - top);
    for (int64_t first = 0; first < rows->N; first += CHUNK) {
        LLI_TRY(lli_cancel_check(ctx));
        int64_t m = LLI_MIN(CHUNK, rows->N - first);
        p->kernels->gather(z, rows->features, rows->half, NULL, first, m, rows->D, p->ld);
        p->kernels->gradient(p->U + top * p->ld, z + top, z, m, count, p->ld, p->ld);
    }
    return LL_OK;
}

/* Row i loses what the pivots begin..end-1 explain. */
static void eliminate(lli_precondition *p, int64_t i, int64_t begin, int64_t end) {
    double *restrict row = p->U + i * p->ld;
    for (int64_t k = begin; k < end; k++) {
        const double *restrict pivot = p->U + k * p->ld;
        double scale = pivot[i];
        for (int64_t j = i; j < p->n; j++)
            row[j] -= scale * pivot[j];
    }
}

static ll_status eliminate_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    (void)worker;
    lli_precondition *p = arg;
    LLI_TRY(lli_cancel_check(ctx));
    int64_t first = p->end + band * BAND, last = LLI_MIN(first + BAND, p->n);
    for (int64_t i = first; i < last; i++)
        eliminate(p, i, p->begin, p->end);
    return LL_OK;
}

static ll_status factorise(ll_context *ctx, lli_precondition *p) {
    for (p->begin = 0; p->begin < p->n; p->begin = p->end) {
        p->end = LLI_MIN(p->begin + BAND, p->n);
        for (int64_t k = p->begin; k < p->end; k++) {
            double *row = p->U + k * p->ld;
            eliminate(p, k, p->begin, k);
            double scale = 1 / sqrt(row[k]);
            for (int64_t j = k; j < p->n; j++)
                row[j] *= scale;
        }
        LLI_TRY(lli_pool_run(ctx, eliminate_band, p, (p->n - p->end + BAND - 1) / BAND));
    }
    for (int64_t k = 0; k < p->n; k++)
        if (!isfinite(p->U[k * p->ld + k]))
            return lli_fail(ctx, LL_ERR_DIVERGED,
                            "the features are too large or too alike for the search for theta*; scale them to about 1");
    return LL_OK;
}

ll_status lli_precondition_new(lli_precondition **out, ll_context *ctx, const ll_dataset *data, int64_t K, double lambda) {
    *out = NULL;
    lli_precondition *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &p->kernels));
    p->data = data;
    p->n = data->rows.D + 1;
    p->ld = lli_kernels_stride(data->rows.D);
    p->K = K;
    int workers = lli_pool_workers(ctx);
    LLI_DO(lli_memory_new(ctx, &p->U, p->n * p->ld, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &p->z, workers * CHUNK * p->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &p->columns, workers * p->n * CLASSES, sizeof(double)));
    LLI_DO(lli_pool_run(ctx, sum_band, p, (p->n - 1) / BAND + 1));
    double mean = 0;
    for (int64_t k = 0; k < p->n; k++)
        mean += p->U[k * p->ld + k] / (double)data->rows.N / (double)p->n;
    lambda = fmax(lambda, 1e-5 * mean); /* above the rounding of the sums */
    for (int64_t k = 0; k < p->n; k++) {
        for (int64_t j = 0; j < p->n; j++)
            p->U[k * p->ld + j] /= (double)data->rows.N;
        p->U[k * p->ld + k] += lambda;
    }
    LLI_DO(factorise(ctx, p));
    *out = p;
    p = NULL;
done:
    lli_precondition_free(p);
    return status;
}

void lli_precondition_free(lli_precondition *p) {
    if (!p)
        return;
    lli_memory_free(p->U);
    lli_memory_free(p->z);
    lli_memory_free(p->columns);
    lli_memory_free(p);
}

/* Copies a group of classes between x and the columns. */
static double *load(lli_precondition *p, int64_t group, int worker) {
    double *columns = p->columns + worker * p->n * CLASSES;
    int64_t count = LLI_MIN(CLASSES, p->K - group * CLASSES);
    memset(columns, 0, (size_t)(p->n * CLASSES) * sizeof *columns);
    for (int64_t c = 0; c < count; c++)
        for (int64_t j = 0; j < p->n; j++)
            columns[j * CLASSES + c] = p->x[(group * CLASSES + c) * p->ld + j];
    return columns;
}

static void store(lli_precondition *p, int64_t group, const double *columns) {
    int64_t count = LLI_MIN(CLASSES, p->K - group * CLASSES);
    for (int64_t c = 0; c < count; c++)
        for (int64_t j = 0; j < p->n; j++)
            p->x[(group * CLASSES + c) * p->ld + j] = columns[j * CLASSES + c];
}

static void subtract(double *restrict a, double scale, const double *restrict b) {
    for (int c = 0; c < CLASSES; c++)
        a[c] -= scale * b[c];
}

/* U x = u, from the last row up. */
static ll_status solve_up(ll_context *ctx, void *arg, int64_t group, int worker) {
    (void)ctx;
    lli_precondition *p = arg;
    double *x = load(p, group, worker);
    for (int64_t k = p->n - 1; k >= 0; k--) {
        const double *row = p->U + k * p->ld;
        for (int64_t j = k + 1; j < p->n; j++)
            subtract(x + k * CLASSES, row[j], x + j * CLASSES);
        for (int c = 0; c < CLASSES; c++)
            x[k * CLASSES + c] /= row[k];
    }
    store(p, group, x);
    return LL_OK;
}

/* U' x = g, from the first row down. */
static ll_status solve_down(ll_context *ctx, void *arg, int64_t group, int worker) {
    (void)ctx;
    lli_precondition *p = arg;
    double *x = load(p, group, worker);
    for (int64_t k = 0; k < p->n; k++) {
        const double *row = p->U + k * p->ld;
        for (int c = 0; c < CLASSES; c++)
            x[k * CLASSES + c] /= row[k];
        for (int64_t j = k + 1; j < p->n; j++)
            subtract(x + j * CLASSES, row[j], x + k * CLASSES);
    }
    store(p, group, x);
    return LL_OK;
}

ll_status lli_precondition_theta(ll_context *ctx, lli_precondition *p, double *u) {
    p->x = u;
    return lli_pool_run(ctx, solve_up, p, (p->K - 1) / CLASSES + 1);
}

ll_status lli_precondition_gradient(ll_context *ctx, lli_precondition *p, double *g) {
    p->x = g;
    return lli_pool_run(ctx, solve_down, p, (p->K - 1) / CLASSES + 1);
}
