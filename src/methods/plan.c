/* SPDX-License-Identifier: MIT */
/* What is known of an ensemble before its first member: shape, weights, provenance. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/option.h"
#include "methods/method.h"
#include "scores/scores_fit.h"

/* Options that mean nothing to a head: its provenance leaves them out. */
static bool of_networks(size_t option) {
    return option == LLI_READS(dropout_at);
}

/* One provenance entry per option that the method reads. */
static ll_status record_options(ll_context *ctx, lli_provenance *p, const ll_fit_options *o, bool network) {
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    const lli_method *method = lli_method_find(o->method);
    for (size_t i = 0; i < count; i++) {
        size_t option = table[i].offset;
        bool means = lli_method_reads(method, option) && (network || !of_networks(option));
        if (option == LLI_READS(method) || (means && lli_fit_records(option, o)))
            LLI_TRY(lli_provenance_add_option(ctx, p, "", &table[i], o));
    }
    return LL_OK;
}

/* How networks are trained, where that decides the members. */
static ll_status record_recipe(ll_context *ctx, lli_provenance *p, const lli_recipe *recipe, bool with_seed) {
    size_t count;
    const ll_option *table = ll_train_options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, "net") != 0 && (with_seed || strcmp(table[i].name, "seed") != 0) &&
            lli_recipe_uses(&recipe->options, table[i].name))
            LLI_TRY(lli_provenance_add_option(ctx, p, "train-", &table[i], &recipe->options));
    return LL_OK;
}

static ll_status record_network(ll_context *ctx, lli_ensemble_plan *plan, const lli_theta_star *star) {
    lli_provenance *p = &plan->provenance;
    LLI_TRY(lli_provenance_add(ctx, p, "net", lli_network_text(star->network)));
    plan->net = lli_provenance_get(p, "net");
    lli_text input;
    lli_text_init(&input, ctx);
    lli_text_add(&input, "%" PRId64 "x%" PRId64 "x%" PRId64, plan->input.height, plan->input.width, plan->input.channels);
    LLI_TRY(lli_provenance_add_text(ctx, p, "input", &input));
    LLI_TRY(lli_provenance_add_number(ctx, p, "outputs", (double)plan->K));
    for (int64_t i = 0; i < star->about_count; i++)
        LLI_TRY(lli_provenance_add(ctx, p, star->about[i].key, star->about[i].value));
    bool adam = strcmp(star->init, "adam") == 0;
    return adam || lli_method_find(plan->method)->needs & LLI_NEEDS_RECIPE ? record_recipe(ctx, p, star->recipe, adam) : LL_OK;
}

static ll_status record(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *o, const ll_dataset *data,
                        const lli_theta_star *star) {
    lli_provenance *p = &plan->provenance;
    LLI_TRY(lli_provenance_add(ctx, p, "format", star->network ? LLI_ENSEMBLE_FORMAT_NETWORK : LLI_ENSEMBLE_FORMAT));
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(record_options(ctx, p, o, star->network != NULL));
    if (plan->scores.which) {
        lli_text names;
        lli_text_init(&names, ctx);
        lli_scores_text(&names, plan->scores.which);
        LLI_TRY(lli_provenance_add_text(ctx, p, LLI_SCORES_ENTRY, &names));
    }
    if (plan->drop16)
        LLI_TRY(lli_provenance_add_number(ctx, p, "drop16", plan->drop16));
    LLI_TRY(lli_provenance_add(ctx, p, "isa", ll_isa()));
    LLI_TRY(lli_provenance_add(ctx, p, "features_sha256", data->features_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "labels_sha256", data->labels_hash));
    if (data->weights)
        LLI_TRY(lli_provenance_add(ctx, p, "weights_sha256", data->weights_hash));
    if (star->prior_by)
        LLI_TRY(lli_provenance_add(ctx, p, "prior-precision-by", star->prior_by));
    LLI_TRY(lli_provenance_add(ctx, p, "init", star->init));
    LLI_TRY(lli_provenance_add(ctx, p, "head_sha256", star->hash));
    if (!isnan(star->gradient_norm))
        LLI_TRY(lli_provenance_add_number(ctx, p, "map_gradient_norm", star->gradient_norm));
    return star->network ? record_network(ctx, plan, star) : LL_OK;
}

/* Of theta* and the training rows: the same for every method. */
static ll_status fit_scores(ll_context *ctx, lli_scores *out, const ll_fit_options *o, const ll_dataset *data, const lli_theta_star *star) {
    const lli_model *model = star->model;
    float *scratch, *tensors[LLI_TENSORS_MAX];
    LLI_TRY(lli_scores_parse(ctx, &out->which, o->scores, "`scores`"));
    if (!out->which)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &scratch, lli_model_tensor_floats(model), sizeof *scratch));
    lli_model_place_tensors(tensors, model, scratch);
    model->ops->unpack(model, tensors, star->theta);
    ll_status status = lli_scores_fit(ctx, out, data, tensors[0], tensors[1], model->K, o->seed);
    lli_memory_free(scratch);
    return status;
}

ll_status lli_fit_plan(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *o, const ll_dataset *data,
                       const lli_theta_star *star) {
    const lli_method *method = lli_method_find(o->method);
    const lli_model *model = star->model;
    const lli_fit fit = {.method = method, .options = *o, .star = star, .data = data};
    bool masks = method->members == LLI_MEMBERS_MASKS, draws = method->members == LLI_MEMBERS_DRAWS;
    *plan = (lli_ensemble_plan){
        .method = method->info.name,
        .model = model,
        .S = o->samples,
        .K = model->K,
        .D = model->D,
        .stored = masks || draws ? 1 : o->samples,
        .seed = o->seed,
        .drop16 = masks ? lli_fit_drop16(o->dropout) : 0,
        .drop_own = masks && strcmp(o->dropout_at, "own") == 0,
        .by_content = lli_method_reads(method, LLI_READS(key)) && strcmp(o->key, "content") == 0,
        .input = star->input,
        .scaling = {star->scaling[0], star->scaling[1]},
    };
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &plan->weight, plan->S, sizeof(double)));
    for (int64_t i = 0; i < plan->S; i++)
        plan->weight[i] = method->weight ? method->weight(&fit, i) : 1;
    if (draws)
        LLI_DO(method->gaussian(ctx, &plan->gaussian, o, data, star));
    LLI_DO(fit_scores(ctx, &plan->scores, o, data, star));
    LLI_DO(record(ctx, plan, o, data, star));
done:
    if (status != LL_OK)
        lli_ensemble_plan_release(plan);
    return status;
}
