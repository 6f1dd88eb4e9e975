/* SPDX-License-Identifier: MIT */
/* From fit to threshold in memory: arrays with strides are the dense ones, bytes are the file, and nothing is written on the way. */
#include "guest.h"

static float z[GUEST_N * GUEST_D];
static int32_t y[GUEST_N];

static bool same_view(ll_array a, ll_array b) {
    size_t bytes = ll_dtype_size(a.dtype);
    bool same = a.rank == b.rank && a.dtype == b.dtype;
    for (int i = 0; same && i < a.rank; i++) {
        same = a.shape[i] == b.shape[i];
        bytes *= (size_t)a.shape[i];
    }
    return same && memcmp(a.data, b.data, bytes) == 0;
}

static bool same_ensemble(const ll_ensemble *a, const ll_ensemble *b) {
    return same_view(ll_ensemble_weight_view(a), ll_ensemble_weight_view(b)) &&
           same_view(ll_ensemble_bias_view(a), ll_ensemble_bias_view(b)) &&
           same_view(ll_ensemble_member_weight_view(a), ll_ensemble_member_weight_view(b));
}

static const char *entry(const ll_ensemble *e, const char *key) {
    for (int64_t i = 0; i < ll_ensemble_meta_count(e); i++)
        if (strcmp(ll_ensemble_meta_key(e, i), key) == 0)
            return ll_ensemble_meta_value(e, i);
    return "";
}

/* Every second column of a wider array, rows backwards, labels inside records: as numpy's views are. */
static void strides(ll_context *ctx, const ll_dataset *dense) {
    enum { WIDE = 2 * GUEST_D + 1 };
    static float wide[GUEST_N][WIDE];
    static struct {
        char letter;
        int32_t label;
    } records[GUEST_N];
    for (int i = 0; i < GUEST_N; i++) {
        records[i].label = y[i];
        for (int j = 0; j < GUEST_D; j++)
            wide[GUEST_N - 1 - i][2 * j] = z[i * GUEST_D + j];
    }
    const int64_t shape[] = {GUEST_N, GUEST_D}, steps[] = {-(int64_t)sizeof wide[0], 2 * (int64_t)sizeof(float)};
    const int64_t rows = GUEST_N, step = sizeof records[0];
    ll_array labels = ll_array_strided(&records[0].label, LL_DTYPE_I32, 1, &rows, &step);
    ll_dataset *data;
    must(ll_dataset_new(&data, ctx, ll_array_strided(&wide[GUEST_N - 1][0], LL_DTYPE_F32, 2, shape, steps), &labels, 0), ctx);
    ll_ensemble *a = guest_ensemble(ctx, dense), *b = guest_ensemble(ctx, data);
    tap(same_ensemble(a, b), "features and labels with strides fit as dense ones do", "other bits");
    tap(*entry(a, "features_sha256") && strcmp(entry(a, "features_sha256"), entry(b, "features_sha256")) == 0 &&
            strcmp(entry(a, "labels_sha256"), entry(b, "labels_sha256")) == 0,
        "and their hashes are the same", "other hashes");
    /* W of a Keras layer, [D,K], as the transpose of [K,D] */
    float W[GUEST_K * GUEST_D], back[GUEST_D * GUEST_K];
    for (int k = 0; k < GUEST_K; k++)
        for (int j = 0; j < GUEST_D; j++) {
            W[k * GUEST_D + j] = (float)(k + 10 * j);
            back[j * GUEST_K + k] = W[k * GUEST_D + j];
        }
    const int64_t kd[] = {GUEST_K, GUEST_D}, turned[] = {sizeof(float), GUEST_K * sizeof(float)};
    ll_head *one, *two;
    must(ll_head_new(&one, ctx, ll_array_view(W, LL_DTYPE_F32, 2, kd), NULL, GUEST_D, LL_HEAD_LAYOUT_KD), ctx);
    must(ll_head_new(&two, ctx, ll_array_strided(back, LL_DTYPE_F32, 2, kd, turned), NULL, GUEST_D, LL_HEAD_LAYOUT_KD), ctx);
    tap(same_view(ll_head_weight_view(one), ll_head_weight_view(two)), "a transposed head is the head", "other numbers");
    ll_named_array named = {"W", ll_array_strided(back, LL_DTYPE_F32, 2, kd, turned)};
    ll_bundle *bundle;
    must(ll_bundle_write(ctx, "strided.npz", &named, 1, NULL, 0), ctx);
    must(ll_bundle_read(&bundle, ctx, "strided.npz"), ctx);
    tap(same_view(ll_bundle_array(bundle, 0), ll_array_view(W, LL_DTYPE_F32, 2, kd)), "a file holds it dense", "other numbers");
    ll_bundle_free(bundle);
    remove("strided.npz");
    ll_head_free(one);
    ll_head_free(two);
    ll_ensemble_free(a);
    ll_ensemble_free(b);
    ll_dataset_free(data);
}

