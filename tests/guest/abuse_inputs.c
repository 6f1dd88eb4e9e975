/* SPDX-License-Identifier: MIT */
/* Arguments that no call can do anything with, up to predicting. Each must come back as a status with a sentence, or as a neutral value;
 * none may crash. */
#include "abuse.h"

static void contexts(void) {
    ll_context *made = NULL;
    ll_context_options o = ll_context_options_default();
    MUTE(ll_context_new(NULL, NULL));
    o.threads = -1;
    SAME(ll_context_new(&made, &o) == LL_ERR_USAGE && *ll_context_message(made));
    ll_context_free(made);
    o = ll_context_options_default();
    o.struct_size = 12345678;
    SAME(ll_context_new(&made, &o) == LL_ERR_USAGE && strstr(ll_context_message(made), "ll_context_options_default()"));
    ll_context_free(made);
    SAME(strlen(ll_context_message(NULL)) > 10);
    SAME(ll_context_threads(NULL) == 0);
    ll_context_cancel(NULL);
    ll_context_uncancel(NULL);
    ll_context_options_init(NULL, 8);
    ll_context_options_init(&o, 3);
    SAME(strcmp(ll_status_name((ll_status)77), "unknown") == 0);
    USAGE(ll_option_check(ctx, NULL, 1, &o));
    USAGE(ll_option_check(ctx, ll_fit_options_table(NULL), 1, NULL));
}

static void frees(void) {
    ll_context_free(NULL);
    ll_bundle_free(NULL);
    ll_encoded_free(NULL);
    ll_dataset_free(NULL);
    ll_images_free(NULL);
    ll_network_free(NULL);
    ll_head_free(NULL);
    ll_ensemble_free(NULL);
    ll_predictor_free(NULL);
    ll_predictions_free(NULL);
    ll_evaluation_free(NULL);
    ll_comparison_free(NULL);
    ll_results_free(NULL);
    ll_text_free(NULL);
    tap(true, "free of NULL does nothing", "");
}

static void tables(void) {
    SAME(ll_convert_options_table(NULL) && ll_images_options_table(NULL) && ll_import_options_table(NULL));
    SAME(ll_train_options_table(NULL) && ll_encode_options_table(NULL) && ll_fit_options_table(NULL));
    SAME(ll_predict_options_table(NULL) && ll_evaluate_options_table(NULL) && ll_report_options_table(NULL));
    SAME(ll_search_options_table(NULL));
}

static void arrays(void) {
    ll_bundle *bundle;
    ll_array array;
    SAME(ll_dtype_size((ll_dtype)99) == 0 && strcmp(ll_dtype_name((ll_dtype)-1), "none") == 0);
    SAME(ll_array_view(z, LL_DTYPE_F32, 2, NULL).rank == -1);
    USAGE(ll_bundle_read(NULL, ctx, "a.npy"));
    USAGE(ll_bundle_read(&bundle, ctx, NULL));
    MUTE(ll_bundle_read(&bundle, NULL, "a.npy"));
    USAGE(ll_array_read(NULL, &array, ctx, "a.npy", NULL));
    USAGE(ll_array_read(&bundle, NULL, ctx, "a.npy", NULL));
    USAGE(ll_array_read(&bundle, &array, ctx, NULL, NULL));
    SAME(ll_bundle_count(NULL) == 0 && ll_bundle_meta_count(NULL) == 0 && ll_bundle_find(NULL, "x") == -1);
    SAME(!*ll_bundle_format(NULL) && !ll_bundle_name(NULL, 0) && !ll_bundle_meta_key(NULL, 0) && !ll_bundle_meta_value(NULL, -1));
    SAME(ll_bundle_array(NULL, 0).rank == -1 && !*ll_bundle_path(NULL));
    USAGE(ll_bundle_read_bytes(NULL, ctx, z, sizeof z, "z"));
    USAGE(ll_bundle_read_bytes(&bundle, ctx, NULL, 3, "z"));
    USAGE(ll_bundle_read_bytes(&bundle, ctx, z, SIZE_MAX, "z"));
    AS(LL_ERR_FORMAT, ll_bundle_read_bytes(&bundle, ctx, z, 0, "z"));
    AS(LL_ERR_FORMAT, ll_bundle_read_bytes(&bundle, ctx, z, sizeof z, NULL));
    ll_dataset *made;
    const int64_t wild[] = {INT64_MIN, INT64_MAX}, far[] = {INT64_MAX / 4, 4};
    USAGE(ll_dataset_new(&made, ctx, ll_array_strided(z, LL_DTYPE_F32, 2, good.shape, wild), NULL, 0));
    USAGE(ll_dataset_new(&made, ctx, ll_array_strided(z, LL_DTYPE_F32, 2, good.shape, far), NULL, 0));
}

