/* SPDX-License-Identifier: MIT */
/* What lastlayer.h says about lifetimes: everything that need not live on is freed, or overwritten, before it could be missed. Sanitizers
 * see a use that should not be. */
#include "guest.h"

static float *z; /* on the heap, where a late use is seen */
static int32_t *y;

static char *word(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        exit(1);
    return strcpy(copy, text);
}

static void rows(void) {
    z = malloc(GUEST_N * GUEST_D * sizeof *z);
    y = malloc(GUEST_N * sizeof *y);
    if (!z || !y)
        exit(1);
    guest_rows(z, y);
}

static void forget_rows(void) {
    free(z);
    free(y);
}

/* Rows, dataset, options and context go before the ensemble does its work. */
static void ensembles(void) {
    rows();
    ll_context *ctx = context_of(3);
    ll_dataset *data = guest_dataset(ctx, z, y);
    ll_fit_options o = ll_fit_options_default();
    char *method = word("bootstrap"), *shuffle = word("full");
    o.method = method;
    o.shuffle = shuffle;
    o.samples = 3;
    o.epochs = 2;
    ll_head *head;
    ll_ensemble *ensemble;
    must(ll_head_solve(&head, ctx, data, NULL), ctx);
    must(ll_fit(&ensemble, ctx, data, head, &o), ctx);
    memset(method, 'x', strlen(method));
    free(method);
    free(shuffle);
    ll_dataset_free(data);
    forget_rows();
    ll_head_free(head);
    ll_context_free(ctx);
    tap(strcmp(ll_ensemble_method(ensemble), "bootstrap") == 0, "an ensemble outlives rows, data, head, options and context", "wrong name");

    ctx = context_of(2);
    ll_predictor *predictor;
    const float point[GUEST_D] = {0.5f, 0.5f, 1};
    int32_t label = -1;
    ll_prediction out = {.label = &label};
    must(ll_predictor_new(&predictor, ctx, ensemble), ctx);
    must(ll_predictor_run(&out, predictor, point, 1, 0), ctx);
    tap(label >= 0 && label < GUEST_K, "and predicts with another one", "no label");
    must(ll_ensemble_write(ctx, "guest.safetensors", ensemble), ctx);
    ll_predictor_free(predictor);
    ll_ensemble_free(ensemble);
    ll_context_free(ctx);
}

static void files(void) {
    ll_context *ctx = context_of(1), *other = context_of(1);
    ll_ensemble *ensemble;
    must(ll_ensemble_read(&ensemble, ctx, "guest.safetensors"), ctx);
    ll_context_free(ctx);
    remove("guest.safetensors");
    must(ll_ensemble_write(other, "guest2.safetensors", ensemble), other);
    ll_ensemble_free(ensemble);
    ll_bundle *bundle;
    must(ll_bundle_read(&bundle, other, "guest2.safetensors"), other);
    ll_context_free(other);
    tap(ll_bundle_count(bundle) == 4 && ll_bundle_array(bundle, ll_bundle_find(bundle, "W")).rank == 3,
        "an ensemble and a bundle outlive their contexts, and their file its name", "the arrays are not there");
    ll_bundle_free(bundle);
    remove("guest2.safetensors");
}

static void networks(void) {
    rows();
    ll_context *ctx = context_of(1);
    ll_dataset *data = guest_dataset(ctx, z, y);
    char *net = word("mlp:4");
    ll_train_options o = ll_train_options_default(net);
    o.epochs = 1;
    ll_network *network;
    must(ll_train(&network, ctx, data, &o), ctx);
    memset(net, 'x', strlen(net));
    free(net);
    ll_fit_options f = ll_fit_options_default();
    f.samples = 2;
    ll_ensemble *ensemble;
    must(ll_fit_network(&ensemble, ctx, data, network, &f), ctx);
    tap(strcmp(ll_network_text(network), "mlp:4") == 0, "a network outlives its options", ll_network_text(network));
    ll_network_free(network);
    ll_dataset_free(data);
    forget_rows();
    must(ll_ensemble_write(ctx, "guest3.safetensors", ensemble), ctx);
    tap(ll_ensemble_samples(ensemble) == 2, "an ensemble of networks outlives the network", "wrong number");
    remove("guest3.safetensors");
    ll_ensemble_free(ensemble);
    ll_context_free(ctx);
}

static void results(void) {
    rows();
    ll_context *ctx = context_of(1);
    ll_array labels = guest_view(y, LL_DTYPE_I32, GUEST_N, 0);
    ll_predictions *predictions;
    must(ll_predictions_new(&predictions, ctx, guest_view(z, LL_DTYPE_F32, GUEST_N, GUEST_D), true, &labels), ctx);
    forget_rows();
    char *edges = word("right");
    ll_evaluate_options o = ll_evaluate_options_default();
    o.edges = edges;
    ll_evaluation *evaluation;
    must(ll_evaluate(&evaluation, ctx, ll_predictions_view(predictions), NULL, &o), ctx);
    memset(edges, 'x', strlen(edges));
    free(edges);
    ll_predictions_free(predictions);
    ll_context_free(ctx);
    ctx = context_of(1);
    char *text;
    must(ll_evaluation_text(&text, ctx, evaluation, LL_TEXT_JSON), ctx);
    tap(strstr(text, "\"edges\": \"right\"") != NULL, "an evaluation outlives points, options and context", text);
    ll_context_free(ctx);
    ll_text_free(text);
    ll_evaluation_free(evaluation);
}

int main(void) {
    ensembles();
    files();
    networks();
    results();
    return tap_end();
}