static bool same_predictions(ll_context *ctx, const ll_ensemble *a, const ll_ensemble *b, const ll_dataset *data) {
    ll_predictions *p, *q;
    must(ll_predict(&p, ctx, a, data, NULL), ctx);
    must(ll_predict(&q, ctx, b, data, NULL), ctx);
    bool same = true;
    for (size_t i = 0; i < ll_field_count(); i++) {
        const char *name = ll_field_get(i)->name;
        ll_array x = ll_predictions_array(p, name), w = ll_predictions_array(q, name);
        same = same && (x.rank == -1 ? w.rank == -1 : same_view(x, w));
    }
    ll_predictions_free(p);
    ll_predictions_free(q);
    return same;
}

static ll_ensemble *again(ll_context *ctx, const ll_ensemble *e) {
    ll_array bias = ll_ensemble_bias_view(e), weight = ll_ensemble_member_weight_view(e);
    ll_meta pairs[64];
    int64_t count = 0;
    for (; count < ll_ensemble_meta_count(e) && count < 64; count++)
        pairs[count] = (ll_meta){ll_ensemble_meta_key(e, count), ll_ensemble_meta_value(e, count)};
    ll_ensemble *made;
    must(ll_ensemble_new(&made, ctx, ll_ensemble_weight_view(e), &bias, &weight, pairs, count), ctx);
    return made;
}

static void arrays_and_bytes(ll_context *ctx, const ll_dataset *data) {
    static const char *const methods[] = {"sgd", "dropout", "bootstrap"};
    for (int m = 0; m < 3; m++) {
        ll_fit_options fit = ll_fit_options_default();
        fit.method = methods[m];
        fit.samples = 4;
        fit.batch_size = 16;
        ll_ensemble *first, *back, *made, *written;
        must(ll_fit(&first, ctx, data, NULL, &fit), ctx);
        made = again(ctx, first);
        tap(same_ensemble(first, made) && same_predictions(ctx, first, made, data), "an ensemble from the arrays of another", methods[m]);
        void *bytes;
        size_t size;
        must(ll_ensemble_write_bytes(&bytes, &size, ctx, first), ctx);
        must(ll_ensemble_write(ctx, "memory.safetensors", first), ctx);
        FILE *file = fopen("memory.safetensors", "rb");
        char *read = malloc(size + 1);
        bool same = file && read && fread(read, 1, size + 1, file) == size && memcmp(read, bytes, size) == 0;
        tap(same, "the bytes of an ensemble are those of its file", methods[m]);
        free(read);
        if (file)
            fclose(file);
        must(ll_ensemble_read_bytes(&back, ctx, bytes, size), ctx);
        memset(bytes, 0, size);
        ll_bytes_free(bytes);
        tap(same_ensemble(first, back) && same_predictions(ctx, first, back, data), "and they are the ensemble", methods[m]);
        remove("memory.safetensors");
        must(ll_fit_write(&written, ctx, "memory.safetensors", data, NULL, &fit, false), ctx);
        tap(same_ensemble(first, written), "ll_fit_write gives the ensemble too", methods[m]);
        ll_ensemble_free(written);
        remove("memory.safetensors");
        ll_ensemble_free(first);
        ll_ensemble_free(made);
        ll_ensemble_free(back);
    }
}