static void encoded_files(void) {
    ll_encoded *encoded;
    ll_dataset *made;
    ll_bundle *bundle;
    ll_named_array one = {"x", good};
    USAGE(ll_encoded_read(NULL, ctx, "a.npz"));
    USAGE(ll_encoded_read(&encoded, ctx, NULL));
    MUTE(ll_encoded_read(&encoded, NULL, "a.npz"));
    AS(LL_ERR_READ, ll_encoded_read(&encoded, ctx, "a.npz"));
    SAME(!ll_encoded_train(NULL) && !ll_encoded_val(NULL) && !ll_encoded_test(NULL) && !ll_encoded_out(NULL) && !ll_encoded_head(NULL));
    SAME(ll_encoded_classes(NULL).rank == -1);
    must(ll_bundle_write(ctx, "one.npz", &one, 1, NULL, 0), ctx);
    must(ll_bundle_read(&bundle, ctx, "one.npz"), ctx);
    AS(LL_ERR_DATA, ll_encoded_read(&encoded, ctx, "one.npz"));
    USAGE(ll_dataset_from_bundle(NULL, ctx, bundle, "x", NULL, NULL, 0));
    USAGE(ll_dataset_from_bundle(&made, ctx, NULL, "x", NULL, NULL, 0));
    USAGE(ll_dataset_from_bundle(&made, ctx, bundle, "y", NULL, NULL, 0));
    USAGE(ll_dataset_from_bundle(&made, ctx, bundle, "x", bundle, "y", 0));
    USAGE(ll_dataset_from_bundle(&made, ctx, bundle, "x", NULL, NULL, -1));
    AS(LL_ERR_READ, ll_dataset_from_bundle(&made, ctx, bundle, "x", NULL, "none.npy", 0));
    ll_bundle_free(bundle);
    remove("one.npz");
}

static void written_arrays(void) {
    ll_bundle *bundle;
    ll_named_array one = {"x", good};
    ll_meta meta = {"key", NULL};
    USAGE(ll_bundle_write(ctx, NULL, &one, 1, NULL, 0));
    USAGE(ll_bundle_write(ctx, "a.npz", NULL, 1, NULL, 0));
    USAGE(ll_bundle_write(ctx, "a.npz", &one, -1, NULL, 0));
    USAGE(ll_bundle_write(ctx, "a.npz", &one, 1, NULL, 1));
    USAGE(ll_bundle_write(ctx, "a.npz", &one, 1, &meta, -1));
    USAGE(ll_bundle_write(ctx, "a.safetensors", &one, 1, &meta, 1));
    const struct {
        const char *name;
        ll_array array;
    } bad[] = {{NULL, good},
               {"rank 99", view(LL_DTYPE_F32, 99, 2, 2)},
               {"rank below 0", view(LL_DTYPE_F32, -3, 2, 2)},
               {"negative", view(LL_DTYPE_F32, 2, -4, 2)},
               {"huge", view(LL_DTYPE_F32, 2, INT64_MAX, INT64_MAX)},
               {"bytes overflow", view(LL_DTYPE_F64, 2, INT64_MAX / 4, 1)},
               {"type", view((ll_dtype)99, 2, 2, 2)},
               {"no data", ll_array_view(NULL, LL_DTYPE_F32, 2, good.shape)}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        one = (ll_named_array){bad[i].name, bad[i].array};
        USAGE(ll_bundle_write(ctx, "a.npz", &one, 1, NULL, 0));
    }
    AS(LL_ERR_READ, ll_bundle_read(&bundle, ctx, "a.npz")); /* nothing was written */
    USAGE(ll_convert(ctx, NULL, "a.npy", NULL));
    USAGE(ll_convert(ctx, "b.npy", NULL, NULL));
    ll_convert_options o = ll_convert_options_default();
    o.dtype = "f77";
    USAGE(ll_convert(ctx, "b.npy", "a.npy", &o));
    o = ll_convert_options_default();
    o.struct_size = 1;
    USAGE(ll_convert(ctx, "b.npy", "a.npy", &o));
}

