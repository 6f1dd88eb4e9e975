/* SPDX-License-Identifier: MIT */
/* Members of an ensemble of draws, as parameters: theta* + C U' (sqrt(R) o e) V, or theta* + C L e with L L' = P. docs/math/laplace.md */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "ensemble/ensemble.h"
#include "kernels/require.h"
#include "linear/linear.h"

typedef struct drawing {
    const lli_gaussian *g;
    const lli_kernels *kernels;
    int64_t K, n;
    double *V, *U, *L; /* in f64; NULL: none */
    double *y, *t;     /* [K,n] */
    float *e;          /* [K n] */
} drawing;

static ll_status widen(ll_context *ctx, double **out, const float *in, int64_t count) {
    if (!in)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, out, count, sizeof **out));
    for (int64_t i = 0; i < count; i++)
        (*out)[i] = (double)in[i];
    return LL_OK;
}

/* L of P. A centred P is singular along the mode that adds one vector to all classes; there it gets the mean variance, which the centring
 * of the draws takes away again. */
static ll_status root_of(ll_context *ctx, drawing *d, const double *P) {
    int64_t size = d->K * d->n, failed;
    LLI_TRY(lli_memory_new(ctx, &d->L, size * size, sizeof *d->L));
    memcpy(d->L, P, (size_t)(size * size) * sizeof *P);
    double mean = 0;
    for (int64_t i = 0; i < size; i++)
        mean += P[i * size + i] / (double)size;
    for (int64_t k = 0; !d->g->common && k < d->K; k++)
        for (int64_t l = 0; l < d->K; l++)
            for (int64_t j = 0; j < d->n; j++)
                d->L[(k * d->n + j) * size + l * d->n + j] += mean / (double)d->K;
    LLI_TRY(lli_cholesky_factor(ctx, &failed, d->L, size));
    return failed < 0 ? LL_OK
                      : lli_fail(ctx, LL_ERR_DATA,
                                 "the covariance of the members is singular within rounding at parameter %" PRId64
                                 "; a larger prior precision gives one that can be drawn from",
                                 failed);
}

static ll_status begin(ll_context *ctx, drawing *d, const ll_ensemble *of) {
    const lli_gaussian *g = d->g = &of->plan.gaussian;
    int64_t K = d->K = of->plan.K, n = d->n = of->plan.D + 1;
    LLI_TRY(lli_kernels_require(ctx, &d->kernels));
    LLI_TRY(widen(ctx, &d->V, g->at[LLI_GAUSSIAN_V], n * n));
    LLI_TRY(widen(ctx, &d->U, g->at[LLI_GAUSSIAN_U], K * K));
    if (g->at[LLI_GAUSSIAN_P])
        LLI_TRY(root_of(ctx, d, g->at[LLI_GAUSSIAN_P]));
    LLI_TRY(lli_memory_new(ctx, &d->y, K * n, sizeof *d->y));
    LLI_TRY(lli_memory_new(ctx, &d->t, K * n, sizeof *d->t));
    return lli_memory_new(ctx, &d->e, K * n, sizeof *d->e);
}

static void end(drawing *d) {
    void *blocks[] = {d->V, d->U, d->L, d->y, d->t, d->e};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
}

/* y <- a b, a [m,k], b [k,n], by way of t. */
static ll_status replace(ll_context *ctx, drawing *d, lli_matrix64 a, lli_matrix64 b, int64_t m, int64_t n, int64_t k) {
    memset(d->t, 0, (size_t)(d->K * d->n) * sizeof *d->t);
    LLI_TRY(lli_product_add(ctx, d->t, a, b, m, n, k, 1));
    double *y = d->y;
    d->y = d->t;
    d->t = y;
    return LL_OK;
}

