/* SPDX-License-Identifier: MIT */
/* theta*: the given head or network, checked against the data; or the MAP of one layer, or several layers trained by Adam. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/fit.h"
#include "pipeline/network.h"

static ll_status check_labels(ll_context *ctx, const ll_dataset *data, int64_t K, const char *what) {
    for (int64_t i = 0; data->K > K && i < data->rows.N; i++)
        if (data->labels[i] >= K)
            return lli_fail(ctx, LL_ERR_DATA, "the label at row %" PRId64 " is %d, but the %s has %" PRId64 " classes (0 to %" PRId64 ")",
                            i, data->labels[i], what, K, K - 1);
    return LL_OK;
}

/* Of the tensors, in their order: the same whatever the layout of theta is. */
static ll_status hash_theta(ll_context *ctx, char out[LLI_HASH_TEXT], const lli_model *model, const float *theta) {
    float *tensors[LLI_TENSORS_MAX], *room;
    int64_t floats = 0;
    for (int i = 0; i < model->tensors; i++)
        floats += model->tensor[i].count;
    LLI_TRY(lli_memory_new(ctx, &room, floats, sizeof *room));
    tensors[0] = room;
    for (int i = 1; i < model->tensors; i++)
        tensors[i] = tensors[i - 1] + model->tensor[i - 1].count;
    model->ops->unpack(model, tensors, theta);
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, room, (size_t)floats * sizeof *room);
    lli_hash_text(&hash, out);
    lli_memory_free(room);
    return LL_OK;
}

/* One layer. */
static ll_status start_head(ll_context *ctx, lli_start *start, const ll_head *head, const char *init) {
    LLI_TRY(lli_head_model(ctx, &start->head_model, head->K, head->D));
    LLI_TRY(lli_memory_new(ctx, &start->theta, start->head_model.floats, sizeof(float)));
    start->head_model.ops->pack(&start->head_model, start->theta, (const float *const[]){head->W, head->b});
    memcpy(start->hash, head->hash, sizeof start->hash);
    start->origin = (lli_origin){
        .model = &start->head_model, .theta = start->theta, .init = init, .hash = start->hash, .gradient_norm = head->gradient_norm};
    return LL_OK;
}

/* The network head:L on the features, trained by its recipe from a start of its own. */
static ll_status train_deep(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_fit_options *o) {
    static const char *const texts[] = {"head:1", "head:2", "head:3"};
    const char *text = texts[o->layers - 1];
    LLI_TRY(lli_network_new(&start->deep, ctx, text, 1, 1, data->rows.D, data->K));
    const lli_model *model = lli_network_model(start->deep);
    ll_train_options recipe = ll_train_options_default(text);
    recipe.batch_size = o->batch_size;
    recipe.seed = o->seed;
    recipe.no_holdout = true;
    LLI_TRY(lli_recipe_init(ctx, &start->recipe, &recipe, data->rows.N));
    int64_t steps = start->recipe.steps * start->recipe.options.epochs;
    lli_chain_options options = start->recipe.chain;
    lli_fit_set_shuffle(&options, o->shuffle);
    lli_chain *chain;
    lli_meter meter;
    LLI_TRY(lli_memory_new(ctx, &start->theta, model->floats, sizeof(float)));
    lli_network_start(start->deep, start->theta, o->seed, 0);
    LLI_TRY(lli_chain_new(&chain, ctx, model, data, options.batch_size, options.block_rows, false));
    ll_status status;
    lli_meter_init(&meter, "theta*", steps);
    chain->meter = &meter;
    LLI_DO(lli_chain_add_optimiser(ctx, chain, start->recipe.optimiser.rule));
    lli_chain_start(chain, &options, start->theta);
    LLI_DO(lli_chain_run(ctx, chain, steps));
    memcpy(start->theta, chain->theta, (size_t)model->floats * sizeof(float));
    lli_log(ctx, LL_LOG_NOTE, "theta* of %s: %" PRId64 " epochs of Adam, mean training NLL %.4g in the last", text,
            start->recipe.options.epochs, chain->last_nll);
done:
    lli_chain_free(chain);
    return status;
}

