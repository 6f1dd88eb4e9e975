/* SPDX-License-Identifier: MIT */
/* Networks in memory, to files and from files. Training them is train.c's. */
#include "interop/trained.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/number.h"
#include "formats/safetensors.h"
#include "metrics/sort.h"

enum { EPOCH_NUMBERS = 4, ARRAYS_MAX = LLI_TENSORS_MAX + 2 };

ll_status lli_trained_plan(ll_network **out, ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels,
                           int64_t K) {
    *out = NULL;
    ll_network *n;
    LLI_TRY(lli_memory_new(ctx, &n, 1, sizeof *n));
    ll_status status;
    LLI_DO(lli_network_new(&n->net, ctx, text, height, width, channels, K));
    n->model = lli_network_model(n->net);
    n->height = height;
    n->width = width;
    n->channels = channels;
    n->scale = 1;
    *out = n;
    n = NULL;
done:
    ll_network_free(n);
    return status;
}

ll_status lli_trained_alloc(ll_context *ctx, ll_network *n) {
    LLI_TRY(lli_memory_new(ctx, &n->theta, n->model->floats, sizeof *n->theta));
    return lli_memory_new(ctx, &n->classes, n->model->K, sizeof *n->classes);
}

ll_status lli_trained_make(ll_network **out, ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels,
                           int64_t K) {
    LLI_TRY(lli_trained_plan(out, ctx, text, height, width, channels, K));
    ll_status status = lli_trained_alloc(ctx, *out);
    if (status != LL_OK) {
        ll_network_free(*out);
        *out = NULL;
    }
    return status;
}

void ll_network_free(ll_network *n) {
    if (!n)
        return;
    lli_network_free(n->net);
    lli_memory_free(n->theta);
    lli_memory_free(n->classes);
    lli_memory_free(n->holdout);
    lli_memory_free(n->epochs);
    lli_provenance_release(&n->provenance);
    lli_memory_free(n);
}

const char *ll_network_text(const ll_network *n) {
    return n ? lli_network_text(n->net) : "";
}

int64_t ll_network_classes(const ll_network *n) {
    return n ? n->model->K : 0;
}

int64_t ll_network_features(const ll_network *n) {
    return n ? n->model->features : 0;
}

const int64_t *ll_network_holdout(const ll_network *n, int64_t *count) {
    if (count)
        *count = n ? n->holdout_count : 0;
    return n ? n->holdout : NULL;
}

const ll_epoch *ll_network_epochs(const ll_network *n, int64_t *count) {
    if (count)
        *count = n ? n->epoch_count : 0;
    return n ? n->epochs : NULL;
}

void ll_network_images_init(ll_images_options *out, size_t struct_size, const ll_network *n) {
    ll_images_options options = ll_images_options_default();
    if (n) {
        options.classes = lli_provenance_get(&n->provenance, "classes");
        options.of_network = true;
        options.shift = (double)n->shift;
        options.scale = (double)n->scale;
    }
    lli_abi_give(out, struct_size, &options, sizeof options);
}

int64_t ll_network_kept(const ll_network *n) {
    return n ? n->kept_epoch : 0;
}

ll_status lli_trained_check_rows(ll_context *ctx, const ll_network *n, const lli_rows *rows, const char *what) {
    int64_t h = rows->height ? rows->height : 1, w = rows->width ? rows->width : 1, c = rows->channels ? rows->channels : rows->D;
    bool image = n->height * n->width > 1;
    /* an image may also come as a plain row of the right length */
    if (image && rows->height ? h == n->height && w == n->width && c == n->channels : rows->D == n->height * n->width * n->channels)
        return LL_OK;
    if (!image)
        return lli_fail(ctx, LL_ERR_DATA, "%s have %" PRId64 " features and the network %s expects %" PRId64, what, rows->D,
                        ll_network_text(n), n->channels);
    return lli_fail(ctx, LL_ERR_DATA,
                    "%s are %" PRId64 "x%" PRId64 "x%" PRId64 " (height, width, channels) and the network %s expects %" PRId64 "x%" PRId64
                    "x%" PRId64,
                    what, h, w, c, ll_network_text(n), n->height, n->width, n->channels);
}

lli_rows lli_trained_rows(const ll_network *n, const lli_rows *rows) {
    lli_rows own = *rows;
    own.augment = NULL;
    own.height = n->height;
    own.width = n->width;
    own.channels = n->channels;
    own.shift = n->shift;
    own.scale = n->scale;
    return own;
}

