/* SPDX-License-Identifier: MIT */
/* From a network and images to the features of its last layer, block by block into one file, or into memory. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/bundle.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/option.h"
#include "base/pool.h"
#include "data/dataset.h"
#include "formats/format.h"
#include "interop/encoded.h"
#include "interop/trained.h"

void ll_encode_options_init(ll_encode_options *options, size_t struct_size) {
    const ll_encode_options defaults = {.block = 256};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

static const ll_option table[] = {
    {"block", 0, LL_OPTION_INT, offsetof(ll_encode_options, block), "ROWS", NULL, 1, 1 << 20, false, false, "256",
     "rows encoded at once; does not change the result"},
};

const ll_option *ll_encode_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

enum { TRAIN, VAL, TEST, OUT, PARTS };
enum { ARRAYS_MAX = 2 * PARTS + 3, NAME_BYTES = 20 };
static const char *const part_names[PARTS] = {"train", "val", "test", "out"};

typedef struct writer {
    const ll_network *network;
    lli_sink *sink;
    ll_named_array specs[ARRAYS_MAX];
    char names[ARRAYS_MAX][NAME_BYTES];
    int64_t count;
    int64_t features[PARTS], labels[PARTS]; /* places in specs, -1 = absent */
    int64_t W, b, classes;                  /* likewise */
    bool split;                             /* the training rows into train and val */
    int64_t done[PARTS];                    /* rows written */
    int64_t block;
    float *z, *packed; /* [block,F] */
    int32_t *truth;    /* [block] */
    float *work;
    float *head; /* W [K,F], b [K] */
    lli_meter meter;
    lli_provenance provenance;
} writer;

static int64_t add(writer *w, const char *name, const char *part, ll_dtype dtype, int rank, int64_t rows, int64_t columns) {
    char *full = w->names[w->count];
    memcpy(full, name, strlen(name) + 1);
    if (*part) {
        strcat(full, "_");
        strcat(full, part);
    }
    w->specs[w->count] = (ll_named_array){full, ll_array_view(NULL, dtype, rank, (int64_t[]){rows, columns})};
    return w->count++;
}

static void add_part(writer *w, int part, int64_t rows, bool labels) {
    w->features[part] = rows ? add(w, "features", part_names[part], LL_DTYPE_F32, 2, rows, w->network->model->features) : -1;
    w->labels[part] = rows && labels ? add(w, "labels", part_names[part], LL_DTYPE_I32, 1, rows, 0) : -1;
}

static ll_status check(ll_context *ctx, const ll_network *n, const ll_encode_data *data) {
    static const char *const what[] = {"the training rows", "the test rows", "the out-of-distribution rows"};
    const ll_dataset *const sets[] = {data->train, data->test, data->out};
    if (!data->train && !data->test && !data->out)
        return lli_fail(ctx, LL_ERR_USAGE, "there is nothing to encode: give rows for training, test or out");
    for (int i = 0; i < 3; i++)
        if (sets[i])
            LLI_TRY(lli_trained_check_rows(ctx, n, &sets[i]->rows, what[i]));
    return data->train ? lli_trained_check_held(ctx, n, data->train) : LL_OK;
}

/* ---- provenance ---- */

static void hash_network(char out[LLI_HASH_TEXT], const ll_network *n) {
    lli_hash hash;
    lli_hash_array(&hash, LL_DTYPE_F32, 1, &n->model->floats);
    lli_hash_add(&hash, n->theta, (size_t)n->model->floats * sizeof *n->theta);
    lli_hash_text(&hash, out);
}

static ll_status record_network(ll_context *ctx, writer *w) {
    const ll_network *n = w->network;
    lli_provenance *p = &w->provenance;
    char text[LLI_HASH_TEXT];
    hash_network(text, n);
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(lli_provenance_add(ctx, p, "net", ll_network_text(n)));
    LLI_TRY(lli_provenance_add(ctx, p, "network_sha256", text));
    return lli_provenance_add(ctx, p, "isa", ll_isa());
}

static ll_status record(ll_context *ctx, writer *w, const ll_encode_data *data) {
    LLI_TRY(record_network(ctx, w));
    if (data->train)
        LLI_TRY(lli_provenance_add(ctx, &w->provenance, "train_sha256", data->train->features_hash));
    if (data->test)
        LLI_TRY(lli_provenance_add(ctx, &w->provenance, "test_sha256", data->test->features_hash));
    return data->out ? lli_provenance_add(ctx, &w->provenance, "out_sha256", data->out->features_hash) : LL_OK;
}