static void datasets(void) {
    ll_dataset *made;
    ll_array labels = guest_view(y, LL_DTYPE_I32, GUEST_N, 0), none = {0};
    USAGE(ll_dataset_new(NULL, ctx, good, &labels, 0));
    MUTE(ll_dataset_new(&made, NULL, good, &labels, 0));
    USAGE(ll_dataset_new(&made, ctx, none, &labels, 0));
    USAGE(ll_dataset_new(&made, ctx, view(LL_DTYPE_F32, 99, 1, 1), &labels, 0));
    USAGE(ll_dataset_new(&made, ctx, view(LL_DTYPE_F32, 2, -1, 3), &labels, 0));
    USAGE(ll_dataset_new(&made, ctx, view((ll_dtype)13, 2, 60, 3), &labels, 0));
    USAGE(ll_dataset_new(&made, ctx, view(LL_DTYPE_F32, 2, INT64_MAX, 3), &labels, 0));
    USAGE(ll_dataset_new(&made, ctx, good, &labels, -5));
    labels.data = NULL;
    USAGE(ll_dataset_new(&made, ctx, good, &labels, 0));
    labels = guest_view(y, (ll_dtype)-2, GUEST_N, 0);
    USAGE(ll_dataset_new(&made, ctx, good, &labels, 0));
    USAGE(ll_dataset_read(NULL, ctx, "x.npy", NULL, 0));
    USAGE(ll_dataset_read(&made, ctx, NULL, "y.npy", 0));
    SAME(ll_dataset_rows(NULL) == 0 && ll_dataset_features(NULL) == 0 && ll_dataset_classes(NULL) == 0 && !ll_dataset_labels(NULL));
    ll_images *images;
    ll_images_options o = ll_images_options_default();
    USAGE(ll_images_read(NULL, ctx, "mnist", NULL));
    USAGE(ll_images_read(&images, ctx, NULL, NULL));
    o.struct_size = SIZE_MAX;
    USAGE(ll_images_read(&images, ctx, "mnist", &o));
    SAME(!ll_images_dataset(NULL, LL_IMAGES_TEST) && !ll_images_classes(NULL, NULL));
}

static void networks(void) {
    ll_network *made;
    ll_network_score score;
    USAGE(ll_network_read(NULL, ctx, "n.safetensors"));
    USAGE(ll_network_read(&made, ctx, NULL));
    USAGE(ll_network_write(ctx, NULL, network));
    USAGE(ll_network_write(ctx, "n.safetensors", NULL));
    USAGE(ll_network_import(NULL, ctx, "n.h5", NULL, NULL));
    USAGE(ll_network_import(&made, ctx, NULL, NULL, NULL));
    USAGE(ll_train(NULL, ctx, data, NULL));
    USAGE(ll_train(&made, ctx, NULL, NULL));
    ll_train_options o = ll_train_options_default("nonsense");
    USAGE(ll_train(&made, ctx, data, &o));
    o = ll_train_options_default(NULL);
    o.net = NULL;
    USAGE(ll_train(&made, ctx, data, &o));
    o = ll_train_options_default(NULL);
    o.augment = NULL;
    USAGE(ll_train(&made, ctx, data, &o));
    o = ll_train_options_default(NULL);
    o.batch_size = -1;
    USAGE(ll_train(&made, ctx, data, &o));
    USAGE(ll_train_write(NULL, ctx, NULL, data, NULL, false));
    USAGE(ll_train_write(NULL, ctx, "n.safetensors", NULL, NULL, false));
    USAGE(ll_network_evaluate(NULL, ctx, network, data));
    USAGE(ll_network_evaluate(&score, ctx, NULL, data));
    USAGE(ll_network_evaluate(&score, ctx, network, NULL));
    SAME(!*ll_network_text(NULL) && ll_network_classes(NULL) == 0 && ll_network_features(NULL) == 0 && ll_network_kept(NULL) == 0);
    SAME(!ll_network_holdout(NULL, NULL) && !ll_network_epochs(NULL, NULL) && ll_network_held(NULL, data) == 0);
    SAME(ll_network_held(network, NULL) == 0 && ll_network_images(NULL).struct_size == sizeof(ll_images_options));
    ll_encode_data parts = {.train = data};
    USAGE(ll_encode_write(ctx, NULL, network, &parts, NULL));
    USAGE(ll_encode_write(ctx, "e.npz", NULL, &parts, NULL));
    USAGE(ll_encode_write(ctx, "e.npz", network, NULL, NULL));
    ll_encoded *encoded;
    USAGE(ll_encode(NULL, ctx, network, &parts, NULL));
    USAGE(ll_encode(&encoded, ctx, NULL, &parts, NULL));
    USAGE(ll_encode(&encoded, ctx, network, NULL, NULL));
    USAGE(ll_encode(&encoded, ctx, network, &(ll_encode_data){0}, NULL));
    MUTE(ll_encode(&encoded, NULL, network, &parts, NULL));
    parts.struct_size = 7;
    USAGE(ll_encode_write(ctx, "e.npz", network, &parts, NULL));
    USAGE(ll_encode(&encoded, ctx, network, &parts, NULL));
}