ll_status lli_trained_record(ll_context *ctx, ll_network *n) {
    lli_provenance *p = &n->provenance;
    LLI_TRY(lli_provenance_add(ctx, p, "format", LLI_NETWORK_FORMAT));
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(lli_provenance_add(ctx, p, "net", ll_network_text(n)));
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "%" PRId64 "x%" PRId64 "x%" PRId64, n->height, n->width, n->channels);
    LLI_TRY(lli_provenance_add_text(ctx, p, "input", &text));
    LLI_TRY(lli_provenance_add_number(ctx, p, "shift", (double)n->shift));
    LLI_TRY(lli_provenance_add_number(ctx, p, "scale", (double)n->scale));
    lli_text_init(&text, ctx);
    for (int64_t k = 0; k < n->model->K; k++)
        lli_text_add(&text, "%s%d", k ? "," : "", n->classes[k]);
    return lli_provenance_add_text(ctx, p, "classes", &text);
}

ll_status lli_trained_tensors(ll_context *ctx, float **block, float *tensors[LLI_TENSORS_MAX], const lli_model *m) {
    int64_t floats = 0;
    for (int i = 0; i < m->tensors; i++)
        floats += m->tensor[i].count;
    LLI_TRY(lli_memory_new(ctx, block, floats, sizeof **block));
    floats = 0;
    for (int i = 0; i < m->tensors; i++) {
        tensors[i] = *block + floats;
        floats += m->tensor[i].count;
    }
    return LL_OK;
}