ll_status lli_encoded_check(ll_context *ctx, const char *path, const ll_network *network, const ll_encode_data *data) {
    char hash[LLI_HASH_TEXT];
    ll_bundle *bundle;
    hash_network(hash, network);
    const struct {
        const char *key, *what, *here;
    } parts[] = {{"network_sha256", "another network", hash},
                 {"train_sha256", "other training images", data->train ? data->train->features_hash : NULL},
                 {"test_sha256", "other test images", data->test ? data->test->features_hash : NULL},
                 {"out_sha256", "other images of unknown classes", data->out ? data->out->features_hash : NULL}};
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    ll_status status = LL_OK;
    for (size_t i = 0; i < LLI_COUNT(parts) && status == LL_OK; i++) {
        const char *there = lli_bundle_meta(bundle, parts[i].key);
        if (parts[i].here && (!there || strcmp(there, parts[i].here) != 0))
            status = lli_fail(ctx, LL_ERR_USAGE, "%s holds features of %s than this call has; choose another `results`", path,
                              parts[i].what);
    }
    ll_bundle_free(bundle);
    return status;
}

/* ---- rows ---- */

static ll_status put(ll_context *ctx, writer *w, int part, const float *z, const int32_t *labels, int64_t n) {
    if (n == 0)
        return LL_OK;
    LLI_TRY(lli_sink_write(w->sink, ctx, w->features[part], w->done[part], n, z));
    if (w->labels[part] >= 0)
        LLI_TRY(lli_sink_write(w->sink, ctx, w->labels[part], w->done[part], n, labels));
    w->done[part] += n;
    return LL_OK;
}

/* Rows of a block that are (or are not) in the ascending list, which *next walks along. */
static int64_t pick(writer *w, const int32_t *labels, int64_t first, int64_t n, bool listed) {
    const ll_network *net = w->network;
    int64_t F = net->model->features, count = 0, next = 0;
    while (next < net->holdout_count && net->holdout[next] < first)
        next++;
    for (int64_t i = 0; i < n; i++) {
        bool held = next < net->holdout_count && net->holdout[next] == first + i;
        next += held;
        if (held != listed)
            continue;
        memcpy(w->packed + count * F, w->z + i * F, (size_t)F * sizeof *w->z);
        if (labels)
            w->truth[count] = labels[i];
        count++;
    }
    return count;
}

static ll_status encode(ll_context *ctx, writer *w, const ll_dataset *data, int part, bool split) {
    const lli_model *m = w->network->model;
    const lli_rows rows = lli_trained_rows(w->network, &data->rows);
    for (int64_t first = 0; first < rows.N; first += w->block) {
        int64_t n = LLI_MIN(w->block, rows.N - first);
        const int32_t *labels = data->labels ? data->labels + first : NULL;
        LLI_TRY(lli_cancel_check(ctx));
        LLI_TRY(m->ops->represent(ctx, m, w->z, w->network->theta, w->work, &rows, first, n, NULL));
        if (split) {
            int64_t count = pick(w, labels, first, n, false);
            LLI_TRY(put(ctx, w, TRAIN, w->packed, w->truth, count));
            count = pick(w, labels, first, n, true);
            LLI_TRY(put(ctx, w, VAL, w->packed, w->truth, count));
        } else {
            LLI_TRY(put(ctx, w, part, w->z, labels, n));
        }
        lli_meter_add(ctx, &w->meter, n);
    }
    return LL_OK;
}

/* W [K,F] and b [K] of the last layer. */
static ll_status take_head(ll_context *ctx, writer *w) {
    const lli_model *m = w->network->model;
    int64_t floats = 0, before = 0;
    for (int i = 0; i < m->tensors; i++) {
        before += i < m->head_tensor ? m->tensor[i].count : 0;
        floats += m->tensor[i].count;
    }
    float *all = NULL, *tensors[LLI_TENSORS_MAX];
    LLI_TRY(lli_memory_new(ctx, &all, floats, sizeof *all));
    ll_status status = lli_memory_new(ctx, &w->head, m->K * (m->features + 1), sizeof *w->head);
    if (status == LL_OK) {
        lli_model_place_tensors(tensors, m, all);
        m->ops->unpack(m, tensors, w->network->theta);
        memcpy(w->head, tensors[m->head_tensor], (size_t)(m->K * m->features) * sizeof *w->head);
        memcpy(w->head + m->K * m->features, tensors[m->head_tensor + 1], (size_t)m->K * sizeof *w->head);
    }
    lli_memory_free(all);
    return status;
}

