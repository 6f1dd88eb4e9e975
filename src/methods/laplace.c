/* SPDX-License-Identifier: MIT */
/* Laplace: theta* and the Gaussian whose precision is the Hessian there. Members are draws of logits at prediction. docs/math/laplace.md */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "linear/linear.h"
#include "methods/method.h"
#include "train/curvature.h"

static int64_t steps(const lli_fit *fit) {
    (void)fit;
    return 1;
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    if (!lli_store_has(fit->store, task))
        LLI_TRY(lli_fit_save(ctx, fit, task, fit->star->theta, worker));
    lli_meter_add(ctx, fit->meter, 1);
    return LL_OK;
}

static void narrow(float *out, const double *in, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)in[i];
}

/* R_ij = 1 / (b_i a_j + tau). */
static ll_status fill_factors(ll_context *ctx, lli_gaussian *g, const lli_curvature *c, double tau) {
    int64_t K = c->K, n = c->n;
    LLI_TRY(lli_gaussian_allocate(ctx, g, LLI_GAUSSIAN_V, K, n - 1));
    LLI_TRY(lli_gaussian_allocate(ctx, g, LLI_GAUSSIAN_R, K, n - 1));
    narrow(g->owned[LLI_GAUSSIAN_V], c->V, n * n);
    if (c->U) {
        LLI_TRY(lli_gaussian_allocate(ctx, g, LLI_GAUSSIAN_U, K, n - 1));
        narrow(g->owned[LLI_GAUSSIAN_U], c->U, K * K);
    }
    float *R = g->owned[LLI_GAUSSIAN_R];
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < n; j++)
            R[i * n + j] = (float)(1 / (c->b[i] * c->a[j] + tau));
    return LL_OK;
}

static ll_status factors(ll_context *ctx, lli_gaussian *g, const ll_dataset *data, const lli_curvature_head *head, double tau) {
    lli_curvature c;
    LLI_TRY(lli_curvature_init(ctx, &c, data, head, !lli_gaussian_has(g->structure, LLI_GAUSSIAN_U)));
    ll_status status = fill_factors(ctx, g, &c, tau);
    lli_curvature_release(&c);
    return status;
}

static ll_status diagonal(ll_context *ctx, lli_gaussian *g, const ll_dataset *data, const lli_curvature_head *head, double tau) {
    int64_t n = data->rows.D + 1, count = head->K * n;
    double *h;
    LLI_TRY(lli_memory_new(ctx, &h, count, sizeof *h));
    ll_status status;
    LLI_DO(lli_curvature_diagonal(ctx, h, data, head));
    LLI_DO(lli_gaussian_allocate(ctx, g, LLI_GAUSSIAN_R, head->K, n - 1));
    for (int64_t i = 0; i < count; i++)
        ((float *)g->owned[LLI_GAUSSIAN_R])[i] = (float)(1 / (h[i] + tau));
done:
    lli_memory_free(h);
    return status;
}

/* From both sides C = I - 11'/K over the classes: x [K n,K n]. */
static void centre(double *x, int64_t K, int64_t n) {
    int64_t size = K * n;
    for (int side = 0; side < 2; side++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t other = 0; other < size; other++) {
                int64_t step = side ? n : n * size;
                double mean = 0, *at = x + (side ? other * size + j : j * size + other);
                for (int64_t k = 0; k < K; k++)
                    mean += at[k * step] / (double)K;
                for (int64_t k = 0; k < K; k++)
                    at[k * step] -= mean;
            }
}