static void heads(void) {
    ll_head *made;
    ll_array W = guest_view(z, LL_DTYPE_F32, 4, 3), b = guest_view(NULL, LL_DTYPE_F32, 4, 0);
    USAGE(ll_head_new(NULL, ctx, W, NULL, 3, LL_HEAD_LAYOUT_AUTO));
    USAGE(ll_head_new(&made, ctx, W, &b, 3, LL_HEAD_LAYOUT_AUTO));
    USAGE(ll_head_new(&made, ctx, W, NULL, -3, LL_HEAD_LAYOUT_AUTO));
    USAGE(ll_head_new(&made, ctx, W, NULL, 3, (ll_head_layout)9));
    USAGE(ll_head_new(&made, ctx, view(LL_DTYPE_F32, 99, 4, 3), NULL, 3, LL_HEAD_LAYOUT_KD));
    USAGE(ll_head_read(NULL, ctx, "w.npy", NULL, 3, LL_HEAD_LAYOUT_AUTO));
    USAGE(ll_head_read(&made, ctx, NULL, NULL, 3, LL_HEAD_LAYOUT_AUTO));
    USAGE(ll_head_solve(NULL, ctx, data, NULL));
    USAGE(ll_head_solve(&made, ctx, NULL, NULL));
    ll_head_solve_options o = ll_head_solve_options_default();
    o.tolerance = NAN;
    USAGE(ll_head_solve(&made, ctx, data, &o));
    SAME(ll_head_classes(NULL) == 0 && ll_head_features(NULL) == 0 && isnan(ll_head_gradient_norm(NULL)));
    SAME(ll_head_weight_view(NULL).rank == -1 && ll_head_bias_view(NULL).rank == -1);
}

