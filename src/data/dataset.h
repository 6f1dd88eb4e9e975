/* SPDX-License-Identifier: MIT */
/* Features, labels and weights that have passed every check. */
#ifndef LLI_DATA_DATASET_H
#define LLI_DATA_DATASET_H

#include "base/bundle.h"
#include "base/hash.h"
#include "base/rows.h"

struct ll_dataset {
    lli_rows rows;
    int64_t K;          /* 0 without labels */
    bool K_given;       /* by the caller, not by the largest label */
    int32_t *labels;    /* [N] or NULL; owned */
    bool one_class;     /* all labels are equal */
    float *weights;     /* [N] w of the rows in sums over them, NULL: all 1; owned */
    double weight_sum;  /* of the weights, where there are some */
    int64_t weightless; /* rows of weight 0; data/dataset_select.h drops them before anybody learns from the rows */
    float *converted;   /* [N,D] when the features came in another type; owned */
    double mean_square; /* mean over rows of |z|^2 */
    char features_hash[LLI_HASH_TEXT], labels_hash[LLI_HASH_TEXT]; /* of the arrays as given */
    char weights_hash[LLI_HASH_TEXT];                              /* of the weights as f32; "" without */
    ll_bundle *files[2];                                           /* files that the views point into; owned */
    void *block;                                                   /* memory that the rows lie in when they are a copy; owned */
    bool hash_believed; /* features_hash and mean_square are those of an earlier look at the same files, by size and time */
};

/* As ll_dataset_new; the names (of files) begin the sentences about each array. */
ll_status lli_dataset_make(ll_dataset **out, ll_context *ctx, ll_array features, const ll_array *labels, int64_t classes,
                           const char *features_name, const char *labels_name) LL_CHECK_RESULT;

/* What an earlier look at the same features found. */
typedef struct lli_dataset_found {
    char features_hash[LLI_HASH_TEXT];
    double mean_square;
} lli_dataset_found;

/* The same of features [N,D] in a store, f32 or f16, which the dataset then owns; on failure the caller still does. With `found` they are
 * not read. */
ll_status lli_dataset_make_stored(ll_dataset **out, ll_context *ctx, lli_row_store *store, const ll_array *spec, const ll_array *labels,
                                  int64_t classes, const lli_dataset_found *found, const char *features_name,
                                  const char *labels_name) LL_CHECK_RESULT;

/* features_hash; where that is only believed, the features are read again. For every use that promises something. */
ll_status lli_dataset_known_hash(char out[LLI_HASH_TEXT], ll_context *ctx, const ll_dataset *data) LL_CHECK_RESULT;

/* Checks labels and takes them over as int32; K as in ll_dataset_new. */
ll_status lli_dataset_take_labels(ll_context *ctx, ll_dataset *data, const char *name, ll_array labels, int64_t classes) LL_CHECK_RESULT;

void lli_dataset_drop_labels(ll_dataset *data);

/* Refuses what no method can learn from: no labels, one class, or K above N that was not requested. `head_given`: K comes from a head. */
ll_status lli_dataset_check_trainable(ll_context *ctx, const ll_dataset *data, bool head_given) LL_CHECK_RESULT;

/* Sum of the weights; N without. */
static inline double lli_dataset_weight(const ll_dataset *data) {
    return data->weights ? data->weight_sum : (double)data->rows.N;
}

/* Labels, [N] or [N,1] of whole numbers of any type, or one-hot [N,K], as int32. K = 0: no upper bound; the largest label is returned in
 * *largest. */
ll_status lli_dataset_labels(ll_context *ctx, int32_t **out, int64_t *largest, const char *name, ll_array labels, int64_t N,
                             int64_t K) LL_CHECK_RESULT;

/* Refuses labels beyond the K classes of what takes them in, "head" or "network". Without labels there is nothing to refuse. */
ll_status lli_dataset_check_labels(ll_context *ctx, const ll_dataset *data, int64_t K, const char *what) LL_CHECK_RESULT;

#endif
