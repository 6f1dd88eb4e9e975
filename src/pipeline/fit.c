/* SPDX-License-Identifier: MIT */
/* From a data set and theta* to an ensemble, in memory or in a file. */
#include <inttypes.h>
#include <math.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "methods/method.h"
#include "model/head.h"
#include "pipeline/fit.h"
#include "pipeline/partial.h"

/* theta*: the given head, checked against the data, or the MAP in `solved`. */
static ll_status find_start(ll_context *ctx, const ll_head **out, ll_head **solved, const ll_dataset *data, const ll_head *head, double prior_precision) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, head != NULL));
    if (!head) {
        ll_head_solve_options options = ll_head_solve_options_default();
        options.prior_precision = prior_precision;
        LLI_TRY(ll_head_solve(solved, ctx, data, &options));
        *out = *solved;
        return LL_OK;
    }
    if (head->D != data->rows.D)
        return lli_fail(ctx, LL_ERR_DATA, "the head expects %" PRId64 " features and the data have %" PRId64, head->D, data->rows.D);
    for (int64_t i = 0; data->K > head->K && i < data->rows.N; i++)
        if (data->labels[i] >= head->K)
            return lli_fail(ctx, LL_ERR_DATA, "the label at row %" PRId64 " is %d, but the head has %" PRId64 " classes (0 to %" PRId64 ")", i, data->labels[i], head->K,
                            head->K - 1);
    *out = head;
    return LL_OK;
}

ll_status lli_start_init(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_head *head, double prior_precision) {
    *start = (lli_start){0};
    ll_status status;
    LLI_DO(find_start(ctx, &start->head, &start->solved, data, head, prior_precision));
    LLI_DO(lli_head_model(ctx, &start->model, start->head->K, start->head->D));
    LLI_DO(lli_memory_new(ctx, &start->theta, start->model.floats, sizeof(float)));
    const float *tensors[] = {start->head->W, start->head->b};
    start->model.ops->pack(&start->model, start->theta, tensors);
done:
    if (status != LL_OK)
        lli_start_release(start);
    return status;
}

void lli_start_release(lli_start *start) {
    ll_head_free(start->solved);
    lli_memory_free(start->theta);
    *start = (lli_start){0};
}

ll_status lli_start_plan(ll_context *ctx, lli_ensemble_plan *plan, const lli_start *start, const ll_fit_options *options, const ll_dataset *data) {
    return lli_fit_plan(ctx, plan, options, data, &start->model, start->head->hash, start->head->gradient_norm);
}

static ll_status run(ll_context *ctx, const lli_start *start, const ll_fit_options *options, const ll_dataset *data, lli_store *store) {
    lli_fit fit;
    lli_meter meter;
    LLI_TRY(lli_fit_init(ctx, &fit, options, &start->model, data, start->theta, store, &meter));
    lli_meter_init(&meter, options->method, fit.method->steps(&fit));
    ll_status status = lli_fit_run(ctx, &fit);
    lli_fit_release(&fit);
    return status;
}

ll_status ll_fit(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_head *head, const ll_fit_options *given) {
    *out = NULL;
    ll_fit_options options;
    LLI_TRY(lli_fit_resolve(ctx, &options, given, data));
    lli_start start;
    LLI_TRY(lli_start_init(ctx, &start, data, head, options.prior_precision));
    lli_ensemble_plan plan = {0};
    ll_ensemble *ensemble = NULL;
    ll_status status;
    LLI_DO(lli_start_plan(ctx, &plan, &start, &options, data));
    LLI_DO(lli_ensemble_new(&ensemble, ctx, &plan));
    lli_store_memory store;
    lli_store_memory_init(&store, ensemble);
    LLI_DO(run(ctx, &start, &options, data, &store.store));
    *out = ensemble;
    ensemble = NULL;
done:
    ll_ensemble_free(ensemble);
    lli_start_release(&start);
    return status;
}

ll_status ll_fit_write(ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head, const ll_fit_options *given, bool resume) {
    ll_fit_options options;
    LLI_TRY(lli_fit_resolve(ctx, &options, given, data));
    lli_start start = {0};
    lli_ensemble_plan plan = {0};
    lli_partial *partial = NULL;
    ll_status status;
    /* Before the work: can the result be written at all? */
    LLI_DO(lli_partial_open(&partial, ctx, path, resume));
    LLI_DO(lli_start_init(ctx, &start, data, head, options.prior_precision));
    LLI_DO(lli_start_plan(ctx, &plan, &start, &options, data));
    LLI_DO(lli_partial_begin(ctx, partial, &plan, start.model.floats, lli_method_find(options.method)->tasks(&options)));
    if (!lli_partial_complete(partial))
        LLI_DO(run(ctx, &start, &options, data, lli_partial_store(partial)));
    lli_partial *whole = partial;
    partial = NULL;
    LLI_DO(lli_partial_commit(ctx, whole));
done:
    if (partial)
        lli_partial_abandon(ctx, partial, status);
    lli_ensemble_plan_release(&plan);
    lli_start_release(&start);
    return status;
}

ll_status ll_ensemble_read(ll_ensemble **out, ll_context *ctx, const char *path) {
    *out = NULL;
    ll_bundle *bundle;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    ll_status status = lli_ensemble_from(out, ctx, bundle, path);
    if (status != LL_OK)
        ll_bundle_free(bundle);
    return status;
}

ll_status ll_ensemble_write(ll_context *ctx, const char *path, const ll_ensemble *e) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    int64_t count = lli_ensemble_arrays(arrays, &e->plan);
    for (int i = 0; i < e->plan.model->tensors; i++)
        arrays[i].array.data = e->tensor[i];
    return ll_bundle_write(ctx, path, arrays, count, e->plan.provenance.pairs, e->plan.provenance.count);
}
