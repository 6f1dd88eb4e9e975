/* SPDX-License-Identifier: MIT */
/* Checks features and labels once, in one pass that also takes their hash and the mean of |z|^2. Opens no file. */
#include "data/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "kernels/require.h"

enum {
    CHUNK = 1 << 16, /* elements looked at between two checks of the cancel flag */
    PIECE = 2048,    /* of them that are widened at a time */
    STRANDS = 8
};

static ll_status refuse_value(ll_context *ctx, const char *name, const ll_array *given, int64_t i, int64_t D) {
    double x = lli_array_real(given, i);
    if (isfinite(x))
        return lli_fail(ctx, LL_ERR_DATA, "%s: %g at row %" PRId64 ", column %" PRId64 " is too large for f32", name, x, i / D, i % D);
    return lli_fail(ctx, LL_ERR_DATA, "%s: %s at row %" PRId64 ", column %" PRId64 "; every feature must be finite", name,
                    isnan(x) ? "NaN" : "an infinite value", i / D, i % D);
}

/* Not finite where a number is not, and else finite: squares of f32 are far from the limits of f64. Number i is added to strand
 * i % STRANDS, so that additions need not wait for each other. */
static double squares(const float *x, int64_t n) {
    double strand[STRANDS] = {0}, sum = 0;
    int64_t whole = n / STRANDS * STRANDS;
    for (int64_t i = 0; i < whole; i += STRANDS)
        for (int s = 0; s < STRANDS; s++)
            strand[s] += (double)x[i + s] * (double)x[i + s];
    for (int64_t i = whole; i < n; i++)
        strand[i - whole] += (double)x[i] * (double)x[i];
    for (int s = 0; s < STRANDS; s++)
        sum += strand[s];
    return sum;
}

static double squares_of_halves(const lli_kernels *kernels, const uint16_t *x, int64_t n) {
    float wide[PIECE + 1]; /* a row that gather ends with a 1 */
    double sum = 0;
    for (int64_t first = 0; first < n; first += PIECE) {
        int64_t count = LLI_MIN(PIECE, n - first);
        kernels->gather(wide, x + first, true, NULL, 0, 1, count, count + 1);
        sum += squares(wide, count);
    }
    return sum;
}

/* Why a chunk was refused. */
static ll_status refuse_chunk(ll_context *ctx, const char *name, const ll_array *given, const ll_array *used, int64_t i, int64_t D) {
    while (isfinite(lli_array_real(used, i)))
        i++;
    return refuse_value(ctx, name, given, i, D);
}

/* The same of a chunk that was brought from a store. */
static ll_status refuse_stored(ll_context *ctx, const char *name, const char *chunk, ll_dtype dtype, int64_t first, int64_t D) {
    ll_array values = ll_array_view(chunk, dtype, 1, (int64_t[]){CHUNK});
    int64_t i = 0;
    while (isfinite(lli_array_real(&values, i)))
        i++;
    return lli_fail(ctx, LL_ERR_DATA, "%s: %s at row %" PRId64 ", column %" PRId64 "; every feature must be finite", name,
                    isnan(lli_array_real(&values, i)) ? "NaN" : "an infinite value", (first + i) / D, (first + i) % D);
}

