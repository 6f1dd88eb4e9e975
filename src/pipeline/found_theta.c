/* SPDX-License-Identifier: MIT */
/* theta*: the given head or network, checked against the data; or the MAP of one layer, or several layers trained by Adam. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/found_theta.h"
#include "pipeline/prior.h"
#include "interop/trained.h"
#include "train/deep_head.h"

ll_status lli_found_theta_pack(ll_context *ctx, lli_found_theta *found, lli_team *team) {
    if (found->head)
        LLI_TRY(lli_head_pack(ctx, &found->head_model, &found->theta, found->head, team));
    found->star.theta = found->theta;
    if (team && !lli_team_first(ctx)) {
        ll_head_free(found->solved);
        found->head = found->solved = NULL;
    }
    return LL_OK;
}

/* One layer. Where ranks may divide the classes, and nothing needs all of them in one place before, it is packed once they do. */
static ll_status find_head(ll_context *ctx, lli_found_theta *found, const ll_head *head, const ll_fit_options *o, const char *init) {
    LLI_TRY(lli_head_model(ctx, &found->head_model, head->K, head->D));
    memcpy(found->hash, head->hash, sizeof found->hash);
    found->head = head;
    found->star = (lli_theta_star){.model = &found->head_model, .init = init, .hash = found->hash, .gradient_norm = head->gradient_norm};
    bool later = ctx->team->together && lli_fit_divides(lli_method_find(o->method), o, &found->star) && !o->scores &&
                 o->prior_precision != LL_PRIOR_VALIDATION;
    return later ? LL_OK : lli_found_theta_pack(ctx, found, NULL);
}

/* A head, where the options may ask to choose its prior precision: by evidence before it is used, by validation for the Gaussian around
 * it. `ours` is the MAP at LLI_PRIOR_START, or NULL. */
static ll_status find_with_prior(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, ll_head *ours, const ll_head *head,
                                 const ll_fit_options *o, const char *init) {
    bool evidence = o->prior_precision == LL_PRIOR_EVIDENCE, validation = o->prior_precision == LL_PRIOR_VALIDATION;
    found->prior = found->prior_gaussian = validation ? LLI_PRIOR_START : o->prior_precision;
    if (evidence) {
        LLI_TRY(lli_prior_infer(ctx, &found->prior, &found->curvature, o->structure, ours, head, data));
        found->prior_gaussian = found->prior;
    }
    LLI_TRY(find_head(ctx, found, head, o, init));
    if (validation && lli_gaussian_has(o->structure, LLI_GAUSSIAN_V))
        LLI_TRY(lli_curvature_init(ctx, &found->curvature, data, &(lli_curvature_head){head->K, head->W, head->b},
                                   !lli_gaussian_has(o->structure, LLI_GAUSSIAN_U)));
    found->star.curvature = found->curvature.V ? &found->curvature : NULL;
    if (validation)
        LLI_TRY(lli_prior_validate(ctx, &found->prior_gaussian, o, &found->star, data));
    found->star.prior_by = evidence ? "evidence" : validation ? "validation" : NULL;
    return LL_OK;
}

/* The network head:L on the features, trained by its recipe from a start of its own. */
static ll_status train_deep(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_fit_options *o) {
    static const char *const texts[] = {"head:1", "head:2", "head:3"};
    const char *text = texts[o->layers - 1];
    LLI_TRY(lli_network_new(&found->deep, ctx, text, 1, 1, data->rows.D, data->K));
    const lli_model *model = lli_network_model(found->deep);
    ll_train_options recipe = ll_train_options_default(text);
    recipe.batch_size = o->batch_size;
    recipe.seed = o->seed;
    recipe.no_holdout = true;
    LLI_TRY(lli_recipe_init(ctx, &found->recipe, &recipe, data->rows.N));
    lli_chain_options options = found->recipe.chain;
    lli_fit_set_shuffle(&options, o->shuffle);
    LLI_TRY(lli_memory_new(ctx, &found->theta, model->floats, sizeof(float)));
    return lli_deep_head_train(ctx, found->theta, found->deep, &found->recipe, &options, data);
}

static ll_status find_deep(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_fit_options *o) {
    LLI_TRY(train_deep(ctx, found, data, o));
    const lli_model *model = lli_network_model(found->deep);
    if (o->layers == 1) { /* a head like any other, from now on */
        LLI_TRY(lli_head_alloc(&found->solved, ctx, data->K, data->rows.D));
        found->solved->gradient_norm = NAN;
        model->ops->unpack(model, (float *const[]){found->solved->W, found->solved->b}, found->theta);
        lli_memory_free(found->theta);
        found->theta = NULL;
        LLI_TRY(lli_head_seal(ctx, found->solved));
        return find_with_prior(ctx, found, data, NULL, found->solved, o, "adam");
    }
    LLI_TRY(lli_model_hash(ctx, found->hash, model, found->theta));
    found->star = (lli_theta_star){
        .model = model,
        .theta = found->theta,
        .init = "adam",
        .hash = found->hash,
        .gradient_norm = NAN,
        .network = found->deep,
        .input = {1, 1, data->rows.D},
        .scaling = {0, 1},
        .recipe = &found->recipe,
    };
    return LL_OK;
}

