/* SPDX-License-Identifier: MIT */
/* Each member: N rows drawn with replacement, then `epochs` of SGD on them from theta*; or, with `solve`, their MAP. Paper 4.3,
 * docs/math/bootstrap.md */
#include <inttypes.h>

#include "base/memory.h"
#include "data/order.h"
#include "kernels/kernels.h"
#include "methods/chains.h"
#include "train/solve.h"

/* What members that are solved for share, and the memory of each worker. */
typedef struct solver {
    lli_solve **search;       /* [workers] */
    int64_t **list;           /* [workers], [N] the rows of a resample */
    float **weights;          /* [workers], [N] how often each row is there, times its own weight */
    float **theta;            /* [workers], [model->floats] */
    lli_solve_result *result; /* [S] */
} solver;

static int64_t steps(const lli_fit *fit) {
    const ll_fit_options *o = &fit->options;
    return o->solve ? o->samples : o->samples * o->epochs * lli_chain_epoch_steps(fit->data->rows.N, o->batch_size);
}

static ll_status prepare_solver(ll_context *ctx, lli_fit *fit) {
    const lli_model *model = fit->star->model;
    int64_t N = fit->data->rows.N, workers = fit->workers;
    solver *s;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    fit->prepared = s;
    LLI_TRY(lli_memory_new(ctx, &s->search, workers, sizeof *s->search));
    LLI_TRY(lli_memory_new(ctx, &s->list, workers, sizeof *s->list));
    LLI_TRY(lli_memory_new(ctx, &s->weights, workers, sizeof *s->weights));
    LLI_TRY(lli_memory_new(ctx, &s->theta, workers, sizeof *s->theta));
    LLI_TRY(lli_memory_new(ctx, &s->result, fit->options.samples, sizeof *s->result));
    for (int w = 0; w < workers; w++) {
        LLI_TRY(lli_solve_new(&s->search[w], ctx, fit->data, model->K, fit->options.prior_precision, w ? s->search[0] : NULL, NULL));
        LLI_TRY(lli_memory_new(ctx, &s->list[w], N, sizeof **s->list));
        LLI_TRY(lli_memory_new(ctx, &s->weights[w], N, sizeof **s->weights));
        LLI_TRY(lli_memory_new(ctx, &s->theta[w], model->floats, sizeof **s->theta));
    }
    return LL_OK;
}

static ll_status prepare(ll_context *ctx, lli_fit *fit) {
    return (fit->options.solve ? prepare_solver : lli_chains_prepare)(ctx, fit);
}

static void release(lli_fit *fit) {
    solver *s = fit->prepared;
    if (!fit->options.solve) {
        lli_chains_release(fit);
        return;
    }
    for (int w = fit->workers - 1; w >= 0; w--) { /* the others borrow from the first */
        lli_solve_free(s->search ? s->search[w] : NULL);
        lli_memory_free(s->list ? s->list[w] : NULL);
        lli_memory_free(s->weights ? s->weights[w] : NULL);
        lli_memory_free(s->theta ? s->theta[w] : NULL);
    }
    lli_memory_free(s->search);
    lli_memory_free(s->list);
    lli_memory_free(s->weights);
    lli_memory_free(s->theta);
    lli_memory_free(s->result);
    lli_memory_free(s);
}

static ll_status solve(ll_context *ctx, lli_fit *fit, int64_t member, int worker) {
    const solver *s = fit->prepared;
    const lli_model *model = fit->star->model;
    const ll_dataset *data = fit->data;
    int64_t N = data->rows.N, *list = s->list[worker];
    float *weights = s->weights[worker], *tensors[LLI_TENSORS_MAX];
    if (!lli_store_has(fit->store, member)) {
        lli_order_resample(list, model->kernels, N, fit->options.seed, member);
        for (int64_t i = 0; i < N; i++)
            weights[i] = 0;
        for (int64_t i = 0; i < N; i++)
            weights[list[i]] += data->weights ? data->weights[list[i]] : 1;
        lli_model_place_tensors(tensors, model, fit->scratch[worker]);
        model->ops->unpack(model, tensors, fit->star->theta);
        const ll_head_solve_options options = ll_head_solve_options_default();
        LLI_TRY(lli_solve_run(ctx, s->search[worker], &s->result[member], tensors[0], tensors[1], weights, &options));
        model->ops->pack(model, s->theta[worker], (const float *const *)tensors);
        LLI_TRY(lli_fit_save(ctx, fit, member, s->theta[worker], worker));
    }
    lli_meter_add(ctx, fit->meter, 1);
    return LL_OK;
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    if (fit->options.solve)
        return solve(ctx, fit, task, worker);
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_train(ctx, fit, task, &options, fit->star->theta, fit->options.epochs, worker);
}

static void tell(ll_context *ctx, lli_fit *fit) {
    if (!fit->options.solve)
        return;
    const solver *s = fit->prepared;
    int64_t passes = 0, late = 0;
    double worst = 0;
    for (int64_t i = 0; i < fit->options.samples; i++) {
        passes += s->result[i].passes;
        late += s->result[i].norm > LLI_SOLVE_TOLERANCE;
        worst = LLI_MAX(worst, s->result[i].norm);
    }
    lli_log(ctx, LL_LOG_NOTE, "bootstrap: %" PRId64 " passes over the data for the MAPs of the resamples", passes);
    if (late)
        lli_log(ctx, LL_LOG_WARNING,
                "the MAP of %" PRId64 " of %" PRId64
                " resamples is not fully converged: gradients have norms of up to %.2e, expected %.0e; use a larger `prior-precision`",
                late, fit->options.samples, worst, LLI_SOLVE_TOLERANCE);
}

const lli_method lli_method_bootstrap = {
    .info = {"bootstrap", "members trained on resamples of the rows", 10, 10, LLI_GROUP_ENSEMBLES},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(epochs), LLI_READS(solve), 0},
    .places = LLI_PLACES_ALL,
    .needs = LLI_NEEDS_RESAMPLE,
    .simplicity = 40,
    .variants = (const lli_variant[]){{"bootstrap-solve", LLI_READS(solve), NULL, LLI_PLACE_HEAD, 6}, {0}},
    .members = LLI_MEMBERS_STORED,
    .optimiser = &lli_optimiser_sgd,
    .tasks = lli_method_all,
    .steps = steps,
    .prepare = prepare,
    .release = release,
    .run = run,
    .tell = tell,
};