/* What member s adds to theta*, into y [K,n]. */
static ll_status deviate(ll_context *ctx, drawing *d, uint64_t seed, int64_t s) {
    int64_t K = d->K, n = d->n;
    const float *R = d->g->at[LLI_GAUSSIAN_R];
    d->kernels->normals(d->e, lli_rng_stream(seed, LLI_PURPOSE_DRAWN, s, 0), 0, K * n);
    for (int64_t i = 0; i < K * n; i++)
        d->y[i] = R ? sqrt((double)R[i]) * (double)d->e[i] : (double)d->e[i];
    if (d->V)
        LLI_TRY(replace(ctx, d, (lli_matrix64){d->y, n, 1}, (lli_matrix64){d->V, n, 1}, K, n, n));
    if (d->U)
        LLI_TRY(replace(ctx, d, (lli_matrix64){d->U, 1, K}, (lli_matrix64){d->y, n, 1}, K, n, K));
    for (int64_t i = K * n - 1; d->L && i >= 0; i--) {
        double sum = 0;
        for (int64_t j = 0; j <= i; j++)
            sum += d->L[i * K * n + j] * d->y[j];
        d->y[i] = sum;
    }
    for (int64_t j = 0; !d->g->common && j < n; j++) {
        double mean = 0;
        for (int64_t k = 0; k < K; k++)
            mean += d->y[k * n + j] / (double)K;
        for (int64_t k = 0; k < K; k++)
            d->y[k * n + j] -= mean;
    }
    return LL_OK;
}

/* The record of the Gaussian's ensemble, without what makes it one of draws. */
static ll_status plan_of(ll_context *ctx, lli_ensemble_plan *plan, const ll_ensemble *of) {
    static const char *const left_out[] = {LLI_GAUSSIAN_STRUCTURE, LLI_GAUSSIAN_COMMON, LLI_SCORES_ENTRY, "calibration"};
    const lli_provenance *from = &of->plan.provenance;
    *plan = (lli_ensemble_plan){.S = of->plan.S, .stored = of->plan.S, .K = of->plan.K, .D = of->plan.D};
    for (int64_t i = 0; i < from->count; i++) {
        bool skip = false;
        for (size_t j = 0; j < LLI_COUNT(left_out); j++)
            skip |= strcmp(from->pairs[i].key, left_out[j]) == 0;
        for (const char *const *c = lli_certificate_entries; *c; c++)
            skip |= strcmp(from->pairs[i].key, *c) == 0;
        if (!skip)
            LLI_TRY(lli_provenance_add(ctx, &plan->provenance, from->pairs[i].key, from->pairs[i].value));
    }
    LLI_TRY(lli_provenance_add(ctx, &plan->provenance, "drawn-from", of->plan.gaussian.structure));
    plan->method = lli_provenance_get(&plan->provenance, "method");
    LLI_TRY(lli_memory_new(ctx, &plan->weight, plan->S, sizeof *plan->weight));
    for (int64_t s = 0; s < plan->S; s++)
        plan->weight[s] = 1;
    return LL_OK;
}

static ll_status fill(ll_context *ctx, ll_ensemble *out, const ll_ensemble *of) {
    drawing d = {0};
    ll_status status;
    LLI_DO(begin(ctx, &d, of));
    int64_t K = d.K, n = d.n, D = n - 1;
    for (int64_t s = 0; s < out->plan.S; s++) {
        LLI_DO(lli_cancel_check(ctx));
        LLI_DO(deviate(ctx, &d, of->plan.seed, s));
        for (int64_t k = 0; k < K; k++) {
            for (int64_t j = 0; j < D; j++)
                out->owned[0][(s * K + k) * D + j] = (float)((double)of->tensor[0][k * D + j] + d.y[k * n + j]);
            out->owned[1][s * K + k] = (float)((double)of->tensor[1][k] + d.y[k * n + D]);
        }
        lli_fingerprint_take(&out->fingerprint[s], out->plan.model, out->tensor, s);
    }
done:
    end(&d);
    return status;
}

ll_status ll_ensemble_draw(ll_ensemble **out, ll_context *ctx, const ll_ensemble *of) {
    LLI_NEED(ctx, out);
    *out = NULL;
    LLI_NEED(ctx, of);
    if (!of->plan.gaussian.structure)
        return lli_fail(ctx, LL_ERR_USAGE, "an ensemble of %s has no Gaussian to draw from: its members are its own already",
                        of->plan.method);
    lli_ensemble_plan plan;
    ll_ensemble *drawn = NULL;
    ll_status status = plan_of(ctx, &plan, of);
    if (status != LL_OK) {
        lli_ensemble_plan_release(&plan);
        return status;
    }
    LLI_DO(lli_ensemble_new(&drawn, ctx, &plan));
    LLI_DO(fill(ctx, drawn, of));
    *out = drawn;
    drawn = NULL;
done:
    ll_ensemble_free(drawn);
    return status;
}