static ll_status check_network(ll_context *ctx, const ll_dataset *data, const ll_network *network, const ll_fit_options *o) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, true));
    if (o->layers != 1 || o->init)
        return lli_fail(ctx, LL_ERR_USAGE, "%s is for features; a network is theta* itself",
                        lli_option_name(ctx, o->init ? "init" : "layers").text);
    LLI_TRY(lli_trained_check_rows(ctx, network, &data->rows, "the rows"));
    LLI_TRY(lli_dataset_check_labels(ctx, data, network->model->K, "network"));
    if (lli_method_find(o->method)->members == LLI_MEMBERS_MASKS && strcmp(o->dropout_at, "own") == 0 && !network->model->own_dropout)
        return lli_fail(ctx, LL_ERR_USAGE, "the network %s has no dropout layers of its own; leave out `dropout-at own`",
                        ll_network_text(network));
    return LL_OK;
}

/* A whole network, as its file has it. */
static ll_status find_network(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_network *network,
                              const ll_fit_options *o) {
    LLI_TRY(check_network(ctx, data, network, o));
    ll_train_options recipe;
    LLI_TRY(lli_trained_recipe(ctx, &recipe, network));
    LLI_TRY(lli_recipe_init(ctx, &found->recipe, &recipe, data->rows.N));
    LLI_TRY(lli_augment_parse(&found->augment, ctx, recipe.augment));
    LLI_TRY(lli_model_hash(ctx, found->hash, network->model, network->theta));
    bool augments = data->rows.height > 0 && strcmp(recipe.augment, "none") != 0;
    const char *classes = lli_provenance_get(&network->provenance, "classes");
    found->about[0] = (ll_meta){"classes", classes};
    found->star = (lli_theta_star){
        .model = network->model,
        .theta = network->theta,
        .init = "network",
        .hash = found->hash,
        .gradient_norm = NAN,
        .network = network->net,
        .input = {network->height, network->width, network->channels},
        .scaling = {(double)network->shift, (double)network->scale},
        .recipe = &found->recipe,
        .augment = augments ? lli_augment_image : NULL,
        .augment_options = &found->augment,
        .about = found->about,
        .about_count = classes ? 1 : 0,
    };
    return LL_OK;
}

static ll_status find_any(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_head *head, const ll_fit_options *o) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, head != NULL));
    if (data->rows.bytes)
        return lli_fail(
            ctx, LL_ERR_DATA,
            "these are images, and a last layer needs features: encode them first, with lastlayer encode, or fit a network on them");
    if (o->prior_precision == LL_PRIOR_VALIDATION)
        LLI_TRY(lli_prior_check(ctx, o->validation, head ? head->K : data->K, data->rows.D));
    bool adam = o->init && strcmp(o->init, "adam") == 0;
    if (o->init && !adam && strcmp(o->init, "map") != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`init` is %.100s; expected map or adam", o->init);
    if (o->layers > 1 && (head || (o->init && !adam)))
        return lli_fail(ctx, LL_ERR_USAGE,
                        head ? "with `layers %" PRId64 "` theta* is trained by Adam; leave out the head"
                             : "with `layers %" PRId64 "` theta* is trained by Adam; leave out `init map`",
                        o->layers);
    if (head) {
        if (head->D != data->rows.D)
            return lli_fail(ctx, LL_ERR_DATA, "the head expects %" PRId64 " features and the data have %" PRId64, head->D, data->rows.D);
        LLI_TRY(lli_dataset_check_labels(ctx, data, head->K, "head"));
        return find_with_prior(ctx, found, data, NULL, head, o, "head");
    }
    if (adam || o->layers > 1)
        return find_deep(ctx, found, data, o);
    ll_head_solve_options options = ll_head_solve_options_default();
    options.prior_precision = lli_fit_chooses_prior(o) ? LLI_PRIOR_START : o->prior_precision;
    LLI_TRY(ll_head_solve(&found->solved, ctx, data, &options));
    LLI_TRY(find_with_prior(ctx, found, data, found->solved, found->solved, o, "map"));
    found->star.is_map = true;
    found->star.map_precision = found->prior;
    return LL_OK;
}

ll_status lli_found_theta_init(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_head *head,
                               const ll_network *network, ll_fit_options *o) {
    *found = (lli_found_theta){.prior = o->prior_precision, .prior_gaussian = o->prior_precision};
    ll_status status = network ? find_network(ctx, found, data, network, o) : find_any(ctx, found, data, head, o);
    if (status != LL_OK)
        lli_found_theta_release(found);
    else
        o->prior_precision = lli_found_theta_prior(found, o->method);
    return status;
}

double lli_found_theta_prior(const lli_found_theta *found, const char *method) {
    return lli_method_find(method)->members == LLI_MEMBERS_DRAWS ? found->prior_gaussian : found->prior;
}

void lli_found_theta_release(lli_found_theta *found) {
    lli_curvature_release(&found->curvature);
    ll_head_free(found->solved);
    lli_network_free(found->deep);
    lli_memory_free(found->theta);
    *found = (lli_found_theta){0};
}