static void fits(void) {
    ll_ensemble *made;
    USAGE(ll_fit(NULL, ctx, data, NULL, NULL));
    USAGE(ll_fit(&made, ctx, NULL, NULL, NULL));
    MUTE(ll_fit(&made, NULL, data, NULL, NULL));
    ll_fit_options o = ll_fit_options_default();
    o.method = "magic";
    USAGE(ll_fit(&made, ctx, data, NULL, &o));
    o = ll_fit_options_default();
    o.shuffle = "never";
    USAGE(ll_fit(&made, ctx, data, NULL, &o));
    o = ll_fit_options_default();
    o.samples = -1;
    USAGE(ll_fit(&made, ctx, data, NULL, &o));
    o = ll_fit_options_default();
    o.lr = NAN;
    USAGE(ll_fit(&made, ctx, data, NULL, &o));
    o = ll_fit_options_default();
    o.struct_size = 0;
    USAGE(ll_fit(&made, ctx, data, NULL, &o));
    o.struct_size = sizeof o - 1;
    USAGE(ll_fit(&made, ctx, data, NULL, &o));
    USAGE(ll_fit_write(NULL, ctx, NULL, data, NULL, NULL, false));
    USAGE(ll_fit_write(NULL, ctx, "e.safetensors", NULL, NULL, NULL, false));
    USAGE(ll_fit_network(NULL, ctx, data, network, NULL));
    USAGE(ll_fit_network(&made, ctx, NULL, network, NULL));
    USAGE(ll_fit_network(&made, ctx, data, NULL, NULL));
    USAGE(ll_fit_network_write(NULL, ctx, "e.safetensors", data, NULL, NULL, false));
    USAGE(ll_ensemble_read(NULL, ctx, "e.safetensors"));
    USAGE(ll_ensemble_read(&made, ctx, NULL));
    USAGE(ll_ensemble_write(ctx, NULL, ensemble));
    USAGE(ll_ensemble_write(ctx, "e.safetensors", NULL));
    SAME(!ll_method_get(1000) && !ll_method_uses(NULL, "lr") && !ll_method_uses("sgd", NULL));
    SAME(ll_ensemble_samples(NULL) == 0 && ll_ensemble_classes(NULL) == 0 && ll_ensemble_features(NULL) == 0);
    SAME(!*ll_ensemble_method(NULL) && ll_ensemble_weight_view(NULL).rank == -1 && ll_ensemble_bias_view(NULL).rank == -1);
}

