/* SPDX-License-Identifier: MIT */
/* What every method needs around it: workspaces, saving, the parallel run. */
#include "methods/fit.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/team.h"
#include "data/dataset.h"
#include "methods/method.h"
#include "model/large_head.h"

int64_t lli_fit_floats(const lli_method *method, const lli_theta_star *star) {
    if (method->state_floats)
        return method->state_floats(star);
    const lli_optimiser *optimiser = method->needs & LLI_NEEDS_RECIPE ? &star->recipe->optimiser : method->optimiser;
    return (1 + (optimiser ? optimiser->rule->slots : 0)) * star->model->floats;
}

ll_status lli_fit_init(ll_context *ctx, lli_fit *fit, const lli_method *method, const ll_fit_options *options, const lli_theta_star *star,
                       const ll_dataset *data, lli_store *store, lli_meter *meter) {
    const lli_model *model = star->model;
    *fit = (lli_fit){.method = method, .options = *options, .star = star, .data = data, .store = store, .meter = meter};
    /* A single task uses the first workspace, on any worker; several tasks use their worker's. */
    fit->workers = fit->method->tasks(options) > 1 && !model->team ? lli_pool_workers(ctx) : 1;
    int64_t floats = model->team ? lli_fit_piece_floats(model) : LLI_MAX(lli_model_tensor_floats(model), model->floats);
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &fit->scratch, fit->workers, sizeof *fit->scratch));
    for (int w = 0; w < fit->workers; w++)
        LLI_DO(lli_memory_new(ctx, &fit->scratch[w], floats, sizeof(float)));
    if (fit->method->prepare)
        LLI_DO(fit->method->prepare(ctx, fit));
done:
    if (status != LL_OK)
        lli_fit_release(fit);
    return status;
}

void lli_fit_release(lli_fit *fit) {
    if (fit->prepared)
        fit->method->release(fit);
    for (int w = 0; fit->scratch && w < fit->workers; w++)
        lli_memory_free(fit->scratch[w]);
    lli_memory_free(fit->scratch);
    fit->prepared = NULL;
    fit->scratch = NULL;
}

bool lli_fit_divides(const lli_method *method, const ll_fit_options *o, const lli_theta_star *star) {
    return lli_method_trains(method) && !o->solve && !lli_fit_controls(o) && !lli_fit_preconditions(o) &&
           lli_large_head_divides(star->model);
}

/* The option that keeps the classes of a wide head together; NULL: the method does. */
static const char *whole_because(const ll_fit_options *o) {
    return o->solve ? "solve" : lli_fit_preconditions(o) ? "precondition" : lli_fit_controls(o) ? "control-variates" : NULL;
}

int64_t lli_fit_groups(ll_context *ctx, const lli_method *method, const ll_fit_options *o, const lli_theta_star *star) {
    int64_t size = ctx->team->size, groups = LLI_MIN(method->tasks(o), size);
    bool works = lli_method_trains(method) || method->needs & LLI_NEEDS_TIME || method->members == LLI_MEMBERS_DRAWS;
    if (groups == size || !works || !lli_large_head_divides(star->model))
        return 0;
    if (!lli_fit_divides(method, o, star)) {
        const char *because = whole_because(o);
        lli_log(ctx, LL_LOG_NOTE,
                "the %lld classes of the head are not divided: with %s a rank does whole members, and %lld of %lld ranks wait",
                (long long)star->model->K, because ? lli_option_name(ctx, because).text : method->info.name, (long long)(size - groups),
                (long long)size);
        return 0;
    }
    lli_log(ctx, LL_LOG_NOTE, "%lld ranks divide the %lld classes of the head, in %lld group%s", (long long)size, (long long)star->model->K,
            (long long)groups, groups == 1 ? "" : "s");
    return groups;
}

ll_status lli_fit_task(ll_context *ctx, void *fit_, int64_t task, int worker) {
    lli_fit *fit = fit_;
    return fit->method->run(ctx, fit, task, fit->workers > 1 ? worker : 0);
}

static ll_status run_task(ll_context *ctx, void *fit_, int64_t task, int worker) {
    const lli_fit *fit = fit_;
    return lli_fit_task(ctx, fit_, lli_share_begin(&fit->part, fit->method->tasks(&fit->options)) + task, worker);
}

ll_status lli_fit_run(ll_context *ctx, lli_fit *fit) {
    int64_t tasks = fit->method->tasks(&fit->options), own = lli_share_end(&fit->part, tasks) - lli_share_begin(&fit->part, tasks);
    if (!fit->star->model->team)
        LLI_TRY(lli_pool_run(ctx, run_task, fit, own));
    for (int64_t task = 0; fit->star->model->team && task < own; task++) /* all workers of all ranks are in each */
        LLI_TRY(run_task(ctx, fit, task, 0));
    if (fit->method->tell)
        fit->method->tell(ctx, fit);
    return LL_OK;
}

ll_status lli_fit_collect(ll_ensemble **out, ll_context *ctx, const ll_fit_options *options, const ll_dataset *data,
                          const lli_theta_star *star, const char *what) {
    lli_ensemble_plan plan = {0};
    lli_store_memory store;
    lli_meter meter;
    lli_fit fit = {0};
    *out = NULL;
    LLI_TRY(lli_fit_plan(ctx, &plan, options, data, star));
    LLI_TRY(lli_ensemble_new(out, ctx, &plan));
    lli_store_memory_init(&store, *out);
    lli_meter_init(&meter, what, 1);
    ll_status status;
    LLI_DO(lli_fit_init(ctx, &fit, lli_method_find(options->method), options, star, data, &store.store, &meter));
    LLI_DO(lli_fit_run(ctx, &fit));
done:
    lli_fit_release(&fit);
    if (status != LL_OK) {
        ll_ensemble_free(*out);
        *out = NULL;
    }
    return status;
}

ll_status lli_fit_solve(ll_head **out, ll_context *ctx, const lli_fit *fit) {
    ll_head_solve_options options = ll_head_solve_options_default();
    options.prior_precision = fit->options.prior_precision;
    ll_dataset known = *fit->data;
    known.K = fit->star->model->K; /* a head that was given may have classes without rows */
    known.K_given = true;
    return ll_head_solve(out, ctx, &known, &options);
}
