/* SPDX-License-Identifier: MIT */
/* The gradient of a batch is collected whole, corrected by the one at theta*, and handed to the rule, or to the metric. */
#include "train/around.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "linear/linear.h"
#include "train/solve.h"

/* ---- what is shared ---- */

/* The gradient of all rows at theta*, from f64 to the layout of the model. W and b are those of theta*, and then of the gradient. */
static ll_status whole_gradient(ll_context *ctx, lli_around *a, const ll_dataset *data, float *const *tensors) {
    const lli_model *m = a->model;
    int64_t K = m->K, D = m->D, ld = lli_kernels_stride(D);
    lli_objective *objective = NULL;
    double *theta = NULL, *gradient = NULL, value;
    ll_status status;
    LLI_DO(lli_objective_new(&objective, ctx, data, K, 0));
    LLI_DO(lli_memory_new(ctx, &theta, K * ld, sizeof *theta));
    LLI_DO(lli_memory_new(ctx, &gradient, K * ld, sizeof *gradient));
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            theta[k * ld + j] = (double)tensors[0][k * D + j];
        theta[k * ld + D] = (double)tensors[1][k];
    }
    LLI_DO(lli_objective_run(ctx, objective, &value, gradient, theta));
    double scale = lli_dataset_weight(data) / a->N; /* its mean is over weights, that of a batch over rows */
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            tensors[0][k * D + j] = (float)(scale * gradient[k * ld + j]);
        tensors[1][k] = (float)(scale * gradient[k * ld + D]);
    }
    m->ops->pack(m, a->gradient, (const float *const *)tensors);
done:
    lli_objective_free(objective);
    lli_memory_free(theta);
    lli_memory_free(gradient);
    return status;
}

static ll_status make_metric(ll_context *ctx, lli_around *a, const ll_dataset *data, float *const *tensors, double tau) {
    const lli_curvature_head head = {a->model->K, tensors[0], tensors[1]};
    LLI_TRY(lli_curvature_init(ctx, &a->curvature, data, &head, false));
    int64_t K = a->curvature.K, n = a->curvature.n;
    LLI_TRY(lli_memory_new(ctx, &a->root, K * n, sizeof *a->root));
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < n; j++)
            a->root[i * n + j] = 1 / sqrt(a->curvature.b[i] * a->curvature.a[j] + tau);
    return LL_OK;
}

ll_status lli_around_init(ll_context *ctx, lli_around *a, const ll_dataset *data, const lli_model *model, const float *theta,
                          double prior_precision, bool control, bool metric) {
    *a = (lli_around){.model = model, .N = (double)data->rows.N};
    float *block = NULL, *tensors[LLI_TENSORS_MAX];
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &block, lli_model_tensor_floats(model), sizeof *block));
    lli_model_place_tensors(tensors, model, block);
    model->ops->unpack(model, tensors, theta);
    if (metric)
        LLI_DO(make_metric(ctx, a, data, tensors, prior_precision));
    if (control) {
        LLI_DO(lli_memory_new(ctx, &a->theta, model->floats, sizeof *a->theta));
        LLI_DO(lli_memory_new(ctx, &a->gradient, model->floats, sizeof *a->gradient));
        memcpy(a->theta, theta, (size_t)model->floats * sizeof *theta);
        LLI_DO(whole_gradient(ctx, a, data, tensors));
    }
done:
    lli_memory_free(block);
    if (status != LL_OK)
        lli_around_release(a);
    return status;
}

void lli_around_release(lli_around *a) {
    lli_memory_free(a->theta);
    lli_memory_free(a->gradient);
    lli_memory_free(a->root);
    lli_curvature_release(&a->curvature);
    *a = (lli_around){0};
}

/* ---- of one chain ---- */

ll_status lli_around_scratch_init(ll_context *ctx, lli_around_scratch *scratch, const lli_around *a, int64_t B) {
    const lli_model *m = a->model;
    *scratch = (lli_around_scratch){.around = a};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &scratch->work, m->ops->descend_floats(m, B, lli_pool_workers(ctx)), sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &scratch->gradient, m->floats, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &scratch->other, m->floats, sizeof(float)));
    if (a->root) {
        int64_t count = a->curvature.K * a->curvature.n;
        LLI_DO(lli_memory_new(ctx, &scratch->tensors, lli_model_tensor_floats(m), sizeof(float)));
        LLI_DO(lli_memory_new(ctx, &scratch->g, count, sizeof(double)));
        LLI_DO(lli_memory_new(ctx, &scratch->y, count, sizeof(double)));
        LLI_DO(lli_memory_new(ctx, &scratch->wide, count, sizeof(double)));
        LLI_DO(lli_memory_new(ctx, &scratch->product, LLI_LINEAR_WORK, sizeof(double)));
    }
done:
    if (status != LL_OK)
        lli_around_scratch_release(scratch);
    return status;
}