static void whole_path(ll_context *ctx, const ll_dataset *data) {
    ll_ensemble *ensemble = guest_ensemble(ctx, data);
    ll_predictions *points;
    must(ll_predict(&points, ctx, ensemble, data, NULL), ctx);
    ll_evaluation *evaluation;
    must(ll_evaluate(&evaluation, ctx, ll_predictions_view(points), NULL, NULL), ctx);
    ll_threshold cut;
    must(ll_threshold_at_coverage(&cut, ctx, ll_predictions_view(points), LL_CONFIDENCE_SR, 0.5), ctx);
    ll_risk_coverage *curve;
    must(ll_risk_coverage_new(&curve, ctx, ll_predictions_view(points), LL_CONFIDENCE_SR), ctx);
    int64_t steps = ll_risk_coverage_count(curve), hit = -1;
    double area = 0, before = 0;
    const double *coverage = ll_risk_coverage_coverage(curve), *risk = ll_risk_coverage_risk(curve), *at = ll_risk_coverage_cut(curve);
    bool rising = true;
    for (int64_t i = 0; i < steps; i++) {
        rising = rising && coverage[i] > before;
        area += (coverage[i] - before) * risk[i]; /* without ties this is AURC */
        before = coverage[i];
        if (at[i] == cut.cut)
            hit = i;
    }
    tap(steps > 1 && rising && coverage[steps - 1] == 1 && fabs(risk[steps - 1] - (1 - evaluation->accuracy)) < 1e-15,
        "the curve ends where everything is answered", "it does not");
    tap(hit >= 0 && coverage[hit] == cut.coverage && risk[hit] == cut.risk, "a threshold is a point of the curve", "it is not");
    tap(fabs(area - evaluation->selective[LL_CONFIDENCE_SR].aurc) < 1e-12, "the area under the curve is AURC", "another number");
    ll_risk_coverage_free(curve);
    ll_evaluation_free(evaluation);
    ll_predictions_free(points);
    ll_ensemble_free(ensemble);
}

static char *file_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 22);
    *size = file && text ? fread(text, 1, 1 << 22, file) : 0;
    if (file)
        fclose(file);
    return text;
}

static bool same_rows(const ll_dataset *a, const ll_dataset *b) {
    if (!a || !b)
        return a == b;
    const int32_t *one = ll_dataset_labels(a), *two = ll_dataset_labels(b);
    size_t bytes = (size_t)ll_dataset_rows(a) * sizeof *one;
    return ll_dataset_rows(a) == ll_dataset_rows(b) && ll_dataset_features(a) == ll_dataset_features(b) &&
           ll_dataset_classes(a) == ll_dataset_classes(b) && !one == !two && (!one || memcmp(one, two, bytes) == 0);
}

/* What is encoded in memory is what the file holds, and fits to the same bits. */
static void encoding(ll_context *ctx, const ll_dataset *data) {
    ll_train_options train = ll_train_options_default("mlp:4");
    train.epochs = 2;
    ll_network *network;
    must(ll_train(&network, ctx, data, &train), ctx);
    ll_encode_data parts = {.train = data, .test = data, .out = data};
    ll_encode_options options = ll_encode_options_default();
    ll_encoded *made, *read;
    must(ll_encode_write(ctx, "encoded.npz", network, &parts, NULL), ctx);
    must(ll_encoded_read(&read, ctx, "encoded.npz"), ctx);
    options.block = 7;
    must(ll_encode(&made, ctx, network, &parts, &options), ctx);
    ll_network_free(network);
    tap(ll_encoded_val(made) && ll_dataset_rows(ll_encoded_train(made)) + ll_dataset_rows(ll_encoded_val(made)) == GUEST_N,
        "the rows that the network held out are val", "other rows");
    tap(same_rows(ll_encoded_train(made), ll_encoded_train(read)) && same_rows(ll_encoded_val(made), ll_encoded_val(read)) &&
            same_rows(ll_encoded_test(made), ll_encoded_test(read)) && same_rows(ll_encoded_out(made), ll_encoded_out(read)),
        "all parts of an encoding in memory are those of its file", "other rows");
    tap(same_view(ll_head_weight_view(ll_encoded_head(made)), ll_head_weight_view(ll_encoded_head(read))) &&
            same_view(ll_head_bias_view(ll_encoded_head(made)), ll_head_bias_view(ll_encoded_head(read))) &&
            same_view(ll_encoded_classes(made), ll_encoded_classes(read)),
        "its head and its classes, too", "other numbers");
    ll_ensemble *a, *b;
    ll_fit_options fit = ll_fit_options_default();
    fit.samples = 3;
    must(ll_fit(&a, ctx, ll_encoded_train(made), ll_encoded_head(made), &fit), ctx);
    must(ll_fit(&b, ctx, ll_encoded_train(read), ll_encoded_head(read), &fit), ctx);
    tap(same_ensemble(a, b) && strcmp(entry(a, "features_sha256"), entry(b, "features_sha256")) == 0 &&
            same_predictions(ctx, a, b, ll_encoded_test(made)),
        "and both fit to the same ensemble", "other bits");
    ll_ensemble_free(a);
    ll_ensemble_free(b);
    ll_encoded_free(made);
    ll_encoded_free(read);
    remove("encoded.npz");
}