/* The bytes of a dense array. */
static void hash_elements(lli_hash *hash, const ll_array *a, int64_t first, int64_t count) {
    size_t size = ll_dtype_size(a->dtype);
    double piece[PIECE];
    if (lli_array_is_dense(a)) {
        lli_hash_add(hash, (const char *)a->data + (size_t)first * size, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i += PIECE) {
        int64_t n = LLI_MIN((int64_t)PIECE, count - i);
        lli_array_copy(piece, a, first + i, n);
        lli_hash_add(hash, piece, (size_t)n * size);
    }
}

/* One pass: finite, hash, sum of squares. Features in a store are brought to `chunk`, which has room for CHUNK of them. */
static ll_status inspect(ll_context *ctx, ll_dataset *data, const char *name, const ll_array *given, const ll_array *used, char *chunk) {
    int64_t count = lli_array_count(used), D = data->rows.D, size = (int64_t)ll_dtype_size(used->dtype);
    lli_row_store *store = data->rows.store;
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    lli_hash hash;
    lli_hash_array(&hash, given->dtype, 2, given->shape);
    double total = 0;
    for (int64_t first = 0; first < count; first += CHUNK) {
        LLI_TRY(lli_cancel_check(ctx));
        int64_t n = LLI_MIN(CHUNK, count - first);
        if (store)
            LLI_TRY(store->read(store, ctx, chunk, first * size, n * size));
        const void *values = store ? chunk : (const char *)used->data + first * size;
        double sum = used->dtype == LL_DTYPE_F16 ? squares_of_halves(kernels, values, n) : squares(values, n);
        if (!isfinite(sum))
            return store ? refuse_stored(ctx, name, chunk, used->dtype, first, D) : refuse_chunk(ctx, name, given, used, first, D);
        total += sum;
        if (store)
            lli_hash_add(&hash, chunk, (size_t)(n * size));
        else
            hash_elements(&hash, given, first, n);
        lli_progress(ctx, "checking features", (double)(first + n), (double)count);
    }
    lli_hash_text(&hash, data->features_hash);
    data->mean_square = total / (double)data->rows.N;
    data->hash_believed = false;
    return LL_OK;
}

/* The spec of features in a store. */
static ll_array stored_spec(const ll_dataset *data) {
    return ll_array_view(NULL, data->rows.half ? LL_DTYPE_F16 : LL_DTYPE_F32, 2, (int64_t[]){data->rows.N, data->rows.D});
}

static ll_status inspect_stored(ll_context *ctx, ll_dataset *data, const char *name) {
    ll_array spec = stored_spec(data);
    char *chunk;
    LLI_TRY(lli_memory_new(ctx, &chunk, CHUNK, ll_dtype_size(spec.dtype)));
    ll_status status = inspect(ctx, data, name, &spec, &spec, chunk);
    lli_memory_free(chunk);
    return status;
}

/* Without the axes of length 1 that pooling leaves behind: [N,C,1,1] is [N,C]. */
static ll_array squeeze(ll_array a) {
    for (int axis = a.rank - 1; axis > 0 && a.rank > 2; axis--) {
        if (a.shape[axis] != 1)
            continue;
        a.rank--;
        for (int i = axis; i < a.rank; i++) {
            a.shape[i] = a.shape[i + 1];
            a.strides[i] = a.strides[i + 1];
        }
    }
    return a;
}

static ll_status take_shape(ll_context *ctx, ll_dataset *data, const char *name, ll_array features) {
    char text[LLI_ARRAY_TEXT];
    if (features.rank != 2)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the features are %s; expected two axes [N,D]%s", name, lli_array_text(text, &features),
                        features.rank == 4  ? ": do what the network does before its last layer, mostly the mean over a map, "
                                              "x.mean((2, 3)) for [N,C,H,W], else x.reshape(len(x), -1), which is "
                                              "lastlayer convert --flatten"
                        : features.rank > 2 ? " (lastlayer convert --flatten joins the others)"
                                            : "");
    if (features.shape[0] < 1 || features.shape[1] < 1)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the features are %s; expected at least one row and one column", name,
                        lli_array_text(text, &features));
    data->rows.N = features.shape[0];
    data->rows.D = features.shape[1];
    return LL_OK;
}

static ll_status take_features(ll_context *ctx, ll_dataset *data, const char *name, ll_array features) {
    features = squeeze(features);
    LLI_TRY(take_shape(ctx, data, name, features));
    ll_array used = features;
    if ((features.dtype != LL_DTYPE_F32 && features.dtype != LL_DTYPE_F16) || !lli_array_is_dense(&features)) {
        int64_t count = lli_array_count(&features);
        LLI_TRY(lli_memory_new(ctx, &data->converted, count, sizeof(float)));
        for (int64_t first = 0; first < count; first += CHUNK) {
            LLI_TRY(lli_cancel_check(ctx));
            lli_array_to_f32(data->converted + first, &features, first, LLI_MIN((int64_t)CHUNK, count - first));
        }
        used = ll_array_view(data->converted, LL_DTYPE_F32, 2, features.shape);
    }
    data->rows.features = used.data;
    data->rows.half = used.dtype == LL_DTYPE_F16;
    return inspect(ctx, data, name, &features, &used, NULL);
}

ll_status lli_dataset_take_labels(ll_context *ctx, ll_dataset *data, const char *name, ll_array labels, int64_t classes) {
    int64_t largest;
    bool one_hot = labels.rank == 2 && labels.shape[1] != 1;
    LLI_TRY(lli_dataset_labels(ctx, &data->labels, &largest, name, labels, data->rows.N, classes));
    data->K_given = classes > 0;
    data->K = data->K_given ? classes : largest + 1;
    data->one_class = true;
    int32_t smallest = data->labels[0];
    for (int64_t i = 1; i < data->rows.N; i++) {
        data->one_class &= data->labels[i] == data->labels[0];
        smallest = LLI_MIN(smallest, data->labels[i]);
    }
    if (smallest == 1 && !data->K_given && !data->one_class && !one_hot)
        lli_log(ctx, LL_LOG_WARNING,
                "%s: the labels are 1 to %" PRId64
                ", and class 0 has no row: if they count from 1, save y - 1 instead, or there is a class "
                "too many; if not, give `classes %" PRId64 "`",
                name, largest, data->K);
    lli_hash hash;
    lli_hash_array(&hash, labels.dtype, one_hot ? 2 : 1, labels.shape);
    hash_elements(&hash, &labels, 0, lli_array_count(&labels));
    lli_hash_text(&hash, data->labels_hash);
    return LL_OK;
}

void lli_dataset_drop_labels(ll_dataset *data) {
    lli_memory_free(data->labels);
    data->labels = NULL;
    data->K = 0;
    data->K_given = data->one_class = false;
    data->labels_hash[0] = 0;
}

