/* SPDX-License-Identifier: MIT */
/* Some rows of a data set as a data set of its own. */
#ifndef LLI_DATA_DATASET_SELECT_H
#define LLI_DATA_DATASET_SELECT_H

#include "data/dataset.h"

/* Copies rows `rows` ([n], n > 0, any order) with their labels and weights. `map` ([K of data], NULL = labels stay): the new label of each
 * class, of `classes` in all; a class of -1 may not occur among the rows. `classes` 0 without a map: K stays. Images keep shift and
 * scale. */
ll_status lli_dataset_select(ll_dataset **out, ll_context *ctx, const ll_dataset *data, const int64_t *rows, int64_t n, const int32_t *map,
                             int64_t classes) LL_CHECK_RESULT;

/* The same, with all labels as they are, for a look at some rows of features: they are not hashed, which is most of the work, and
 * mean_square is that of `data`. */
ll_status lli_dataset_look(ll_dataset **out, ll_context *ctx, const ll_dataset *data, const int64_t *rows, int64_t n) LL_CHECK_RESULT;

/* The rows of positive weight, under the hashes of all: what a weighted sum has in it. *out = NULL where that is every row. */
ll_status lli_dataset_select_weighted(ll_dataset **out, ll_context *ctx, const ll_dataset *data) LL_CHECK_RESULT;

#endif