/* P = (H + tau I)^-1, from L^-1 of Cholesky: P = L'^-1 L^-1. */
static ll_status whole(ll_context *ctx, lli_gaussian *g, const ll_dataset *data, const lli_curvature_head *head, double tau) {
    int64_t n = data->rows.D + 1, size = head->K * n, failed;
    double *h;
    LLI_TRY(lli_memory_new(ctx, &h, size * size, sizeof *h));
    ll_status status;
    LLI_DO(lli_curvature_full(ctx, h, data, head));
    for (int64_t i = 0; i < size; i++)
        h[i * size + i] += tau;
    LLI_DO(lli_cholesky_factor(ctx, &failed, h, size));
    if (failed >= 0)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA,
                        "the Hessian is singular within rounding at parameter %" PRId64 " with `prior-precision %g`; use a larger one",
                        failed, tau));
    LLI_DO(lli_gaussian_allocate(ctx, g, LLI_GAUSSIAN_P, head->K, n - 1));
    double *P = g->owned[LLI_GAUSSIAN_P];
    for (int64_t i = 0; i < size; i++)
        P[i * size + i] = 1;
    LLI_DO(lli_cholesky_solve(ctx, h, P, size, size));
    LLI_DO(lli_cholesky_solve_transposed(ctx, h, P, size, size));
    if (!g->common)
        centre(P, head->K, n);
done:
    lli_memory_free(h);
    return status;
}

static ll_status check(ll_context *ctx, const ll_fit_options *o, int64_t K, int64_t D) {
    bool full = lli_gaussian_has(o->structure, LLI_GAUSSIAN_P), square = lli_gaussian_has(o->structure, LLI_GAUSSIAN_U);
    int64_t size;
    if (!lli_fit_chooses_prior(o) && !(o->prior_precision >= 1e-30))
        return lli_fail(ctx, LL_ERR_USAGE,
                        "laplace needs a `prior-precision` of at least 1e-30, and it is %g: without a prior, what no row informs has no "
                        "bounded variance",
                        o->prior_precision);
    if (full && (!lli_multiply(&size, K, D + 1) || size > LLI_GAUSSIAN_FULL_MAX))
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`structure full` is for K (D + 1) of up to %d parameters, and this head has %.0f; use `structure kfac`",
                        LLI_GAUSSIAN_FULL_MAX, (double)K * (double)(D + 1));
    if (square && K > LLI_METHOD_CLASSES_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "`structure kfac` is for up to %d classes, and this head has %" PRId64 "; use `structure diagb`",
                        LLI_METHOD_CLASSES_MAX, K);
    return LL_OK;
}

static ll_status gaussian(ll_context *ctx, lli_gaussian *g, const ll_fit_options *o, const ll_dataset *data, const lli_theta_star *star) {
    double tau = o->prior_precision;
    const lli_model *model = star->model;
    LLI_TRY(check(ctx, o, model->K, model->D)); /* a head that was given may have more classes than the rows */
    g->structure = lli_gaussian_name(o->structure);
    g->common = o->common_mode;
    if (star->curvature && lli_gaussian_has(g->structure, LLI_GAUSSIAN_V))
        return fill_factors(ctx, g, star->curvature, tau);
    float *scratch, *tensors[LLI_TENSORS_MAX];
    LLI_TRY(lli_memory_new(ctx, &scratch, lli_model_tensor_floats(model), sizeof *scratch));
    lli_model_place_tensors(tensors, model, scratch);
    model->ops->unpack(model, tensors, star->theta);
    const lli_curvature_head head = {model->K, tensors[0], tensors[1]};
    ll_status status = (lli_gaussian_has(g->structure, LLI_GAUSSIAN_P)   ? whole
                        : lli_gaussian_has(g->structure, LLI_GAUSSIAN_V) ? factors
                                                                         : diagonal)(ctx, g, data, &head, tau);
    lli_memory_free(scratch);
    return status;
}

const lli_method lli_method_laplace = {
    .info = {"laplace", "draws from the Gaussian of the Hessian at theta*", 100, 0, LLI_GROUP_GAUSSIAN},
    .reads = (const size_t[]){LLI_READS(samples), LLI_READS(prior_precision), LLI_READS(seed), LLI_READS(key), LLI_READS(structure),
                              LLI_READS(common_mode), 0},
    .places = LLI_PLACE_HEAD,
    .simplicity = 50,
    .members = LLI_MEMBERS_DRAWS,
    .check = check,
    .gaussian = gaussian,
    .tasks = lli_method_one,
    .steps = steps,
    .run = run,
};