ll_status ll_dataset_new(ll_dataset **out, ll_context *ctx, ll_array features, const ll_array *labels, int64_t classes) {
    LLI_NEED(ctx, out);
    *out = NULL;
    LLI_TRY(lli_array_check(ctx, "features", &features));
    if (labels)
        LLI_TRY(lli_array_check(ctx, "labels", labels));
    return lli_dataset_make(out, ctx, features, labels, classes, "features", "labels");
}

ll_status lli_dataset_make(ll_dataset **out, ll_context *ctx, ll_array features, const ll_array *labels, int64_t classes,
                           const char *features_name, const char *labels_name) {
    *out = NULL;
    if (classes < 0 || classes == 1 || classes > INT32_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "the number of classes is %" PRId64 "; expected at least 2", classes);
    ll_dataset *data;
    LLI_TRY(lli_memory_new(ctx, &data, 1, sizeof *data));
    ll_status status;
    LLI_DO(take_features(ctx, data, features_name, features));
    if (labels)
        LLI_DO(lli_dataset_take_labels(ctx, data, labels_name, *labels, classes));
    *out = data;
    data = NULL;
done:
    ll_dataset_free(data);
    return status;
}

ll_status lli_dataset_make_stored(ll_dataset **out, ll_context *ctx, lli_row_store *store, const ll_array *spec, const ll_array *labels,
                                  int64_t classes, const lli_dataset_found *found, const char *features_name, const char *labels_name) {
    *out = NULL;
    ll_dataset *data;
    LLI_TRY(lli_memory_new(ctx, &data, 1, sizeof *data));
    ll_status status;
    LLI_DO(take_shape(ctx, data, features_name, *spec));
    data->rows.half = spec->dtype == LL_DTYPE_F16;
    data->rows.store = store;
    if (found) {
        memcpy(data->features_hash, found->features_hash, sizeof data->features_hash);
        data->mean_square = found->mean_square;
        data->hash_believed = true;
    } else
        LLI_DO(inspect_stored(ctx, data, features_name));
    if (labels)
        LLI_DO(lli_dataset_take_labels(ctx, data, labels_name, *labels, classes));
    *out = data;
    data = NULL;
done:
    if (data)
        data->rows.store = NULL; /* still the caller's */
    ll_dataset_free(data);
    return status;
}

ll_status lli_dataset_known_hash(char out[LLI_HASH_TEXT], ll_context *ctx, const ll_dataset *data) {
    ll_dataset look = *data;
    if (data->hash_believed)
        LLI_TRY(inspect_stored(ctx, &look, "the features"));
    memcpy(out, look.features_hash, LLI_HASH_TEXT);
    return LL_OK;
}

void ll_dataset_free(ll_dataset *data) {
    if (!data)
        return;
    if (data->rows.store)
        data->rows.store->release(data->rows.store);
    lli_memory_free(data->labels);
    lli_memory_free(data->weights);
    lli_memory_free(data->converted);
    lli_memory_free(data->block);
    ll_bundle_free(data->files[0]);
    ll_bundle_free(data->files[1]);
    lli_memory_free(data);
}

ll_status lli_dataset_check_trainable(ll_context *ctx, const ll_dataset *data, bool head_given) {
    if (!data->labels)
        return lli_fail(ctx, LL_ERR_DATA, "there are no labels to learn from");
    if (data->rows.N < 1)
        return lli_fail(ctx, LL_ERR_DATA, "there are no rows to learn from");
    if (data->one_class)
        return lli_fail(ctx, LL_ERR_DATA, "all %" PRId64 " labels are class %d; at least two classes are needed", data->rows.N,
                        data->labels[0]);
    if (!head_given && !data->K_given && data->K > data->rows.N)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the largest label is %" PRId64 ", which means %" PRId64 " classes for %" PRId64
                        " rows; if that is right, give `classes %s%" PRId64 "`",
                        data->K - 1, data->K, data->rows.N, data->rows.bytes ? "first:" : "", data->K);
    return LL_OK;
}

int64_t ll_dataset_rows(const ll_dataset *data) {
    return data ? data->rows.N : 0;
}

int64_t ll_dataset_features(const ll_dataset *data) {
    return data ? data->rows.D : 0;
}

int64_t ll_dataset_classes(const ll_dataset *data) {
    return data ? data->K : 0;
}

const int32_t *ll_dataset_labels(const ll_dataset *data) {
    return data ? data->labels : NULL;
}

const float *ll_dataset_weights(const ll_dataset *data) {
    return data ? data->weights : NULL;
}

ll_status lli_dataset_check_labels(ll_context *ctx, const ll_dataset *data, int64_t K, const char *what) {
    for (int64_t i = 0; data->K > K && i < data->rows.N; i++)
        if (data->labels[i] >= K)
            return lli_fail(ctx, LL_ERR_DATA, "the label at row %" PRId64 " is %d, but the %s has %" PRId64 " classes (0 to %" PRId64 ")",
                            i, data->labels[i], what, K, K - 1);
    return LL_OK;
}