static ll_status start_deep(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_fit_options *o) {
    LLI_TRY(train_deep(ctx, start, data, o));
    const lli_model *model = lli_network_model(start->deep);
    if (o->layers == 1) { /* a head like any other, from now on */
        LLI_TRY(lli_head_alloc(&start->solved, ctx, data->K, data->rows.D));
        start->solved->gradient_norm = NAN;
        model->ops->unpack(model, (float *const[]){start->solved->W, start->solved->b}, start->theta);
        lli_memory_free(start->theta);
        start->theta = NULL;
        LLI_TRY(lli_head_seal(ctx, start->solved));
        return start_head(ctx, start, start->solved, "adam");
    }
    LLI_TRY(hash_theta(ctx, start->hash, model, start->theta));
    start->origin = (lli_origin){
        .model = model,
        .theta = start->theta,
        .init = "adam",
        .hash = start->hash,
        .gradient_norm = NAN,
        .network = start->deep,
        .input = {1, 1, data->rows.D},
        .scaling = {0, 1},
        .recipe = &start->recipe,
    };
    return LL_OK;
}

static ll_status check_network(ll_context *ctx, const ll_dataset *data, const ll_network *network, const ll_fit_options *o) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, true));
    if (o->layers != 1 || o->init)
        return lli_fail(ctx, LL_ERR_USAGE, "%s belongs to features; a network is theta* itself", o->init ? "--init" : "--layers");
    LLI_TRY(lli_network_check_rows(ctx, network, &data->rows, "the rows"));
    LLI_TRY(check_labels(ctx, data, network->model->K, "network"));
    if (strcmp(o->method, "dropout") == 0 && strcmp(o->dropout_at, "own") == 0 && !network->model->own_dropout)
        return lli_fail(ctx, LL_ERR_USAGE, "the network %s has no dropout layers of its own; leave out --dropout-at own",
                        ll_network_text(network));
    return LL_OK;
}

/* A whole network, as its file has it. */
static ll_status start_network(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_network *network,
                               const ll_fit_options *o) {
    LLI_TRY(check_network(ctx, data, network, o));
    ll_train_options recipe;
    LLI_TRY(lli_network_recipe(ctx, &recipe, network));
    LLI_TRY(lli_recipe_init(ctx, &start->recipe, &recipe, data->rows.N));
    LLI_TRY(lli_augment_parse(&start->augment, ctx, recipe.augment));
    LLI_TRY(hash_theta(ctx, start->hash, network->model, network->theta));
    bool augments = data->rows.height > 0 && strcmp(recipe.augment, "none") != 0;
    const char *classes = lli_provenance_get(&network->provenance, "classes");
    start->about[0] = (ll_meta){"classes", classes};
    start->origin = (lli_origin){
        .model = network->model,
        .theta = network->theta,
        .init = "network",
        .hash = start->hash,
        .gradient_norm = NAN,
        .network = network->net,
        .input = {network->height, network->width, network->channels},
        .scaling = {(double)network->shift, (double)network->scale},
        .recipe = &start->recipe,
        .augment = augments ? lli_augment_image : NULL,
        .augment_options = &start->augment,
        .about = start->about,
        .about_count = classes ? 1 : 0,
    };
    return LL_OK;
}

static ll_status start_any(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_head *head, const ll_fit_options *o) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, head != NULL));
    if (data->rows.bytes)
        return lli_fail(
            ctx, LL_ERR_DATA,
            "these are images, and a last layer needs features: encode them first, with lastlayer encode, or fit a network on them");
    bool adam = o->init && strcmp(o->init, "adam") == 0;
    if (o->init && !adam && strcmp(o->init, "map") != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "--init is %.100s; expected map or adam", o->init);
    if (o->layers > 1 && (head || (o->init && !adam)))
        return lli_fail(ctx, LL_ERR_USAGE, "with --layers %" PRId64 " theta* is trained by Adam; leave out %s", o->layers,
                        head ? "the head" : "--init map");
    if (head) {
        if (head->D != data->rows.D)
            return lli_fail(ctx, LL_ERR_DATA, "the head expects %" PRId64 " features and the data have %" PRId64, head->D, data->rows.D);
        LLI_TRY(check_labels(ctx, data, head->K, "head"));
        return start_head(ctx, start, head, "head");
    }
    if (adam || o->layers > 1)
        return start_deep(ctx, start, data, o);
    ll_head_solve_options options = ll_head_solve_options_default();
    options.prior_precision = o->prior_precision;
    LLI_TRY(ll_head_solve(&start->solved, ctx, data, &options));
    return start_head(ctx, start, start->solved, "map");
}

ll_status lli_start_init(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_head *head, const ll_network *network,
                         const ll_fit_options *o) {
    *start = (lli_start){0};
    ll_status status = network ? start_network(ctx, start, data, network, o) : start_any(ctx, start, data, head, o);
    if (status != LL_OK)
        lli_start_release(start);
    return status;
}

void lli_start_release(lli_start *start) {
    ll_head_free(start->solved);
    lli_network_free(start->deep);
    lli_memory_free(start->theta);
    *start = (lli_start){0};
}