/* A predictor has a sentence of its own. */
#define RUN(call)                                                                                                                 \
    do {                                                                                                                          \
        ll_predictor *predictor;                                                                                                  \
        must(ll_predictor_new(&predictor, ctx, ensemble), ctx);                                                                   \
        ll_status status_ = (call);                                                                                               \
        tap(status_ == LL_ERR_USAGE && strlen(ll_predictor_message(predictor)) > 10, #call, "it is not refused with a sentence"); \
        ll_predictor_free(predictor);                                                                                             \
    } while (0)

static void predictors(void) {
    ll_predictor *made;
    int32_t label[GUEST_N], truth[GUEST_N] = {0};
    double nll[4] = {0}, brier[4] = {0};
    int64_t correct[4] = {0};
    ll_prediction out = {.label = label};
    fresh();
    RUN(ll_predictor_run(NULL, predictor, z, 1, 0));
    RUN(ll_predictor_run(&out, predictor, NULL, 1, 0));
    RUN(ll_predictor_run(&out, predictor, z, -1, 0));
    RUN(ll_predictor_run(&out, predictor, z, INT64_MAX, 0));
    RUN(ll_predictor_run(&out, predictor, z, 1, -7));
    out.running_nll = nll;
    RUN(ll_predictor_run(&out, predictor, z, 1, 0));
    out.truth = truth;
    RUN(ll_predictor_run(&out, predictor, z, 1, 0));
    out.running_brier = brier;
    RUN(ll_predictor_run(&out, predictor, z, 1, 0));
    out.running_correct = correct;
    out.truth = NULL;
    RUN(ll_predictor_run(&out, predictor, z, 1, 0));
    out.truth = truth;
    truth[5] = GUEST_K;
    RUN(ll_predictor_run(&out, predictor, z, GUEST_N, 0));
    truth[5] = -1;
    RUN(ll_predictor_run(&out, predictor, z, GUEST_N, 0));
    out.struct_size = 3;
    RUN(ll_predictor_run(&out, predictor, z, 1, 0));
    MUTE(ll_predictor_run(&out, NULL, z, 1, 0));
    SAME(strlen(ll_predictor_message(NULL)) > 10);
    ll_ensemble *from;
    ll_array W = ll_ensemble_weight_view(ensemble), b = ll_ensemble_bias_view(ensemble), turned = W;
    const ll_meta no_key = {NULL, "x"}, twice[] = {{"a", "1"}, {"a", "2"}}, loud = {"method", "LOUD"};
    USAGE(ll_ensemble_new(NULL, ctx, W, &b, NULL, NULL, 0));
    USAGE(ll_ensemble_new(&from, ctx, (ll_array){.dtype = LL_DTYPE_F32, .rank = 3, .shape = {1, 2, 2}}, &b, NULL, NULL, 0));
    USAGE(ll_ensemble_new(&from, ctx, view(LL_DTYPE_F32, 99, 2, 2), &b, NULL, NULL, 0));
    USAGE(ll_ensemble_new(&from, ctx, W, &b, NULL, NULL, -1));
    USAGE(ll_ensemble_new(&from, ctx, W, &b, NULL, NULL, 1));
    USAGE(ll_ensemble_new(&from, ctx, W, &b, NULL, &no_key, 1));
    USAGE(ll_ensemble_new(&from, ctx, W, &b, NULL, twice, 2));
    AS(LL_ERR_FORMAT, ll_ensemble_new(&from, ctx, W, &b, NULL, &loud, 1));
    AS(LL_ERR_DATA, ll_ensemble_new(&from, ctx, b, &b, NULL, NULL, 0));
    AS(LL_ERR_DATA, ll_ensemble_new(&from, ctx, W, &W, NULL, NULL, 0));
    AS(LL_ERR_DATA, ll_ensemble_new(&from, ctx, W, &b, &b, NULL, 0));
    turned.shape[1] = 1;
    AS(LL_ERR_DATA, ll_ensemble_new(&from, ctx, turned, NULL, NULL, NULL, 0));
    SAME(!from && ll_ensemble_meta_count(NULL) == 0 && !ll_ensemble_meta_key(ensemble, -1) && !ll_ensemble_meta_value(ensemble, 999));
    SAME(ll_ensemble_member_weight_view(NULL).rank == -1);
    void *bytes;
    size_t size;
    USAGE(ll_ensemble_write_bytes(NULL, &size, ctx, ensemble));
    USAGE(ll_ensemble_write_bytes(&bytes, NULL, ctx, ensemble));
    USAGE(ll_ensemble_write_bytes(&bytes, &size, ctx, NULL));
    USAGE(ll_ensemble_read_bytes(&from, ctx, NULL, 5));
    AS(LL_ERR_FORMAT, ll_ensemble_read_bytes(&from, ctx, z, sizeof z));
    USAGE(ll_predictor_new(NULL, ctx, ensemble));
    USAGE(ll_predictor_new(&made, ctx, NULL));
    USAGE(ll_predict_write(ctx, NULL, ensemble, data, NULL));
    USAGE(ll_predict_write(ctx, "p.npz", NULL, data, NULL));
    USAGE(ll_predict_write(ctx, "p.npz", ensemble, NULL, NULL));
    USAGE(ll_predict_part_write(ctx, "p.npz", ensemble, data, NULL, 3, 2));
    USAGE(ll_predict_part_write(ctx, NULL, ensemble, data, NULL, 1, 2));
    USAGE(ll_fit_part_write(ctx, "e.safetensors", data, NULL, NULL, NULL, 0, 2, false));
    USAGE(ll_fit_part_write(ctx, "e.safetensors", NULL, NULL, NULL, NULL, 1, 2, false));
    USAGE(ll_merge(ctx, NULL));
    USAGE(ll_search_part(ctx, NULL, &(ll_search_data){0}, NULL, 1, 2));
    USAGE(ll_search_part(ctx, "s", NULL, NULL, 1, 2));
    ll_predictions *points;
    USAGE(ll_predict(NULL, ctx, ensemble, data, NULL));
    USAGE(ll_predict(&points, ctx, NULL, data, NULL));
    USAGE(ll_predict(&points, ctx, ensemble, NULL, NULL));
    MUTE(ll_predict(&points, NULL, ensemble, data, NULL));
    ll_predict_options o = ll_predict_options_default();
    o.classifier = "dice";
    USAGE(ll_predict_write(ctx, "p.npz", ensemble, data, &o));
    o = ll_predict_options_default();
    o.members = "-1";
    USAGE(ll_predict_write(ctx, "p.npz", ensemble, data, &o));
    SAME(strcmp(ll_confidence_name((ll_confidence)-1), "none") == 0 && strcmp(ll_confidence_name((ll_confidence)99), "none") == 0);
    SAME(ll_confidence_find(NULL) == LL_CONFIDENCE_COUNT && !ll_confidence_needs_members((ll_confidence)99));
}

int main(void) {
    abuse_begin();
    contexts();
    frees();
    tables();
    arrays();
    encoded_files();
    written_arrays();
    datasets();
    networks();
    heads();
    fits();
    predictors();
    return abuse_end();
}
