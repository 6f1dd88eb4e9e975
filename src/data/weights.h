/* SPDX-License-Identifier: MIT */
/* Weights of rows: how much each counts in a sum over them. docs/math/model.md */
#ifndef LLI_DATA_WEIGHTS_H
#define LLI_DATA_WEIGHTS_H

#include "data/dataset.h"

/* As ll_dataset_weigh; the names (of files) begin the sentences about each array. */
ll_status lli_weights_set(ll_context *ctx, ll_dataset *data, const ll_array *weights, const ll_array *class_weights,
                          const char *weights_name, const char *class_weights_name) LL_CHECK_RESULT;

/* Sum and zeros of data->weights. */
void lli_weights_count(ll_dataset *data);

#endif
