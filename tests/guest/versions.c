/* SPDX-License-Identifier: MIT */
/* Structs of other versions of the header: shorter ones are older and lack a tail, longer ones are newer and have one. */
#include <stddef.h>

#include "guest.h"

#define UP_TO(type, member) offsetof(type, member)

static float z[GUEST_N * GUEST_D];
static int32_t y[GUEST_N];

/* A struct of a header to come. */
typedef struct later_fit_options {
    ll_fit_options known;
    double temperature;
    const char *kernel;
} later_fit_options;

static void versions(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", LL_VERSION_MAJOR, LL_VERSION_MINOR, LL_VERSION_PATCH);
    tap(strcmp(text, LL_VERSION) == 0 && strcmp(ll_version(), LL_VERSION) == 0, "the version as text is the one of the numbers", text);
    tap(ll_version_number() == LL_VERSION_NUMBER, "the library has the number of the header", "it has another");
}

/* What lies behind the bytes that an old program has is not touched by _init, and not read by a call. */
static void older_options(ll_context *ctx, const ll_dataset *data) {
    ll_fit_options whole = ll_fit_options_default(), old;
    memset(&old, 0xaa, sizeof old);
    ll_fit_options_init(&old, UP_TO(ll_fit_options, shuffle));
    const unsigned char *bytes = (const unsigned char *)&old;
    bool untouched = true;
    for (size_t i = UP_TO(ll_fit_options, shuffle); i < sizeof old; i++)
        untouched = untouched && bytes[i] == 0xaa;
    tap(untouched && old.struct_size == UP_TO(ll_fit_options, shuffle), "_init fills what the caller has, and no more", "it wrote beyond");
    tap(old.batch_size == whole.batch_size && old.lr_power == whole.lr_power, "and with the defaults", "other numbers");
    old.samples = whole.samples = 3;
    ll_ensemble *a, *b;
    must(ll_fit(&a, ctx, data, NULL, &whole), ctx);
    must(ll_fit(&b, ctx, data, NULL, &old), ctx); /* shuffle and the rest would be wild pointers */
    ll_array x = ll_ensemble_weight_view(a), w = ll_ensemble_weight_view(b);
    tap(memcmp(x.data, w.data, 3 * GUEST_K * GUEST_D * sizeof(float)) == 0, "a shorter struct fits as the defaults do", "other bits");
    ll_ensemble_free(a);
    ll_ensemble_free(b);
}

static void newer_options(ll_context *ctx, const ll_dataset *data) {
    later_fit_options later;
    memset(&later, 0xaa, sizeof later);
    ll_fit_options_init(&later.known, sizeof later);
    tap(later.temperature == 0 && !later.kernel && later.known.struct_size == sizeof later, "_init leaves zeros in what it does not know",
        "something else");
    later.known.samples = 2;
    ll_ensemble *ensemble;
    ll_status status = ll_fit(&ensemble, ctx, data, NULL, &later.known);
    tap(status == LL_OK, "a longer struct whose tail is zero is taken", ll_context_message(ctx));
    ll_ensemble_free(ensemble);
    later.temperature = 0.5;
    status = ll_fit(&ensemble, ctx, data, NULL, &later.known);
    tap(status == LL_ERR_USAGE && strstr(ll_context_message(ctx), "newer header"), "one that asks for something unknown is refused",
        ll_context_message(ctx));
}

/* Answers and points: zeros stand for the layout of 0.2; a shorter one has no pointers behind its end. */
static void answers(ll_context *ctx, const ll_dataset *data) {
    ll_ensemble *ensemble = guest_ensemble(ctx, data);
    ll_predictor *predictor;
    must(ll_predictor_new(&predictor, ctx, ensemble), ctx);
    int32_t label[GUEST_N], short_label[GUEST_N];
    double sr[GUEST_N];
    ll_prediction zero = {.label = label, .confidence = {[LL_CONFIDENCE_SR] = sr}}, old;
    tap(ll_predictor_run(&zero, predictor, z, GUEST_N, 0) == LL_OK, "a prediction of struct_size 0", ll_predictor_message(predictor));
    memset(&old, 0xaa, sizeof old);
    memset(&old, 0, UP_TO(ll_prediction, member_pmax));
    old.struct_size = UP_TO(ll_prediction, member_pmax);
    old.label = short_label;
    tap(ll_predictor_run(&old, predictor, z, GUEST_N, 0) == LL_OK && memcmp(label, short_label, sizeof label) == 0,
        "a shorter prediction: what lies behind is no pointer", ll_predictor_message(predictor));
    ll_outcome points = {.n = GUEST_N, .classes = GUEST_K, .label = label, .truth = y, .confidence = {[LL_CONFIDENCE_SR] = sr}}, shorter;
    memset(&shorter, 0xaa, sizeof shorter);
    memcpy(&shorter, &points, UP_TO(ll_outcome, probs));
    shorter.struct_size = UP_TO(ll_outcome, probs);
    ll_threshold a, b;
    must(ll_threshold_at_coverage(&a, ctx, &points, LL_CONFIDENCE_SR, 0.5), ctx);
    must(ll_threshold_at_coverage(&b, ctx, &shorter, LL_CONFIDENCE_SR, 0.5), ctx);
    tap(a.cut == b.cut && a.accepted == b.accepted, "shorter points", "other numbers");
    ll_predictor_free(predictor);
    ll_ensemble_free(ensemble);
}

/* Every option struct is read by its size: one that ends before its last member still works, or is refused for what it holds. */
static void every_size(ll_context *ctx, const ll_dataset *data) {
    ll_context_options c = ll_context_options_default();
    c.struct_size = UP_TO(ll_context_options, user);
    ll_context *small;
    must(ll_context_new(&small, &c), small);
    ll_context_free(small);
    ll_head_solve_options h = ll_head_solve_options_default();
    h.struct_size = UP_TO(ll_head_solve_options, iterations_max);
    h.iterations_max = -1; /* not read */
    ll_head *head;
    must(ll_head_solve(&head, ctx, data, &h), ctx);
    ll_head_free(head);
    ll_train_options t = ll_train_options_default("mlp:4");
    t.struct_size = UP_TO(ll_train_options, classes);
    t.epochs = 1;
    t.classes = (const int32_t *)(uintptr_t)8; /* not read */
    ll_network *network;
    must(ll_train(&network, ctx, data, &t), ctx);
    ll_network_free(network);
    tap(true, "options of other structs are read up to their size", "");
}

int main(void) {
    guest_rows(z, y);
    ll_context *ctx = context_of(1);
    ll_dataset *data = guest_dataset(ctx, z, y);
    versions();
    older_options(ctx, data);
    newer_options(ctx, data);
    answers(ctx, data);
    every_size(ctx, data);
    ll_dataset_free(data);
    ll_context_free(ctx);
    return tap_end();
}
