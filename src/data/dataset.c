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

/* One pass: finite, hash, sum of squares. */
static ll_status inspect(ll_context *ctx, ll_dataset *data, const char *name, const ll_array *given, const ll_array *used) {
    int64_t count = lli_array_count(used), D = data->rows.D;
    size_t given_size = ll_dtype_size(given->dtype);
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    lli_hash hash;
    lli_hash_array(&hash, given->dtype, 2, given->shape);
    double total = 0;
    for (int64_t first = 0; first < count; first += CHUNK) {
        LLI_TRY(lli_cancel_check(ctx));
        int64_t n = LLI_MIN(CHUNK, count - first);
        double sum = used->dtype == LL_DTYPE_F16 ? squares_of_halves(kernels, (const uint16_t *)used->data + first, n)
                                                 : squares((const float *)used->data + first, n);
        if (!isfinite(sum))
            return refuse_chunk(ctx, name, given, used, first, D);
        total += sum;
        lli_hash_add(&hash, (const char *)given->data + (size_t)first * given_size, (size_t)n * given_size);
        lli_progress(ctx, "checking features", (double)(first + n), (double)count);
    }
    lli_hash_text(&hash, data->features_hash);
    data->mean_square = total / (double)data->rows.N;
    return LL_OK;
}

static ll_status take_features(ll_context *ctx, ll_dataset *data, const char *name, ll_array features) {
    char text[LLI_ARRAY_TEXT];
    if (features.rank != 2)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the features are %s; expected two axes [N,D]%s", name, lli_array_text(text, &features),
                        features.rank > 2 ? " (lastlayer convert --flatten joins the others)" : "");
    if (features.shape[0] < 1 || features.shape[1] < 1)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the features are %s; expected at least one row and one column", name,
                        lli_array_text(text, &features));
    data->rows.N = features.shape[0];
    data->rows.D = features.shape[1];
    ll_array used = features;
    if (features.dtype != LL_DTYPE_F32 && features.dtype != LL_DTYPE_F16) {
        int64_t count = lli_array_count(&features);
        LLI_TRY(lli_memory_new(ctx, &data->converted, count, sizeof(float)));
        for (int64_t first = 0; first < count; first += CHUNK) {
            LLI_TRY(lli_cancel_check(ctx));
            lli_array_to_f32(data->converted + first, &features, first, LLI_MIN((int64_t)CHUNK, count - first));
        }
        used.data = data->converted;
        used.dtype = LL_DTYPE_F32;
    }
    data->rows.features = used.data;
    data->rows.half = used.dtype == LL_DTYPE_F16;
    return inspect(ctx, data, name, &features, &used);
}

ll_status lli_dataset_labels(ll_context *ctx, int32_t **out, int64_t *largest, const char *name, ll_array labels, int64_t N, int64_t K) {
    *out = NULL;
    *largest = -1;
    char text[LLI_ARRAY_TEXT];
    bool column = labels.rank == 2 && labels.shape[1] == 1;
    if (labels.rank != 1 && !column)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the labels are %s; expected one axis [N] of class numbers", name,
                        lli_array_text(text, &labels));
    if (!lli_array_is_integer(labels.dtype))
        return lli_fail(ctx, LL_ERR_DATA, "%s: the labels are %s; expected integers (lastlayer convert --dtype i64 makes them so)", name,
                        lli_array_text(text, &labels));
    if (labels.shape[0] != N)
        return lli_fail(ctx, LL_ERR_DATA, "%s: %" PRId64 " labels for %" PRId64 " rows; expected one each", name, labels.shape[0], N);
    int32_t *copy;
    LLI_TRY(lli_memory_new(ctx, &copy, N, sizeof *copy));
    int64_t limit = K > 0 ? K : INT32_MAX;
    for (int64_t i = 0; i < N; i++) {
        bool fits;
        if (i % CHUNK == 0 && lli_cancelled(ctx)) {
            lli_memory_free(copy);
            return lli_cancel_check(ctx);
        }
        int64_t y = lli_array_integer(&labels, i, &fits);
        if (!fits || y < 0 || y >= limit) {
            lli_memory_free(copy);
            if (!fits)
                return lli_fail(ctx, LL_ERR_DATA, "%s: the label at row %" PRId64 " is too large for a class number", name, i);
            return lli_fail(ctx, LL_ERR_DATA, "%s: the label at row %" PRId64 " is %" PRId64 "; expected 0 to %" PRId64 "%s", name, i, y,
                            limit - 1, y == limit ? " (classes count from 0)" : "");
        }
        copy[i] = (int32_t)y;
        *largest = LLI_MAX(*largest, y);
    }
    *out = copy;
    return LL_OK;
}

ll_status lli_dataset_take_labels(ll_context *ctx, ll_dataset *data, const char *name, ll_array labels, int64_t classes) {
    int64_t largest;
    LLI_TRY(lli_dataset_labels(ctx, &data->labels, &largest, name, labels, data->rows.N, classes));
    data->K_given = classes > 0;
    data->K = data->K_given ? classes : largest + 1;
    data->one_class = true;
    for (int64_t i = 1; i < data->rows.N && data->one_class; i++)
        data->one_class = data->labels[i] == data->labels[0];
    lli_hash hash;
    lli_hash_array(&hash, labels.dtype, 1, labels.shape);
    lli_hash_add(&hash, labels.data, (size_t)data->rows.N * ll_dtype_size(labels.dtype));
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

void ll_dataset_free(ll_dataset *data) {
    if (!data)
        return;
    lli_memory_free(data->labels);
    lli_memory_free(data->converted);
    lli_memory_free(data->block);
    ll_bundle_free(data->held[0]);
    ll_bundle_free(data->held[1]);
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
                        "the largest label is %" PRId64 ", which means %" PRId64 " classes for %" PRId64 " rows; if that is meant, say "
                        "--classes %s%" PRId64,
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
