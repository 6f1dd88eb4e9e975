/* SPDX-License-Identifier: MIT */
/* Exact members of a head: chains of Hamiltonian Monte Carlo over all rows, from the MAP. docs/math/hmc.md */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "methods/method.h"
#include "model/head.h"
#include "train/hamilton.h"

static const double doubtful = 0.6; /* an acceptance below it is a warning */

/* Made once, shared by the tasks. */
typedef struct shared {
    lli_hamilton_space space;
    lli_hamilton **chain;        /* [workers] */
    float **theta;               /* [workers] of a member, as the model has it */
    lli_hamilton_state *reached; /* [chains] */
} shared;

static int64_t chain_draws(const lli_fit *fit) {
    return LLI_HAMILTON_WARMUP + fit->options.samples / fit->options.chains;
}

static int64_t steps(const lli_fit *fit) {
    return fit->options.chains * chain_draws(fit);
}

/* In the checkpoint doubles lie as pairs of floats. */
static int64_t state_floats(const lli_theta_star *star) {
    return 2 * lli_hamilton_kept(star->model->K, star->model->D);
}

/* The MAP as tensors: theta*, where it is the MAP; else it is solved for. */
static ll_status find_map(ll_context *ctx, float *const *tensors, const lli_fit *fit) {
    const lli_model *model = fit->star->model;
    if (!isnan(fit->star->gradient_norm)) {
        model->ops->unpack(model, tensors, fit->star->theta);
        return LL_OK;
    }
    ll_head *head;
    LLI_TRY(lli_fit_solve(&head, ctx, fit));
    for (int64_t i = 0; i < model->K * model->D; i++)
        tensors[0][i] = head->W[i];
    for (int64_t k = 0; k < model->K; k++)
        tensors[1][k] = head->b[k];
    ll_head_free(head);
    return LL_OK;
}

static ll_status check(ll_context *ctx, const ll_fit_options *o, int64_t K, int64_t D) {
    (void)K;
    (void)D;
    if (!lli_fit_chooses_prior(o) && !(o->prior_precision >= 1e-30))
        return lli_fail(
            ctx, LL_ERR_USAGE,
            "hmc needs a `prior-precision` of at least 1e-30, and it is %g: without a prior, what no row informs has no bounded "
            "variance",
            o->prior_precision);
    return LL_OK;
}

static ll_status prepare(ll_context *ctx, lli_fit *fit) {
    const lli_model *model = fit->star->model;
    double tau = fit->options.prior_precision;
    shared *s;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    fit->prepared = s;
    float *tensors[LLI_TENSORS_MAX];
    lli_model_place_tensors(tensors, model, fit->scratch[0]);
    LLI_TRY(find_map(ctx, tensors, fit));
    LLI_TRY(lli_hamilton_space_init(ctx, &s->space, fit->data, &(lli_curvature_head){model->K, tensors[0], tensors[1]}, tau));
    LLI_TRY(lli_memory_new(ctx, &s->chain, fit->workers, sizeof *s->chain));
    LLI_TRY(lli_memory_new(ctx, &s->theta, fit->workers, sizeof *s->theta));
    LLI_TRY(lli_memory_new(ctx, &s->reached, fit->options.chains, sizeof *s->reached));
    for (int w = 0; w < fit->workers; w++) {
        LLI_TRY(lli_hamilton_new(&s->chain[w], ctx, &s->space));
        LLI_TRY(lli_memory_new(ctx, &s->theta[w], model->floats, sizeof(float)));
    }
    return LL_OK;
}

static void release(lli_fit *fit) {
    shared *s = fit->prepared;
    for (int w = 0; w < fit->workers; w++) {
        lli_hamilton_free(s->chain ? s->chain[w] : NULL);
        lli_memory_free(s->theta ? s->theta[w] : NULL);
    }
    lli_hamilton_space_release(&s->space);
    lli_memory_free(s->chain);
    lli_memory_free(s->theta);
    lli_memory_free(s->reached);
    lli_memory_free(s);
}

