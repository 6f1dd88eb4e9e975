/* SPDX-License-Identifier: MIT */
/* From a data set and theta* to an ensemble, in memory or in a file. */
#include "base/abi.h"
#include "base/bundle.h"
#include "base/memory.h"
#include "pipeline/doubt.h"
#include "pipeline/fit.h"
#include "pipeline/network.h"
#include "pipeline/partial.h"

static bool is_network(const ll_network *network, const ll_fit_options *options) {
    return network || (options && options->layers > 1);
}

static ll_status run(ll_context *ctx, const lli_start *start, const ll_fit_options *options, const ll_dataset *data, lli_store *store) {
    lli_fit fit;
    lli_meter meter;
    LLI_TRY(lli_fit_init(ctx, &fit, options, &start->origin, data, store, &meter));
    lli_meter_init(&meter, options->method, fit.method->steps(&fit));
    ll_status status = lli_fit_run(ctx, &fit);
    lli_fit_release(&fit);
    return status;
}

static ll_status fit_memory(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_head *head, const ll_network *network,
                            const ll_fit_options *given) {
    *out = NULL;
    ll_fit_options options;
    LLI_TRY(lli_fit_resolve(ctx, &options, given, data, is_network(network, given)));
    lli_start start;
    LLI_TRY(lli_start_init(ctx, &start, data, head, network, &options));
    lli_ensemble_plan plan = {0};
    ll_ensemble *ensemble = NULL;
    ll_status status;
    LLI_DO(lli_fit_plan(ctx, &plan, &options, data, &start.origin));
    LLI_DO(lli_ensemble_new(&ensemble, ctx, &plan));
    lli_store_memory store;
    lli_store_memory_init(&store, ensemble);
    LLI_DO(run(ctx, &start, &options, data, &store.store));
    lli_fit_doubt(ctx, ensemble, &start, &options, data);
    *out = ensemble;
    ensemble = NULL;
done:
    ll_ensemble_free(ensemble);
    lli_start_release(&start);
    return status;
}

static void doubt_file(ll_context *ctx, const char *path, const lli_start *start, const ll_fit_options *options, const ll_dataset *data) {
    ll_context aside = *ctx; /* the file is whole: what fails from here on is no failure of the fit */
    ll_ensemble *ensemble;
    if (!lli_file_is_device(path) && ll_ensemble_read(&ensemble, &aside, path) == LL_OK) {
        lli_fit_doubt(ctx, ensemble, start, options, data);
        ll_ensemble_free(ensemble);
    }
}

static ll_status fit_file(ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head, const ll_network *network,
                          const ll_fit_options *given, bool resume) {
    ll_fit_options options;
    LLI_TRY(lli_fit_resolve(ctx, &options, given, data, is_network(network, given)));
    lli_start start = {0};
    lli_ensemble_plan plan = {0};
    lli_partial *partial = NULL;
    ll_status status;
    /* Before the work: can the result be written at all? */
    LLI_DO(lli_partial_open(&partial, ctx, path, resume));
    LLI_DO(lli_start_init(ctx, &start, data, head, network, &options));
    LLI_DO(lli_fit_plan(ctx, &plan, &options, data, &start.origin));
    LLI_DO(
        lli_partial_begin(ctx, partial, &plan, lli_fit_floats(&options, &start.origin), lli_method_find(options.method)->tasks(&options)));
    if (!lli_partial_complete(partial))
        LLI_DO(run(ctx, &start, &options, data, lli_partial_store(partial)));
    lli_partial *whole = partial;
    partial = NULL;
    LLI_DO(lli_partial_commit(ctx, whole));
    doubt_file(ctx, path, &start, &options, data);
done:
    if (partial)
        lli_partial_abandon(ctx, partial, status);
    lli_ensemble_plan_release(&plan);
    lli_start_release(&start);
    return status;
}

ll_status ll_fit(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_head *head, const ll_fit_options *options) {
    LLI_NEED(ctx, out, data);
    return fit_memory(out, ctx, data, head, NULL, options);
}

ll_status ll_fit_write(ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head, const ll_fit_options *options,
                       bool resume) {
    LLI_NEED(ctx, path, data);
    return fit_file(ctx, path, data, head, NULL, options, resume);
}

ll_status ll_fit_network(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_network *network,
                         const ll_fit_options *options) {
    LLI_NEED(ctx, out, data, network);
    *out = NULL;
    ll_dataset *kept;
    ll_status status = lli_network_split(&kept, NULL, ctx, data, network);
    if (status == LL_OK)
        status = fit_memory(out, ctx, kept ? kept : data, NULL, network, options);
    ll_dataset_free(kept);
    return status;
}

ll_status ll_fit_network_write(ll_context *ctx, const char *path, const ll_dataset *data, const ll_network *network,
                               const ll_fit_options *options, bool resume) {
    LLI_NEED(ctx, path, data, network);
    ll_dataset *kept;
    ll_status status = lli_network_split(&kept, NULL, ctx, data, network);
    if (status == LL_OK)
        status = fit_file(ctx, path, kept ? kept : data, NULL, network, options, resume);
    ll_dataset_free(kept);
    return status;
}

void ll_ensemble_images_init(ll_images_options *out, size_t struct_size, const ll_ensemble *e) {
    ll_images_options options = ll_images_options_default();
    const char *classes = e ? lli_provenance_get(&e->plan.provenance, "classes") : NULL;
    if (classes)
        options.classes = classes;
    options.of_network = classes != NULL;
    if (e && e->plan.net) {
        options.shift = e->plan.scaling[0];
        options.scale = e->plan.scaling[1];
    }
    lli_abi_give(out, struct_size, &options, sizeof options);
}

ll_status ll_ensemble_read(ll_ensemble **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_bundle *bundle;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    ll_status status = lli_ensemble_from(out, ctx, bundle, path);
    if (status != LL_OK)
        ll_bundle_free(bundle);
    return status;
}

ll_status ll_ensemble_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble) {
    LLI_NEED(ctx, path, ensemble);
    const ll_ensemble *e = ensemble;
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    int64_t count = lli_ensemble_arrays(arrays, &e->plan);
    for (int i = 0; i < e->plan.model->tensors; i++)
        arrays[i].array.data = e->tensor[i];
    return ll_bundle_write(ctx, path, arrays, count, e->plan.provenance.pairs, e->plan.provenance.count);
}