/* The page of predictions in memory is that of their file. */
static void page(ll_context *ctx, const ll_dataset *data) {
    enum { SIDE = 4 };
    static const char *const names[] = {"zero", "one", "two"};
    static unsigned char pixels[GUEST_N][SIDE][SIDE], turned[SIDE][SIDE][GUEST_N];
    for (int i = 0; i < GUEST_N * SIDE * SIDE; i++)
        turned[i / SIDE % SIDE][i % SIDE][i / SIDE / SIDE] = pixels[i / SIDE / SIDE][i / SIDE % SIDE][i % SIDE] = (unsigned char)(7 * i);
    const int64_t shape[] = {GUEST_N, SIDE, SIDE}, steps[] = {1, SIDE * GUEST_N, GUEST_N};
    ll_array dense = ll_array_view(pixels, LL_DTYPE_U8, 3, shape), strided = ll_array_strided(turned, LL_DTYPE_U8, 3, shape, steps);
    ll_ensemble *ensemble = guest_ensemble(ctx, data);
    ll_predict_options predict = ll_predict_options_default();
    predict.out = data;
    predict.members = "0:3";
    ll_predictions *points;
    must(ll_predict(&points, ctx, ensemble, data, &predict), ctx);
    must(ll_predictions_write(ctx, "points.npz", points), ctx);
    ll_named_array images = {"images", dense};
    must(ll_bundle_write(ctx, "images.npz", &images, 1, NULL, 0), ctx);
    FILE *list = fopen("names.txt", "w");
    if (list) {
        fputs("zero\none\ntwo\n", list);
        fclose(list);
    }
    ll_report_options from_files = ll_report_options_default(), from_memory = from_files;
    from_files.class_names = "names.txt";
    from_files.images = "images.npz";
    from_memory.class_list = names;
    from_memory.class_count = 3;
    from_memory.image_array = &strided;
    const ll_report_input file = {.kind = LL_REPORT_PREDICTIONS, .file = "points.npz"}, memory = {.predictions = points};
    char *one, *two, *three;
    size_t sizes[3];
    must(ll_report_write(ctx, "page.html", &file, 1, &from_files), ctx);
    must(ll_report(&one, &sizes[0], ctx, &file, 1, &from_files), ctx);
    must(ll_report(&two, &sizes[1], ctx, &memory, 1, &from_memory), ctx);
    three = file_text("page.html", &sizes[2]);
    tap(sizes[0] == strlen(one) && sizes[0] == sizes[2] && memcmp(one, three, sizes[0]) == 0, "a report in memory is the file's bytes",
        "other bytes");
    tap(sizes[0] == sizes[1] && memcmp(one, two, sizes[0]) == 0, "predictions, names and images in memory make the same page",
        "other bytes");
    tap(strstr(two, "zero") && strstr(two, "<svg"), "which has the names and pictures", "it has not");
    ll_text_free(one);
    ll_text_free(two);
    free(three);
    ll_predictions_free(points);
    ll_ensemble_free(ensemble);
    static const char *const made[] = {"points.npz", "images.npz", "names.txt", "page.html"};
    for (int i = 0; i < 4; i++)
        remove(made[i]);
}

int main(void) {
    guest_rows(z, y);
    ll_context *ctx = context_of(2);
    ll_dataset *data = guest_dataset(ctx, z, y);
    strides(ctx, data);
    arrays_and_bytes(ctx, data);
    whole_path(ctx, data);
    encoding(ctx, data);
    page(ctx, data);
    ll_dataset_free(data);
    ll_context_free(ctx);
    return tap_end();
}
