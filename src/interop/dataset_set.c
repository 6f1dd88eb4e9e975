/* SPDX-License-Identifier: MIT */
/* Data sets of many files: in memory where they fit, else left in the files. */
#include "interop/dataset_set.h"

#include <inttypes.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "formats/file_list.h"
#include "formats/row_files.h"
#include "formats/set_cache.h"
#include "interop/pair.h"

enum { SHARE = 3 }; /* of the memory that is left, what features may take of it */

static ll_status join(void **block, ll_array *array, ll_context *ctx, const ll_files *files, const char *const *names, const char *what) {
    lli_row_files *rows;
    *block = NULL;
    LLI_TRY(lli_row_files_open(&rows, ctx, files, names, what));
    ll_status status = lli_row_files_join(block, array, ctx, rows, names);
    lli_row_files_free(rows);
    return status;
}

ll_status lli_dataset_set_join(void **block, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                               const char *what) {
    ll_files *files;
    *block = NULL;
    LLI_TRY(ll_files_find(&files, ctx, where));
    ll_status status = join(block, array, ctx, files, names, what);
    ll_files_free(files);
    return status;
}

static bool is_large(ll_context *ctx, const ll_array *spec) {
    return lli_array_count(spec) > lli_memory_left(ctx) / SHARE / (int64_t)ll_dtype_size(spec->dtype);
}

/* The rows stay where they are; only their hash and their mean square are taken, or known from before. */
static ll_status keep_in_files(ll_dataset **out, ll_context *ctx, lli_row_files *rows, const ll_array *labels, int64_t classes,
                               const char *const names[2]) {
    lli_dataset_found found;
    bool known = lli_set_cache_get(ctx, rows->key, found.features_hash, &found.mean_square);
    LLI_TRY(lli_dataset_make_stored(out, ctx, &rows->store, &rows->array, labels, classes, known ? &found : NULL, names[0], names[1]));
    if (!known)
        lli_set_cache_put(ctx, rows->key, (*out)->features_hash, (*out)->mean_square);
    return LL_OK;
}

static ll_status read_sets(ll_dataset **out, ll_context *ctx, const ll_files *features, const ll_files *labels, int64_t classes,
                           const char *const names[2]) {
    lli_row_files *rows = NULL;
    void *block = NULL, *label_block = NULL;
    ll_array x, y;
    ll_status status;
    *out = NULL;
    if (classes < 0 || classes == 1 || classes > INT32_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "the number of classes is %" PRId64 "; expected at least 2", classes);
    LLI_DO(lli_row_files_open(&rows, ctx, features, lli_pair_feature_names, "features"));
    if (labels)
        LLI_DO(join(&label_block, &y, ctx, labels, lli_pair_label_names, "labels"));
    bool plain = rows->in_place && (rows->array.dtype == LL_DTYPE_F32 || rows->array.dtype == LL_DTYPE_F16);
    if (plain && is_large(ctx, &rows->array)) {
        LLI_DO(keep_in_files(out, ctx, rows, labels ? &y : NULL, classes, names));
        rows = NULL; /* the data set's now */
        goto done;
    }
    LLI_DO(lli_row_files_join(&block, &x, ctx, rows, lli_pair_feature_names));
    LLI_DO(lli_dataset_make(out, ctx, x, labels ? &y : NULL, classes, names[0], names[1]));
    if (!(*out)->converted) {
        (*out)->block = block;
        block = NULL;
    }
done:
    lli_memory_free(block);
    lli_memory_free(label_block);
    lli_row_files_free(rows);
    return status;
}

ll_status lli_dataset_set_read(ll_dataset **out, ll_context *ctx, const char *features, const char *labels, int64_t classes) {
    ll_files *files[2] = {NULL, NULL};
    ll_status status;
    *out = NULL;
    LLI_DO(ll_files_find(&files[0], ctx, features));
    if (labels)
        LLI_DO(ll_files_find(&files[1], ctx, labels));
    LLI_DO(read_sets(out, ctx, files[0], files[1], classes, (const char *const[]){features, labels}));
done:
    ll_files_free(files[0]);
    ll_files_free(files[1]);
    return status;
}

/* A list as ll_files_find would give it; the texts are borrowed. */
static ll_files listed(const char *const *where, int64_t count) {
    return (ll_files){.where = (char **)(uintptr_t)where, .count = count};
}

ll_status ll_dataset_read_files(ll_dataset **out, ll_context *ctx, const char *const *features, int64_t count, const char *const *labels,
                                int64_t label_count, int64_t classes) {
    LLI_NEED(ctx, out, features);
    *out = NULL;
    for (int64_t i = 0; i < LLI_MAX(count, 1); i++)
        if (count < 1 || !features[i])
            return lli_fail(ctx, LL_ERR_USAGE, "ll_dataset_read_files: there is no file of features number %" PRId64, i);
    for (int64_t i = 0; labels && i < LLI_MAX(label_count, 1); i++)
        if (label_count < 1 || !labels[i])
            return lli_fail(ctx, LL_ERR_USAGE, "ll_dataset_read_files: there is no file of labels number %" PRId64, i);
    ll_files x = listed(features, count), y = listed(labels, label_count);
    return read_sets(out, ctx, &x, labels ? &y : NULL, classes, (const char *const[]){features[0], labels ? labels[0] : NULL});
}
