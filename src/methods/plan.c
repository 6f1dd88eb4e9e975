/* SPDX-License-Identifier: MIT */
/* What is known of an ensemble before its first member: shape, weights, provenance. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/option.h"
#include "methods/method.h"

/* Releases the text, also on failure. */
static ll_status record_text(ll_context *ctx, lli_provenance *p, const char *key, lli_text *value) {
    ll_status status = value->status;
    if (status == LL_OK)
        status = lli_provenance_add(ctx, p, key, value->data ? value->data : "");
    lli_text_release(value);
    return status;
}

static ll_status record_number(ll_context *ctx, lli_provenance *p, const char *key, double x) {
    lli_text value;
    lli_text_init(&value, ctx);
    lli_text_number(&value, x);
    return record_text(ctx, p, key, &value);
}

static ll_status record_option(ll_context *ctx, lli_provenance *p, const char *prefix, const ll_option *option, const void *options) {
    lli_text key, value;
    lli_text_init(&key, ctx);
    lli_text_init(&value, ctx);
    lli_text_add(&key, "%s%s", prefix, option->name);
    lli_option_text(&value, option, options);
    ll_status status = key.status;
    if (status == LL_OK)
        status = record_text(ctx, p, key.data, &value);
    else
        lli_text_release(&value);
    lli_text_release(&key);
    return status;
}

/* Options that mean nothing to a head: its provenance leaves them out. */
static bool of_networks(const char *option) {
    return strcmp(option, "dropout-at") == 0;
}

/* One provenance entry per option that the method reads. */
static ll_status record_options(ll_context *ctx, lli_provenance *p, const ll_fit_options *o, bool network) {
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, "method") == 0 || (ll_method_uses(o->method, table[i].name) && (network || !of_networks(table[i].name))))
            LLI_TRY(record_option(ctx, p, "", &table[i], o));
    return LL_OK;
}

/* How networks are trained, where that decides the members. */
static ll_status record_recipe(ll_context *ctx, lli_provenance *p, const lli_recipe *recipe, bool with_seed) {
    size_t count;
    const ll_option *table = ll_train_options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, "net") != 0 && (with_seed || strcmp(table[i].name, "seed") != 0))
            LLI_TRY(record_option(ctx, p, "train-", &table[i], &recipe->options));
    return LL_OK;
}


static ll_status record_network(ll_context *ctx, lli_ensemble_plan *plan, const lli_origin *origin) {
    lli_provenance *p = &plan->provenance;
    LLI_TRY(lli_provenance_add(ctx, p, "net", lli_network_text(origin->network)));
    plan->net = lli_provenance_get(p, "net");
    lli_text input;
    lli_text_init(&input, ctx);
    lli_text_add(&input, "%" PRId64 "x%" PRId64 "x%" PRId64, plan->input.height, plan->input.width, plan->input.channels);
    LLI_TRY(record_text(ctx, p, "input", &input));
    LLI_TRY(record_number(ctx, p, "outputs", (double)plan->K));
    for (int64_t i = 0; i < origin->about_count; i++)
        LLI_TRY(lli_provenance_add(ctx, p, origin->about[i].key, origin->about[i].value));
    bool adam = strcmp(origin->init, "adam") == 0;
    return adam || lli_method_optimises(lli_method_find(plan->method)) ? record_recipe(ctx, p, origin->recipe, adam) : LL_OK;
}

static ll_status record(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *o, const ll_dataset *data,
                        const lli_origin *origin) {
    lli_provenance *p = &plan->provenance;
    LLI_TRY(lli_provenance_add(ctx, p, "format", origin->network ? LLI_ENSEMBLE_FORMAT_NETWORK : LLI_ENSEMBLE_FORMAT));
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(record_options(ctx, p, o, origin->network != NULL));
    if (plan->drop16)
        LLI_TRY(record_number(ctx, p, "drop16", plan->drop16));
    LLI_TRY(lli_provenance_add(ctx, p, "isa", ll_isa()));
    LLI_TRY(lli_provenance_add(ctx, p, "features_sha256", data->features_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "labels_sha256", data->labels_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "init", origin->init));
    LLI_TRY(lli_provenance_add(ctx, p, "head_sha256", origin->hash));
    if (!isnan(origin->gradient_norm))
        LLI_TRY(record_number(ctx, p, "map_gradient_norm", origin->gradient_norm));
    return origin->network ? record_network(ctx, plan, origin) : LL_OK;
}

ll_status lli_fit_plan(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *o, const ll_dataset *data,
                       const lli_origin *origin) {
    const lli_method *method = lli_method_find(o->method);
    const lli_model *model = origin->model;
    *plan = (lli_ensemble_plan){
        .method = method->info.name,
        .model = model,
        .S = o->samples,
        .K = model->K,
        .D = model->D,
        .stored = method->stored(o),
        .seed = o->seed,
        .drop16 = method == &lli_method_dropout ? lli_fit_drop16(o->dropout) : 0,
        .drop_own = method == &lli_method_dropout && strcmp(o->dropout_at, "own") == 0,
        .input = origin->input,
        .scaling = {origin->scaling[0], origin->scaling[1]},
    };
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &plan->weight, plan->S, sizeof(double)));
    /* A decreasing step makes each sample of sgld stand for that much time of the diffusion. */
    bool weighted = method == &lli_method_sgld && o->lr_t0 > 0;
    lli_chain_options schedule = {.lr = o->lr, .lr_t0 = o->lr_t0, .lr_power = o->lr_power};
    int64_t burnt = o->burn_in * lli_chain_epoch_steps(data->rows.N, o->batch_size);
    for (int64_t i = 0; i < plan->S; i++)
        plan->weight[i] = weighted ? lli_chain_lr(&schedule, burnt + (i + 1) * o->thin - 1) : 1;
    LLI_DO(record(ctx, plan, o, data, origin));
done:
    if (status != LL_OK)
        lli_ensemble_plan_release(plan);
    return status;
}
