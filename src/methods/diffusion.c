/* SPDX-License-Identifier: MIT */
/* The diffusion time is S x thin x lr x lambda: 1 is the time in which a chain forgets where it was. */
#include "methods/diffusion.h"

#include <math.h>

#include "base/memory.h"
#include "methods/chains.h"
#include "train/curvature.h"

#define POINT 0.1     /* of the variance is in slower directions */
#define ROUNDING 1e-9 /* without a prior the common mode has no bounded variance: nothing of it may stay */

/* The share of the variance of direction (i,j): a_j / (b_i a_j + tau), times what u_i has besides the common mode. */
static double share(const lli_curvature *c, int64_t i, int64_t j, double beside, double tau) {
    return c->b[i] * c->a[j] + tau > 0 ? beside * c->a[j] / (c->b[i] * c->a[j] + tau) : 0;
}

static double share_below(const lli_curvature *c, const double *beside, double limit, double tau) {
    double sum = 0;
    for (int64_t i = 0; i < c->K; i++)
        for (int64_t j = 0; j < c->n; j++)
            if (c->b[i] * c->a[j] + tau <= limit)
                sum += share(c, i, j, beside[i], tau);
    return sum;
}

ll_status lli_diffusion_lambda(ll_context *ctx, double *lambda, const ll_dataset *rows, int64_t N, const lli_curvature_head *head,
                               double tau) {
    enum { HALVINGS = 60 };
    lli_curvature c;
    double *beside = NULL;
    ll_status status;
    LLI_TRY(lli_curvature_init(ctx, &c, rows, head, false));
    LLI_DO(lli_memory_new(ctx, &beside, c.K, sizeof *beside));
    for (int64_t i = 0; i < c.K; i++) {
        double sum = 0;
        for (int64_t k = 0; k < c.K; k++)
            sum += c.U[i * c.K + k];
        double rest = 1 - sum * sum / (double)c.K;
        beside[i] = rest > ROUNDING ? rest : 0;
        c.b[i] *= (double)N / (double)rows->rows.N;
    }
    double low = tau, high = tau + c.b[c.K - 1] * c.a[c.n - 1], total = share_below(&c, beside, high * 2, tau);
    low = fmax(low, 1e-12 * high);
    for (int i = 0; i < HALVINGS && low < high; i++) { /* on the scale of logarithms */
        double middle = sqrt(low) * sqrt(high);
        if (share_below(&c, beside, middle, tau) < POINT * total)
            low = middle;
        else
            high = middle;
    }
    *lambda = high / (double)N;
done:
    lli_memory_free(beside);
    lli_curvature_release(&c);
    return status;
}

double lli_diffusion_length(const lli_fit *fit) {
    enum { POINTS = 1000 }; /* of a schedule */
    const ll_fit_options *o = &fit->options;
    const lli_optimiser *optimiser = fit->method->optimiser;
    bool cycles = fit->method->cycles > 0;
    if (!optimiser || optimiser->rule->rests || !(cycles || lli_method_reads(fit->method, LLI_READS(burn_in))))
        return NAN;
    const lli_chain_options chain = lli_chains_options(fit, 0);
    int64_t first = cycles ? 0 : lli_chains_sample_step(fit, 0) - o->thin, steps = lli_chains_sample_step(fit, o->samples - 1) - first;
    double mean = 0;
    for (int i = 0; i < POINTS; i++)
        mean += lli_chain_lr(&chain, first + (int64_t)(((double)i + 0.5) / POINTS * (double)steps)) / POINTS;
    return mean * (double)steps / (optimiser->friction > 0 ? optimiser->friction : 1);
}

static void say(ll_context *ctx, const ll_fit_options *o, double time, double lambda) {
    const char *each = o->chains > 1 ? "each chain" : "the chain";
    bool metric = lli_fit_preconditions(o);
    if (metric && time >= 1)
        lli_log(ctx, LL_LOG_NOTE, "%s of %s covers a diffusion time of %.3g", each, o->method, time);
    else if (metric)
        lli_log(ctx, LL_LOG_WARNING,
                "%s of %s covers a diffusion time of %.3g, and 1 or more is needed to cross the posterior; use more `samples`, or a larger "
                "`thin`",
                each, o->method, time);
    else if (time >= 1)
        lli_log(ctx, LL_LOG_NOTE, "%s of %s covers a diffusion time of %.3g (lambda %.3g): 1 or more crosses the posterior", each,
                o->method, time, lambda);
    else
        lli_log(ctx, LL_LOG_WARNING,
                "%s of %s covers a diffusion time of %.2g (lambda %.3g) where 1 or more crosses the posterior: its members stay near "
                "theta*; for "
                "the posterior use `method sgld` with `precondition kfac`, or `method hmc`, else more `samples` or a larger `thin`",
                each, o->method, time, lambda);
}

ll_status lli_diffusion_tell(ll_context *ctx, const ll_fit_options *o, const ll_dataset *rows, const ll_dataset *data,
                             const lli_theta_star *star) {
    const lli_model *model = star->model;
    const lli_fit fit = {.method = lli_method_find(o->method), .options = *o, .star = star, .data = data};
    double length = lli_diffusion_length(&fit), lambda = 1;
    if (isnan(length) || star->network)
        return LL_OK;
    if (lli_fit_preconditions(o)) {
        say(ctx, o, length, lambda);
        return LL_OK;
    }
    if (model->K > LLI_DIFFUSION_MAX || model->D > LLI_DIFFUSION_MAX) {
        lli_log(ctx, LL_LOG_NOTE, "the diffusion time of %s is not computed for heads of more than %d classes or features", o->method,
                LLI_DIFFUSION_MAX);
        return LL_OK;
    }
    float *block, *tensors[LLI_TENSORS_MAX];
    LLI_TRY(lli_memory_new(ctx, &block, lli_model_tensor_floats(model), sizeof *block));
    lli_model_place_tensors(tensors, model, block);
    model->ops->unpack(model, tensors, star->theta);
    const lli_curvature_head head = {model->K, tensors[0], tensors[1]};
    ll_status status = lli_diffusion_lambda(ctx, &lambda, rows, data->rows.N, &head, o->prior_precision);
    if (status == LL_OK)
        say(ctx, o, length * lambda, lambda);
    lli_memory_free(block);
    return status;
}
