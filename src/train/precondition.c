/* SPDX-License-Identifier: MIT */
/* G, its Cholesky factor, and solves with it. Every number is made by one task, so threads change no bit. */
#include "train/precondition.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "linear/linear.h"

enum { BAND = 64, CHUNK = 64 }; /* rows of G per task; data rows summed in f32 */

struct lli_precondition {
    const lli_kernels *kernels;
    const ll_dataset *data;
    int64_t n, ld, K; /* n = D + 1 */
    double *L;        /* first G [n,ld], then the factor [n,n] with G = L L': U is L' */
    float *z;         /* [workers,CHUNK,ld] */
    char *scratch;    /* [workers,chunk_bytes] of rows in files */
    int64_t chunk_bytes;
    double *x;       /* [n,K] of a solve: one class per column */
    bool borrowed;   /* L is another's */
    lli_share share; /* of the bands of G, which several ranks make */
};

/* Rows of z times the square roots of their weights. */
static void weigh(float *z, const float *weights, int64_t m, int64_t ld) {
    for (int64_t i = 0; i < m; i++) {
        float root = sqrtf(weights[i]);
        for (int64_t j = 0; j < ld; j++)
            z[i * ld + j] *= root;
    }
}

static int64_t bands(const lli_precondition *p) {
    return (p->n - 1) / BAND + 1;
}

/* A band of rows of the weighted Z'Z: the kernel that sums gradients, with the features themselves in place of the residuals. */
static ll_status sum_band(ll_context *ctx, void *arg, int64_t band, int worker) {
    lli_precondition *p = arg;
    const lli_rows *rows = &p->data->rows;
    float *z = p->z + worker * CHUNK * p->ld;
    int64_t top = (lli_share_begin(&p->share, bands(p)) + band) * BAND, count = LLI_MIN(BAND, p->n - top);
    for (int64_t first = 0; first < rows->N; first += CHUNK) {
        LLI_TRY(lli_cancel_check(ctx));
        lli_rows block;
        int64_t m = LLI_MIN(CHUNK, rows->N - first);
        LLI_TRY(lli_rows_block(&block, ctx, rows, p->scratch + worker * p->chunk_bytes, first, m));
        p->kernels->gather(z, block.features, block.half, NULL, 0, m, rows->D, p->ld);
        if (p->data->weights)
            weigh(z, p->data->weights + first, m, p->ld);
        p->kernels->gradient(p->L + top * p->ld, z + top, z, m, count, p->ld, p->ld);
    }
    return LL_OK;
}

/* G, of which each rank makes some bands. */
static ll_status sum_bands(ll_context *ctx, lli_precondition *p, lli_team *team) {
    if (team)
        p->share = (lli_share){team->rank, team->size};
    LLI_TRY(lli_pool_run(ctx, sum_band, p, lli_share_end(&p->share, bands(p)) - lli_share_begin(&p->share, bands(p))));
    for (int64_t r = 0; team && r < team->size; r++) {
        const lli_share of = {r, team->size};
        int64_t first = lli_share_begin(&of, bands(p)) * BAND, end = LLI_MIN(lli_share_end(&of, bands(p)) * BAND, p->n);
        LLI_TRY(team->table->broadcast(team, ctx, p->L + first * p->ld, (end - first) * p->ld * (int64_t)sizeof *p->L, r));
    }
    return LL_OK;
}

/* The rows of G move together, and become L. */
static ll_status factorise(ll_context *ctx, lli_precondition *p) {
    int64_t failed;
    for (int64_t k = 1; k < p->n; k++)
        memmove(p->L + k * p->n, p->L + k * p->ld, (size_t)p->n * sizeof *p->L);
    LLI_TRY(lli_cholesky_factor(ctx, &failed, p->L, p->n));
    return failed < 0
               ? LL_OK
               : lli_fail(ctx, LL_ERR_DIVERGED, "the features are too large or too alike for the search for theta*; scale them to about 1");
}

ll_status lli_precondition_new(lli_precondition **out, ll_context *ctx, const ll_dataset *data, int64_t K, double lambda, lli_team *team) {
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
    LLI_DO(lli_memory_new(ctx, &p->L, p->n * p->ld, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &p->z, workers * CHUNK * p->ld, sizeof(float)));
    p->chunk_bytes = lli_rows_scratch(&data->rows, CHUNK);
    LLI_DO(lli_memory_new(ctx, &p->scratch, workers * p->chunk_bytes, 1));
    LLI_DO(lli_memory_new(ctx, &p->x, p->n * K, sizeof(double)));
    LLI_DO(sum_bands(ctx, p, team));
    double mean = 0, weight = lli_dataset_weight(data);
    for (int64_t k = 0; k < p->n; k++)
        mean += p->L[k * p->ld + k] / weight / (double)p->n;
    lambda = fmax(lambda, 1e-5 * mean); /* above the rounding of the sums */
    for (int64_t k = 0; k < p->n; k++) {
        for (int64_t j = 0; j < p->n; j++)
            p->L[k * p->ld + j] /= weight;
        p->L[k * p->ld + k] += lambda;
    }
    LLI_DO(factorise(ctx, p));
    *out = p;
    p = NULL;
done:
    lli_precondition_free(p);
    return status;
}

ll_status lli_precondition_share(lli_precondition **out, ll_context *ctx, const lli_precondition *owner) {
    *out = NULL;
    lli_precondition *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    *p = *owner;
    p->borrowed = true;
    p->z = NULL;
    p->scratch = NULL;
    ll_status status = lli_memory_new(ctx, &p->x, p->n * p->K, sizeof(double));
    *out = status == LL_OK ? p : NULL;
    if (status != LL_OK)
        lli_memory_free(p);
    return status;
}

void lli_precondition_free(lli_precondition *p) {
    if (!p)
        return;
    if (!p->borrowed)
        lli_memory_free(p->L);
    lli_memory_free(p->z);
    lli_memory_free(p->scratch);
    lli_memory_free(p->x);
    lli_memory_free(p);
}

typedef ll_status cholesky_solve(ll_context *ctx, const double *L, double *x, int64_t n, int64_t m);

/* Of all classes, which become columns meanwhile. */
static ll_status solve(ll_context *ctx, lli_precondition *p, double *theta, cholesky_solve *with) {
    if (p->K == 0) /* a rank without classes */
        return LL_OK;
    for (int64_t k = 0; k < p->K; k++)
        for (int64_t j = 0; j < p->n; j++)
            p->x[j * p->K + k] = theta[k * p->ld + j];
    LLI_TRY(with(ctx, p->L, p->x, p->n, p->K));
    for (int64_t k = 0; k < p->K; k++)
        for (int64_t j = 0; j < p->n; j++)
            theta[k * p->ld + j] = p->x[j * p->K + k];
    return LL_OK;
}

ll_status lli_precondition_theta(ll_context *ctx, lli_precondition *p, double *u) {
    return solve(ctx, p, u, lli_cholesky_solve_transposed);
}

ll_status lli_precondition_gradient(ll_context *ctx, lli_precondition *p, double *g) {
    return solve(ctx, p, g, lli_cholesky_solve);
}

ll_status lli_precondition_start(ll_context *ctx, lli_precondition *p, double *theta) {
    LLI_TRY(lli_cancel_check(ctx));
    for (int64_t k = 0; k < p->K; k++) {
        double *t = theta + k * p->ld;
        for (int64_t i = 0; i < p->n; i++) { /* (L' t)_i reads t from i on */
            double sum = 0;
            for (int64_t j = i; j < p->n; j++)
                sum += p->L[j * p->n + i] * t[j];
            t[i] = sum;
        }
    }
    return LL_OK;
}
