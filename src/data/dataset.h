/* SPDX-License-Identifier: MIT */
/* Features and labels that have passed every check. */
#ifndef LLI_DATA_DATASET_H
#define LLI_DATA_DATASET_H

#include "base/bundle.h"
#include "base/hash.h"
#include "base/rows.h"

struct ll_dataset {
    lli_rows rows;
    int64_t K;            /* 0 without labels */
    bool K_given;         /* by the caller, not by the largest label */
    int32_t *labels;      /* [N] or NULL; owned */
    bool one_class;       /* all labels are equal */
    float *converted;     /* [N,D] when the features came in another type; owned */
    double mean_square;   /* mean over rows of |z|^2 */
    char features_hash[LLI_HASH_TEXT], labels_hash[LLI_HASH_TEXT]; /* of the arrays as given */
    ll_bundle *held[2];   /* files that the views point into; owned */
    void *block;          /* memory that the rows lie in when they are a copy; owned */
};

/* As ll_dataset_new; the names (of files) begin the sentences about each array. */
ll_status lli_dataset_make(ll_dataset **out, ll_context *ctx, ll_array features, const ll_array *labels, int64_t classes,
                           const char *features_name, const char *labels_name) LL_CHECK_RESULT;

/* Checks labels and takes them over as int32; K as in ll_dataset_new. */
ll_status lli_dataset_take_labels(ll_context *ctx, ll_dataset *data, const char *name, ll_array labels, int64_t classes) LL_CHECK_RESULT;

void lli_dataset_drop_labels(ll_dataset *data);

/* Refuses what no method can learn from: no labels, one class, K above N that nobody asked for. `head_given`: K comes from a head. */
ll_status lli_dataset_check_trainable(ll_context *ctx, const ll_dataset *data, bool head_given) LL_CHECK_RESULT;

/* Labels of any integer type, [N] or [N,1], as int32. K = 0: no upper bound; the largest label is returned in *largest. */
ll_status lli_dataset_labels(ll_context *ctx, int32_t **out, int64_t *largest, const char *name, ll_array labels, int64_t N,
                             int64_t K) LL_CHECK_RESULT;

#endif