/* The file as bytes: its header, then each array at its place. */
static ll_status write_file(ll_context *ctx, const char *path, const ll_named_array *arrays, int64_t count, const lli_provenance *p) {
    lli_text header;
    lli_outfile *file = NULL;
    int64_t offsets[ARRAYS_MAX], end;
    lli_text_init(&header, ctx);
    ll_status status;
    LLI_DO(lli_safetensors_header(&header, offsets, &end, ctx, arrays, count, p->pairs, p->count));
    LLI_DO(lli_outfile_open(&file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(lli_outfile_write_at(ctx, file, 0, header.data, (size_t)header.length));
    for (int64_t i = 0; i < count; i++) {
        const ll_array *a = &arrays[i].array;
        LLI_DO(lli_outfile_write_at(ctx, file, offsets[i], a->data, (size_t)lli_array_count(a) * ll_dtype_size(a->dtype)));
    }
    lli_outfile *complete = file;
    file = NULL;
    LLI_DO(lli_outfile_commit(ctx, complete));
done:
    lli_outfile_abandon(file);
    lli_text_release(&header);
    return status;
}

ll_status ll_network_write(ll_context *ctx, const char *path, const ll_network *network) {
    LLI_NEED(ctx, path, network);
    const ll_network *n = network;
    float *block = NULL, *tensors[LLI_TENSORS_MAX];
    double *epochs = NULL;
    ll_named_array arrays[ARRAYS_MAX];
    const lli_model *m = n->model;
    int64_t count = 0;
    ll_status status;
    LLI_DO(lli_trained_tensors(ctx, &block, tensors, m));
    m->ops->unpack(m, tensors, n->theta);
    for (int i = 0; i < m->tensors; i++)
        arrays[count++] = (ll_named_array){m->tensor[i].name,
                                           ll_array_view(tensors[i], LL_DTYPE_F32, m->tensor[i].rank, m->tensor[i].shape)};
    if (n->holdout_count)
        arrays[count++] = (ll_named_array){"holdout", ll_array_view(n->holdout, LL_DTYPE_I64, 1, &n->holdout_count)};
    LLI_DO(lli_memory_new(ctx, &epochs, n->epoch_count * EPOCH_NUMBERS, sizeof *epochs));
    for (int64_t e = 0; e < n->epoch_count; e++) {
        const ll_epoch *epoch = &n->epochs[e];
        memcpy(epochs + e * EPOCH_NUMBERS, (double[]){epoch->lr, epoch->nll, epoch->held_nll, epoch->held_accuracy},
               EPOCH_NUMBERS * sizeof *epochs);
    }
    if (n->epoch_count)
        arrays[count++] = (ll_named_array){"epochs", ll_array_view(epochs, LL_DTYPE_F64, 2, (int64_t[]){n->epoch_count, EPOCH_NUMBERS})};
    LLI_DO(write_file(ctx, path, arrays, count, &n->provenance));
done:
    lli_memory_free(block);
    lli_memory_free(epochs);
    return status;
}

/* ---- reading ---- */

static ll_status bad_entry(ll_context *ctx, const char *path, const char *key, const char *value, const char *expected) {
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry %s is %.100s; expected %s", path, key, value ? value : "missing", expected);
}

/* `count` whole numbers of at least 0, separated by `mark`. */
static bool parse_list(int32_t *out, int64_t count, const char *text, char mark) {
    for (int64_t i = 0; i < count; i++) {
        size_t length = 0;
        while (text[length] && text[length] != mark)
            length++;
        lli_number number;
        if (!lli_number_parse(&number, text, length) || !number.is_integer || number.integer < 0 || number.integer >= INT32_MAX ||
            (text[length] == 0) != (i == count - 1))
            return false;
        out[i] = (int32_t)number.integer;
        text += length + 1;
    }
    return true;
}

static bool parse_real(float *out, const char *text) {
    lli_number number;
    if (!text || !lli_number_parse(&number, text, strlen(text)) || !isfinite(number.real))
        return false;
    *out = (float)number.real;
    return isfinite(*out);
}

/* Number of entries of a list. */
static int64_t list_length(const char *text, char mark) {
    int64_t count = 1;
    for (; *text; text++)
        count += *text == mark;
    return count;
}

/* No class twice. */
static ll_status check_classes(ll_context *ctx, const ll_network *n, const char *text, const char *path) {
    lli_sort_item *items;
    int64_t K = n->model->K;
    bool twice = false;
    LLI_TRY(lli_memory_new(ctx, &items, 2 * K, sizeof *items));
    for (int64_t k = 0; k < K; k++)
        items[k].key = n->classes[k];
    lli_sort_descending(items, items + K, K);
    for (int64_t k = 1; k < K && !twice; k++)
        twice = items[k].key == items[k - 1].key; /* whole numbers: exact */
    lli_memory_free(items);
    return twice ? bad_entry(ctx, path, "classes", text, "each class once") : LL_OK;
}

/* The text of a network promises shapes; only those that are there take memory. */
static ll_status check_tensors(ll_context *ctx, const ll_network *n, const ll_bundle *bundle, const char *path) {
    for (int t = 0; t < n->model->tensors; t++) {
        const lli_tensor *tensor = &n->model->tensor[t];
        int64_t place = ll_bundle_find(bundle, tensor->name);
        if (place < 0)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s has no tensor %s, which the network %s has", path, tensor->name, ll_network_text(n));
        ll_array a = ll_bundle_array(bundle, place), wanted = ll_array_view(NULL, LL_DTYPE_F32, tensor->rank, tensor->shape);
        char have[LLI_ARRAY_TEXT], want[LLI_ARRAY_TEXT];
        if (a.dtype != LL_DTYPE_F32 || a.rank != tensor->rank || memcmp(a.shape, tensor->shape, (size_t)a.rank * sizeof *a.shape) != 0)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the tensor %s is %s; the network %s expects %s", path, tensor->name,
                            lli_array_text(have, &a), ll_network_text(n), lli_array_text(want, &wanted));
    }
    return LL_OK;
}

static ll_status read_meta(ll_network **out, ll_context *ctx, const ll_bundle *bundle, const char *path) {
    const char *format = lli_bundle_meta(bundle, "format"), *net = lli_bundle_meta(bundle, "net"),
               *input = lli_bundle_meta(bundle, "input");
    const char *classes = lli_bundle_meta(bundle, "classes"), *kept = lli_bundle_meta(bundle, "kept_epoch");
    if (!format || strcmp(format, LLI_NETWORK_FORMAT) != 0)
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s is not a network of lastlayer train: the metadata entry format is %.100s; expected " LLI_NETWORK_FORMAT, path,
                        format ? format : "missing");
    int32_t shape[3], epoch;
    int64_t product;
    if (!net)
        return bad_entry(ctx, path, "net", net, "a network like mlp:512,20");
    if (!input || !parse_list(shape, 3, input, 'x') || !lli_multiply(&product, shape[0], shape[1]) ||
        !lli_multiply(&product, product, shape[2]) || product < 1)
        return bad_entry(ctx, path, "input", input, "HEIGHTxWIDTHxCHANNELS");
    if (!classes || list_length(classes, ',') < 2)
        return bad_entry(ctx, path, "classes", classes, "the ids of at least two classes");
    LLI_TRY(lli_trained_plan(out, ctx, net, shape[0], shape[1], shape[2], list_length(classes, ',')));
    ll_network *n = *out;
    LLI_TRY(check_tensors(ctx, n, bundle, path));
    LLI_TRY(lli_trained_alloc(ctx, n));
    if (!parse_list(n->classes, n->model->K, classes, ','))
        return bad_entry(ctx, path, "classes", classes, "whole numbers below 2147483647, separated by commas");
    LLI_TRY(check_classes(ctx, n, classes, path));
    if (!parse_real(&n->shift, lli_bundle_meta(bundle, "shift")) || !parse_real(&n->scale, lli_bundle_meta(bundle, "scale")))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entries shift and scale are missing or no numbers", path);
    if (!(n->scale > 0))
        return bad_entry(ctx, path, "scale", lli_bundle_meta(bundle, "scale"), "a number above 0");
    if (!kept || !parse_list(&epoch, 1, kept, ','))
        return bad_entry(ctx, path, "kept_epoch", kept, "a whole number");
    n->kept_epoch = epoch;
    for (int64_t i = 0; i < bundle->meta_count; i++)
        LLI_TRY(lli_provenance_add(ctx, &n->provenance, bundle->meta[i].key, bundle->meta[i].value));
    return LL_OK;
}

