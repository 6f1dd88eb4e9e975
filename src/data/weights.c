/* SPDX-License-Identifier: MIT */
/* Weights of rows from weights of rows, of classes, and from the sizes of the classes. docs/math/model.md */
#include "data/weights.h"

#include <inttypes.h>
#include <math.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"

/* A mean weight further from 1 than this is probably a mistake: it changes the balance of data and prior. */
#define MEAN_FAR 10.0

static ll_status check_shape(ll_context *ctx, const char *name, const ll_array *a, int64_t count, const char *of) {
    char text[LLI_ARRAY_TEXT];
    bool column = a->rank == 2 && a->shape[1] == 1;
    if (a->rank != 1 && !column)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the weights are %s; expected one axis, a number for each of the %" PRId64 " %s", name,
                        lli_array_text(text, a), count, of);
    if (a->shape[0] != count)
        return lli_fail(ctx, LL_ERR_DATA, "%s: %" PRId64 " weights for %" PRId64 " %s; expected one each%s", name, a->shape[0], count, of,
                        of[0] == 'c' ? " (if there are more classes than the labels show, give their number)" : "");
    return LL_OK;
}

/* What a number must be, alone and as the product of two. */
static ll_status check_number(ll_context *ctx, const char *name, double w, const char *of, int64_t i) {
    const char *wrong = isnan(w) || w < 0        ? "expected a number of at least 0"
                        : !isfinite((float)w)    ? "expected a number that f32 can hold"
                        : w > 0 && (float)w == 0 ? "which f32 rounds to 0; scale the weights to a mean of 1"
                                                 : NULL;
    return wrong ? lli_fail(ctx, LL_ERR_DATA, "%s: the weight of %s %" PRId64 " is %g; %s", name, of, i, w, wrong) : LL_OK;
}

static ll_status check_numbers(ll_context *ctx, const char *name, const ll_array *a, int64_t count, const char *of) {
    for (int64_t i = 0; i < count; i++)
        LLI_TRY(check_number(ctx, name, lli_array_real(a, i), of, i));
    return LL_OK;
}

void lli_weights_count(ll_dataset *data) {
    data->weight_sum = 0;
    data->weightless = 0;
    for (int64_t i = 0; i < data->rows.N; i++) {
        data->weight_sum += (double)data->weights[i];
        data->weightless += data->weights[i] == 0;
    }
}

/* Takes the weights over, unless nothing is left of them. */
static ll_status take(ll_context *ctx, ll_dataset *data, float *weights) {
    int64_t N = data->rows.N, left = 0;
    for (int64_t i = 0; i < N; i++)
        left += weights[i] > 0;
    if (left == 0)
        return lli_fail(ctx, LL_ERR_DATA, "all %" PRId64 " rows have the weight 0; there is nothing to learn from", N);
    lli_memory_free(data->weights);
    data->weights = weights;
    lli_weights_count(data);
    lli_hash hash;
    lli_hash_array(&hash, LL_DTYPE_F32, 1, &N);
    lli_hash_add(&hash, weights, (size_t)N * sizeof *weights);
    lli_hash_text(&hash, data->weights_hash);
    double mean = data->weight_sum / (double)left;
    if (mean > MEAN_FAR || mean < 1 / MEAN_FAR)
        lli_log(ctx, LL_LOG_WARNING,
                "the weights have the mean %.3g: relative to the prior the %" PRId64
                " rows count as %.3g; scale the weights to a mean of 1, unless you want this",
                mean, left, data->weight_sum);
    return LL_OK;
}

static ll_status weigh(ll_context *ctx, const ll_dataset *data, float *out, const ll_array *weights, const ll_array *class_weights,
                       const char *name) {
    for (int64_t i = 0; i < data->rows.N; i++) {
        double w = weights ? lli_array_real(weights, i) : 1, c = class_weights ? lli_array_real(class_weights, data->labels[i]) : 1;
        LLI_TRY(check_number(ctx, name, w * c, "row", i));
        out[i] = (float)(w * c);
    }
    return LL_OK;
}

ll_status lli_weights_set(ll_context *ctx, ll_dataset *data, const ll_array *weights, const ll_array *class_weights,
                          const char *weights_name, const char *class_weights_name) {
    if (class_weights && !data->labels)
        return lli_fail(ctx, LL_ERR_DATA, "%s: class weights need labels, and the rows have none", class_weights_name);
    if (weights) {
        LLI_TRY(check_shape(ctx, weights_name, weights, data->rows.N, "rows"));
        LLI_TRY(check_numbers(ctx, weights_name, weights, data->rows.N, "row"));
    }
    if (class_weights) {
        LLI_TRY(check_shape(ctx, class_weights_name, class_weights, data->K, "classes"));
        LLI_TRY(check_numbers(ctx, class_weights_name, class_weights, data->K, "class"));
    }
    float *made;
    LLI_TRY(lli_memory_new(ctx, &made, data->rows.N, sizeof *made));
    ll_status status;
    LLI_DO(weigh(ctx, data, made, weights, class_weights, weights ? weights_name : class_weights_name));
    LLI_DO(take(ctx, data, made));
    made = NULL;
done:
    lli_memory_free(made);
    return status;
}

ll_status ll_dataset_weigh(ll_context *ctx, ll_dataset *data, const ll_array *weights, const ll_array *class_weights) {
    LLI_NEED(ctx, data);
    if (weights)
        LLI_TRY(lli_array_check(ctx, "weights", weights));
    if (class_weights)
        LLI_TRY(lli_array_check(ctx, "class weights", class_weights));
    return lli_weights_set(ctx, data, weights, class_weights, "weights", "class weights");
}

ll_status ll_dataset_balance(ll_context *ctx, ll_dataset *data) {
    LLI_NEED(ctx, data);
    if (!data->labels)
        return lli_fail(ctx, LL_ERR_DATA, "classes are balanced by their labels, and the rows have none");
    int64_t N = data->rows.N, rows = 0, classes = 0, *sizes;
    float *made = NULL;
    ll_status status;
    LLI_TRY(lli_memory_new(ctx, &sizes, data->K, sizeof *sizes));
    LLI_DO(lli_memory_new(ctx, &made, N, sizeof *made));
    for (int64_t i = 0; i < N; i++)
        if (!data->weights || data->weights[i] > 0) {
            rows++;
            classes += sizes[data->labels[i]]++ == 0;
        }
    for (int64_t i = 0; i < N; i++) {
        double w = data->weights ? (double)data->weights[i] : 1;
        if (w > 0)
            w *= (double)rows / ((double)classes * (double)sizes[data->labels[i]]);
        LLI_DO(check_number(ctx, "balanced classes", w, "row", i));
        made[i] = (float)w;
    }
    LLI_DO(take(ctx, data, made));
    made = NULL;
done:
    lli_memory_free(made);
    lli_memory_free(sizes);
    return status;
}
