/* SPDX-License-Identifier: MIT */
/* Integration by parts: the mean of (theta - c)' grad(N U) under exp(-N U) is the number of parameters, for any c. */
#include "methods/virial.h"

#include <math.h>

#include "base/memory.h"
#include "kernels/kernels.h"
#include "methods/method.h"
#include "train/solve.h"

enum { MEMBERS = 10 }; /* that are looked at, from the second half */

/* theta [K,ld] of W [K,D] and b [K]. */
static void widen(double *theta, const float *W, const float *b, int64_t K, int64_t D, int64_t ld) {
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            theta[k * ld + j] = (double)W[k * D + j];
        theta[k * ld + D] = (double)b[k];
    }
}

ll_status lli_virial_ratio(ll_context *ctx, double *ratio, const ll_ensemble *e, const ll_dataset *data, const lli_theta_star *star,
                           double tau) {
    const lli_model *model = star->model;
    int64_t K = model->K, D = model->D, ld = lli_kernels_stride(D), S = e->plan.stored, count = LLI_MIN(MEMBERS, S - S / 2);
    const float *W = ll_ensemble_weight_view(e).data, *b = ll_ensemble_bias_view(e).data;
    lli_objective *objective = NULL;
    float *block = NULL, *tensors[LLI_TENSORS_MAX];
    double *centre = NULL, *theta = NULL, *gradient = NULL, value, sum = 0;
    ll_status status;
    LLI_DO(lli_objective_new(&objective, ctx, data, K, tau));
    LLI_DO(lli_memory_new(ctx, &block, lli_model_tensor_floats(model), sizeof *block));
    LLI_DO(lli_memory_new(ctx, &centre, K * ld, sizeof *centre));
    LLI_DO(lli_memory_new(ctx, &theta, K * ld, sizeof *theta));
    LLI_DO(lli_memory_new(ctx, &gradient, K * ld, sizeof *gradient));
    lli_model_place_tensors(tensors, model, block);
    model->ops->unpack(model, tensors, star->theta);
    widen(centre, tensors[0], tensors[1], K, D, ld);
    for (int64_t i = 0; i < count; i++) {
        int64_t s = S - 1 - i * (S - S / 2) / count;
        widen(theta, W + s * K * D, b + s * K, K, D, ld);
        LLI_DO(lli_objective_run(ctx, objective, &value, gradient, theta));
        for (int64_t j = 0; j < K * ld; j++)
            sum += (theta[j] - centre[j]) * gradient[j];
    }
    *ratio = sum * lli_dataset_weight(data) / (double)(count * K * (D + 1));
done:
    lli_objective_free(objective);
    lli_memory_free(block);
    lli_memory_free(centre);
    lli_memory_free(theta);
    lli_memory_free(gradient);
    return status;
}

bool lli_virial_applies(const ll_fit_options *o) {
    const lli_optimiser *optimiser = lli_method_find(o->method)->optimiser;
    return lli_fit_preconditions(o) || (optimiser && optimiser->rule->rests);
}

/* The excess is in proportion to lr while it is small. */
static double smaller(double lr, double ratio) {
    return lr * fmax(0.1, fmin(0.5, 0.05 / (ratio - 1)));
}

ll_status lli_virial_tell(ll_context *ctx, const ll_fit_options *o, const ll_ensemble *e, const ll_dataset *data,
                          const lli_theta_star *star) {
    double ratio, d = (double)(star->model->K * (star->model->D + 1)), chance = 3 * sqrt(2 / (d * MEMBERS));
    LLI_TRY(lli_virial_ratio(ctx, &ratio, e, data, star, o->prior_precision));
    if (ratio > 1.15 + chance)
        lli_log(ctx, LL_LOG_WARNING,
                "the virial ratio of the members of %s is %.3g, and that of the posterior is 1: they are too wide, because steps are too "
                "long or "
                "batches too small; use a smaller `lr`, such as %.1g, or a larger `batch-size`",
                o->method, ratio, smaller(o->lr, ratio));
    else if (ratio < 0.5 - chance)
        lli_log(
            ctx, LL_LOG_WARNING,
            "the virial ratio of the members of %s is %.2g, and that of the posterior is 1: they stay near theta*; for the posterior use "
            "`method sgld` with `precondition kfac`, or `method hmc`, else more `samples`, a larger `thin` or a larger `lr`",
            o->method, ratio);
    else
        lli_log(ctx, LL_LOG_NOTE, "the virial ratio of the members of %s is %.3g; that of the posterior is 1", o->method, ratio);
    return LL_OK;
}