/* Continues only if every member that it has made already is in the store. */
static ll_status restore(ll_context *ctx, lli_fit *fit, int64_t task, int64_t first, lli_hamilton *h) {
    if (!fit->store->ops->restore)
        return LL_OK;
    lli_checkpoint state;
    bool found = false;
    const int64_t floats = state_floats(fit->star);
    LLI_TRY(fit->store->ops->restore(fit->store, ctx, task, &state, (float *)h->kept, &(lli_window){1, floats, 0, floats}, &found));
    for (int64_t i = 0; found && i < (int64_t)h->state->draws - LLI_HAMILTON_WARMUP; i++)
        found = lli_store_has(fit->store, first + i);
    if (!found)
        lli_hamilton_start(h, fit->options.seed, task);
    lli_meter_add(ctx, fit->meter, (int64_t)h->state->draws);
    return LL_OK;
}

static ll_status save(ll_context *ctx, lli_fit *fit, int64_t member, const lli_hamilton *h, int worker) {
    const lli_model *model = fit->star->model;
    int64_t D = model->D;
    float *tensors[LLI_TENSORS_MAX], *theta = ((shared *)fit->prepared)->theta[worker];
    lli_model_place_tensors(tensors, model, fit->scratch[worker]);
    for (int64_t k = 0; k < model->K; k++) {
        for (int64_t j = 0; j < D; j++)
            tensors[0][k * D + j] = (float)h->theta[k * (D + 1) + j];
        tensors[1][k] = (float)h->theta[k * (D + 1) + D];
    }
    model->ops->pack(model, theta, (const float *const *)tensors);
    return lli_fit_save(ctx, fit, member, theta, worker);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    shared *s = fit->prepared;
    lli_hamilton *h = s->chain[worker];
    int64_t draws = chain_draws(fit), first = task * (draws - LLI_HAMILTON_WARMUP);
    lli_hamilton_start(h, fit->options.seed, task);
    LLI_TRY(restore(ctx, fit, task, first, h));
    LLI_TRY(lli_hamilton_arrive(ctx, h));
    while ((int64_t)h->state->draws < draws) {
        LLI_TRY(lli_hamilton_draw(ctx, h));
        int64_t made = (int64_t)h->state->draws;
        if (made > LLI_HAMILTON_WARMUP)
            LLI_TRY(save(ctx, fit, first + made - LLI_HAMILTON_WARMUP - 1, h, worker));
        if (fit->store->ops->checkpoint)
            LLI_TRY(fit->store->ops->checkpoint(fit->store, ctx, task, &(lli_checkpoint){.step = made}, (const float *)h->kept,
                                                state_floats(fit->star)));
        lli_meter_add(ctx, fit->meter, 1);
    }
    s->reached[task] = *h->state;
    return LL_OK;
}

/* Of the chains that ran here: a part has some of them. */
static void tell(ll_context *ctx, lli_fit *fit) {
    const shared *s = fit->prepared;
    double log_step = 0, acceptance = 0, passes = 0;
    int chains = 0;
    for (int64_t i = 0; i < fit->options.chains; i++) {
        const lli_hamilton_state *r = &s->reached[i];
        if (r->draws == 0)
            continue;
        log_step += log(lli_hamilton_step(r));
        acceptance += lli_hamilton_acceptance(r);
        passes += r->passes;
        chains++;
    }
    if (chains == 0)
        return;
    acceptance /= chains;
    lli_log(ctx, LL_LOG_NOTE, "hmc: step %.3g, acceptance %.2f, %.0f passes over the data", exp(log_step / chains), acceptance, passes);
    if (acceptance < doubtful)
        lli_log(
            ctx, LL_LOG_WARNING,
            "hmc accepts only %.2f of its draws, expected about 0.9: its members repeat and may not be the posterior; scale the features "
            "to about 1, or use a larger `prior-precision`",
            acceptance);
}

const lli_method lli_method_hmc = {
    .info = {"hmc", "exact draws from the posterior of a head, by passes over all rows", 100, 0, LLI_GROUP_SAMPLERS},
    .reads = (const size_t[]){LLI_READS(samples), LLI_READS(prior_precision), LLI_READS(seed), LLI_READS(chains), 0},
    .places = LLI_PLACE_HEAD,
    .needs = LLI_NEEDS_TIME,
    .simplicity = 9,
    .members = LLI_MEMBERS_STORED,
    .check = check,
    .state_floats = state_floats,
    .tasks = lli_method_chains,
    .steps = steps,
    .prepare = prepare,
    .release = release,
    .run = run,
    .tell = tell,
};