/* Names, shapes and provenance of what is to come, and all the workspace. */
static ll_status prepare(ll_context *ctx, writer *w, const ll_encode_data *data) {
    const lli_model *m = w->network->model;
    int64_t held = w->split ? w->network->holdout_count : 0, F = m->features;
    for (int part = 0; part < PARTS; part++)
        w->features[part] = w->labels[part] = -1;
    if (data->train) {
        add_part(w, TRAIN, data->train->rows.N - held, data->train->labels != NULL);
        add_part(w, VAL, held, data->train->labels != NULL);
    }
    if (data->test)
        add_part(w, TEST, data->test->rows.N, data->test->labels != NULL);
    if (data->out)
        add_part(w, OUT, data->out->rows.N, false);
    w->W = add(w, "W", "", LL_DTYPE_F32, 2, m->K, F);
    w->b = add(w, "b", "", LL_DTYPE_F32, 1, m->K, 0);
    w->classes = add(w, "classes", "", LL_DTYPE_I32, 1, m->K, 0);
    LLI_TRY(lli_memory_new(ctx, &w->z, w->block * F, sizeof *w->z));
    LLI_TRY(lli_memory_new(ctx, &w->packed, w->block * F, sizeof *w->packed));
    LLI_TRY(lli_memory_new(ctx, &w->truth, w->block, sizeof *w->truth));
    LLI_TRY(lli_memory_new(ctx, &w->work, m->ops->represent_floats(m, w->block, lli_pool_workers(ctx)), sizeof *w->work));
    LLI_TRY(take_head(ctx, w));
    return record(ctx, w, data);
}

static int64_t rows_of(const ll_dataset *data) {
    return data ? data->rows.N : 0;
}

static ll_status begin(writer *w, ll_encode_data *data, ll_context *ctx, const ll_network *network, const ll_encode_data *parts,
                       const ll_encode_options *options) {
    ll_encode_options o = ll_encode_options_default();
    *data = (ll_encode_data){0};
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_encode_options, &o, options, table, LLI_COUNT(table)));
    LLI_TRY(lli_abi_take(ctx, "ll_encode_data", data, sizeof *data, parts, LLI_ABI_UP_TO(ll_encode_data, out)));
    LLI_TRY(check(ctx, network, data));
    w->network = network;
    w->block = o.block;
    w->split = data->train && ll_network_held(network, data->train) > 0;
    lli_meter_init(&w->meter, "encode", rows_of(data->train) + rows_of(data->test) + rows_of(data->out));
    return prepare(ctx, w, data);
}

/* The one pass, into a file or into memory. */
static ll_status fill(ll_context *ctx, writer *w, const ll_encode_data *data) {
    const lli_model *m = w->network->model;
    LLI_TRY(lli_sink_write(w->sink, ctx, w->W, 0, m->K, w->head));
    LLI_TRY(lli_sink_write(w->sink, ctx, w->b, 0, m->K, w->head + m->K * m->features));
    LLI_TRY(lli_sink_write(w->sink, ctx, w->classes, 0, m->K, w->network->classes));
    if (data->train)
        LLI_TRY(encode(ctx, w, data->train, TRAIN, w->split));
    if (data->test)
        LLI_TRY(encode(ctx, w, data->test, TEST, false));
    if (data->out)
        LLI_TRY(encode(ctx, w, data->out, OUT, false));
    lli_sink *complete = w->sink;
    w->sink = NULL;
    return lli_sink_commit(complete, ctx);
}

static void release(writer *w) {
    lli_sink_abandon(w->sink);
    lli_memory_free(w->z);
    lli_memory_free(w->packed);
    lli_memory_free(w->truth);
    lli_memory_free(w->work);
    lli_memory_free(w->head);
    lli_provenance_release(&w->provenance);
}

ll_status ll_encode(ll_encoded **out, ll_context *ctx, const ll_network *network, const ll_encode_data *parts,
                    const ll_encode_options *options) {
    LLI_NEED(ctx, out, network, parts);
    *out = NULL;
    writer w = {0};
    ll_encode_data data;
    ll_bundle *bundle = NULL;
    ll_status status;
    LLI_DO(begin(&w, &data, ctx, network, parts, options));
    LLI_DO(lli_sink_memory(&w.sink, &bundle, ctx, w.specs, w.count, w.provenance.pairs, w.provenance.count));
    LLI_DO(fill(ctx, &w, &data));
    LLI_DO(lli_encoded_new(out, ctx, bundle));
done:
    release(&w);
    return status;
}

ll_status ll_encode_write(ll_context *ctx, const char *path, const ll_network *network, const ll_encode_data *parts,
                          const ll_encode_options *options) {
    LLI_NEED(ctx, path, network, parts);
    if (lli_file_sink_is_table(path))
        return lli_fail(ctx, LL_ERR_USAGE, "%s: features of several parts do not fit one table; write .npz or .safetensors", path);
    writer w = {0};
    ll_encode_data data;
    ll_status status;
    LLI_DO(begin(&w, &data, ctx, network, parts, options));
    LLI_DO(lli_file_sink_open(&w.sink, ctx, path, w.specs, w.count, w.provenance.pairs, w.provenance.count));
    LLI_DO(fill(ctx, &w, &data));
done:
    release(&w);
    return status;
}