static ll_status read_tensors(ll_context *ctx, ll_network *n, const ll_bundle *bundle, const char *path) {
    const lli_model *m = n->model;
    float *block = NULL, *tensors[LLI_TENSORS_MAX];
    LLI_TRY(lli_trained_tensors(ctx, &block, tensors, m));
    ll_status status = LL_OK;
    for (int t = 0; t < m->tensors && status == LL_OK; t++) {
        const lli_tensor *tensor = &m->tensor[t];
        ll_array a = ll_bundle_array(bundle, ll_bundle_find(bundle, tensor->name));
        memcpy(tensors[t], a.data, (size_t)tensor->count * sizeof(float));
        for (int64_t i = 0; status == LL_OK && i < tensor->count; i++)
            if (!isfinite(tensors[t][i]))
                status = lli_fail(ctx, LL_ERR_DATA, "%s: the tensor %s holds a value that is not finite", path, tensor->name);
    }
    if (status == LL_OK)
        m->ops->pack(m, n->theta, (const float *const *)tensors);
    lli_memory_free(block);
    return status;
}

static ll_status read_holdout(ll_context *ctx, ll_network *n, const ll_bundle *bundle, const char *path) {
    int64_t place = ll_bundle_find(bundle, "holdout");
    if (place < 0)
        return LL_OK;
    ll_array a = ll_bundle_array(bundle, place);
    if (a.dtype != LL_DTYPE_I64 || a.rank != 1)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: holdout is not an array of rows, i64 [n]", path);
    n->holdout_count = a.shape[0];
    LLI_TRY(lli_memory_new(ctx, &n->holdout, n->holdout_count, sizeof *n->holdout));
    memcpy(n->holdout, a.data, (size_t)n->holdout_count * sizeof *n->holdout);
    for (int64_t i = 0; i < n->holdout_count; i++)
        if (n->holdout[i] < 0 || (i > 0 && n->holdout[i] <= n->holdout[i - 1]))
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the rows of holdout are not ascending numbers from 0 on", path);
    return LL_OK;
}

static ll_status read_epochs(ll_context *ctx, ll_network *n, const ll_bundle *bundle, const char *path) {
    int64_t place = ll_bundle_find(bundle, "epochs");
    if (place < 0)
        return LL_OK;
    ll_array a = ll_bundle_array(bundle, place);
    if (a.dtype != LL_DTYPE_F64 || a.rank != 2 || a.shape[1] != EPOCH_NUMBERS)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: epochs is not an array of numbers, f64 [E,%d]", path, EPOCH_NUMBERS);
    n->epoch_count = a.shape[0];
    LLI_TRY(lli_memory_new(ctx, &n->epochs, n->epoch_count, sizeof *n->epochs));
    const double *x = a.data;
    for (int64_t e = 0; e < n->epoch_count; e++, x += EPOCH_NUMBERS)
        n->epochs[e] = (ll_epoch){.epoch = e + 1, .lr = x[0], .nll = x[1], .held_nll = x[2], .held_accuracy = x[3]};
    return LL_OK;
}

ll_status ll_network_read(ll_network **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_bundle *bundle;
    ll_network *n = NULL;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    ll_status status;
    LLI_DO(read_meta(&n, ctx, bundle, path));
    LLI_DO(read_tensors(ctx, n, bundle, path));
    LLI_DO(read_holdout(ctx, n, bundle, path));
    LLI_DO(read_epochs(ctx, n, bundle, path));
    LLI_DO(lli_trained_check_recipe(ctx, n, path));
    *out = n;
    n = NULL;
done:
    ll_network_free(n);
    ll_bundle_free(bundle);
    return status;
}