void lli_around_scratch_release(lli_around_scratch *scratch) {
    lli_memory_free(scratch->work);
    lli_memory_free(scratch->gradient);
    lli_memory_free(scratch->other);
    lli_memory_free(scratch->tensors);
    lli_memory_free(scratch->g);
    lli_memory_free(scratch->y);
    lli_memory_free(scratch->wide);
    lli_memory_free(scratch->product);
    *scratch = (lli_around_scratch){0};
}

static void collect(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    (void)part;
    memcpy((float *)arg + first, gradient, (size_t)count * sizeof *gradient);
}

/* x [K,n] in f64 of a vector in the layout of the model. */
static void widen(lli_around_scratch *scratch, double *x, const float *packed) {
    const lli_model *m = scratch->around->model;
    int64_t D = m->D, n = D + 1;
    float *tensors[LLI_TENSORS_MAX];
    lli_model_place_tensors(tensors, m, scratch->tensors);
    m->ops->unpack(m, tensors, packed);
    for (int64_t k = 0; k < m->K; k++) {
        for (int64_t j = 0; j < D; j++)
            x[k * n + j] = (double)tensors[0][k * D + j];
        x[k * n + D] = (double)tensors[1][k];
    }
}

static void narrow(lli_around_scratch *scratch, float *packed, const double *x) {
    const lli_model *m = scratch->around->model;
    int64_t D = m->D, n = D + 1;
    float *tensors[LLI_TENSORS_MAX];
    lli_model_place_tensors(tensors, m, scratch->tensors);
    for (int64_t k = 0; k < m->K; k++) {
        for (int64_t j = 0; j < D; j++)
            tensors[0][k * D + j] = (float)x[k * n + j];
        tensors[1][k] = (float)x[k * n + D];
    }
    m->ops->pack(m, packed, (const float *const *)tensors);
}

/* In white coordinates: y = -lr N g + sqrt(2 lr) xi. The normal of element (k,j) is number k ld + j, as without the metric. */
static void white_step(lli_around_scratch *scratch, const lli_step *s, bool noise) {
    const lli_model *m = scratch->around->model;
    int64_t K = m->K, n = m->D + 1, ld = lli_kernels_stride(m->D);
    lli_stream stream = lli_rng_stream(s->seed, LLI_PURPOSE_NOISE, s->member, s->step);
    double pull = s->lr * scratch->around->N, push = sqrt(2 * s->lr);
    enum { NORMALS = 256 };
    float xi[NORMALS];
    for (int64_t k = 0; k < K; k++)
        for (int64_t at = 0, count; at < n; at += count) {
            count = LLI_MIN(NORMALS, n - at);
            if (noise)
                m->kernels->normals(xi, stream, k * ld + at, count);
            for (int64_t j = 0; j < count; j++) {
                double *y = &scratch->y[k * n + at + j];
                *y = -pull * *y + (noise ? push * (double)xi[j] : 0);
            }
        }
}

static void metric_step(lli_around_scratch *scratch, float *theta, const lli_step *s, bool noise) {
    const lli_around *a = scratch->around;
    int64_t count = a->curvature.K * a->curvature.n;
    widen(scratch, scratch->y, theta);
    widen(scratch, scratch->g, scratch->gradient);
    for (int64_t i = 0; i < count; i++)
        scratch->g[i] += s->decay * scratch->y[i];
    lli_curvature_to_white(&a->curvature, scratch->y, scratch->g, a->root, scratch->wide, scratch->product);
    white_step(scratch, s, noise);
    lli_curvature_to_theta(&a->curvature, scratch->g, scratch->y, a->root, scratch->wide, scratch->product);
    narrow(scratch, scratch->other, scratch->g);
    for (int64_t i = 0; i < a->model->floats; i++)
        theta[i] += scratch->other[i];
}

ll_status lli_around_step(double *nll, ll_context *ctx, lli_around_scratch *scratch, const lli_optimiser *optimiser, float *theta,
                          float *slots, const lli_rows *rows, const lli_step *step) {
    const lli_around *a = scratch->around;
    const lli_model *m = a->model;
    LLI_TRY(m->ops->descend(nll, ctx, m, collect, scratch->gradient, theta, scratch->work, rows, step));
    if (a->theta) {
        double ignored;
        LLI_TRY(m->ops->descend(&ignored, ctx, m, collect, scratch->other, a->theta, scratch->work, rows, step));
        for (int64_t i = 0; i < m->floats; i++)
            scratch->gradient[i] += a->gradient[i] - scratch->other[i];
    }
    if (a->root) {
        metric_step(scratch, theta, step, optimiser->noise);
        return LL_OK;
    }
    lli_descent d = {.optimiser = optimiser, .model = m, .step = step, .theta = theta, .slots = slots};
    optimiser->rule->prepare(&d, step);
    for (int p = 0; p < m->parts; p++)
        lli_optimiser_apply(&d, &m->part[p], m->part[p].first, m->part[p].count, scratch->gradient + m->part[p].first);
    return LL_OK;
}
