/* SPDX-License-Identifier: MIT */
/* Copies of chosen rows. */
#include "data/dataset_select.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "data/images.h"
#include "data/weights.h"

static ll_status select_labels(int32_t **out, ll_context *ctx, const ll_dataset *data, const int64_t *rows, int64_t n, const int32_t *map) {
    LLI_TRY(lli_memory_new(ctx, out, n, sizeof **out));
    for (int64_t i = 0; i < n; i++) {
        int32_t y = data->labels[rows[i]];
        (*out)[i] = map ? map[y] : y;
        if ((*out)[i] < 0)
            return lli_fail(ctx, LL_ERR_INTERNAL, "row %" PRId64 " has class %d, which was left out", rows[i], y);
    }
    return LL_OK;
}

static ll_status select_weights(ll_context *ctx, ll_dataset *made, const ll_dataset *data, const int64_t *rows) {
    if (!data->weights)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &made->weights, made->rows.N, sizeof *made->weights));
    for (int64_t i = 0; i < made->rows.N; i++)
        made->weights[i] = data->weights[rows[i]];
    lli_weights_count(made);
    memcpy(made->weights_hash, data->weights_hash, sizeof made->weights_hash);
    return LL_OK;
}

/* Rows that were checked with the others, without hash. */
static ll_status take_checked(ll_dataset **out, ll_context *ctx, const ll_dataset *data, const void *features, int64_t n) {
    LLI_TRY(lli_memory_new(ctx, out, 1, sizeof **out));
    (*out)->rows = (lli_rows){.features = features, .half = data->rows.half, .N = n, .D = data->rows.D};
    (*out)->mean_square = data->mean_square;
    return LL_OK;
}

static ll_status choose(ll_dataset **out, ll_context *ctx, const ll_dataset *data, const int64_t *rows, int64_t n, const int32_t *map,
                        int64_t classes, bool hashed) {
    const lli_rows *from = &data->rows;
    size_t row = (size_t)from->D * lli_rows_size(from);
    unsigned char *copy = NULL;
    int32_t *labels = NULL;
    ll_dataset *made = NULL;
    ll_status status;
    *out = NULL;
    LLI_DO(lli_memory_new(ctx, &copy, n, row));
    if (from->store) {
        lli_rows chosen;
        LLI_DO(lli_rows_batch(&chosen, ctx, from, copy, rows, n));
    } else
        for (int64_t i = 0; i < n; i++)
            memcpy(copy + (size_t)i * row, (const char *)from->features + (size_t)rows[i] * row, row);
    if (from->bytes) {
        unsigned char *given = copy;
        copy = NULL;
        LLI_DO(lli_images_new(&made, ctx, given, n, from->height, from->width, from->channels));
        LLI_DO(lli_images_seal(ctx, made, (double)from->shift, (double)from->scale));
    } else {
        const int64_t shape[] = {n, from->D};
        if (!hashed)
            LLI_DO(take_checked(&made, ctx, data, copy, n));
        else
            LLI_DO(lli_dataset_make(&made, ctx, ll_array_view(copy, from->half ? LL_DTYPE_F16 : LL_DTYPE_F32, 2, shape), NULL, 0,
                                    "features", NULL));
        made->block = copy;
        copy = NULL;
    }
    if (data->labels) {
        LLI_DO(select_labels(&labels, ctx, data, rows, n, map));
        LLI_DO(
            lli_dataset_take_labels(ctx, made, "labels", ll_array_view(labels, LL_DTYPE_I32, 1, &n), map || classes ? classes : data->K));
    }
    LLI_DO(select_weights(ctx, made, data, rows));
    *out = made;
    made = NULL;
done:
    ll_dataset_free(made);
    lli_memory_free(labels);
    lli_memory_free(copy);
    return status;
}

ll_status lli_dataset_select(ll_dataset **out, ll_context *ctx, const ll_dataset *data, const int64_t *rows, int64_t n, const int32_t *map,
                             int64_t classes) {
    return choose(out, ctx, data, rows, n, map, classes, true);
}

ll_status lli_dataset_look(ll_dataset **out, ll_context *ctx, const ll_dataset *data, const int64_t *rows, int64_t n) {
    return choose(out, ctx, data, rows, n, NULL, 0, false);
}

ll_status lli_dataset_select_weighted(ll_dataset **out, ll_context *ctx, const ll_dataset *data) {
    *out = NULL;
    if (!data->weights || !data->weightless)
        return LL_OK;
    int64_t *rows, n = 0;
    LLI_TRY(lli_memory_new(ctx, &rows, data->rows.N, sizeof *rows));
    for (int64_t i = 0; i < data->rows.N; i++)
        if (data->weights[i] > 0)
            rows[n++] = i;
    ll_status status;
    if (n == 0)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "all %" PRId64 " rows to learn from have the weight 0", data->rows.N));
    LLI_DO(lli_dataset_select(out, ctx, data, rows, n, NULL, 0));
    (*out)->K_given = data->K_given;
    memcpy((*out)->features_hash, data->features_hash, sizeof data->features_hash);
    memcpy((*out)->labels_hash, data->labels_hash, sizeof data->labels_hash);
done:
    lli_memory_free(rows);
    return status;
}
