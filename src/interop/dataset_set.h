/* SPDX-License-Identifier: MIT */
/* Data sets of many files. */
#ifndef LLI_INTEROP_DATASET_SET_H
#define LLI_INTEROP_DATASET_SET_H

#include "data/dataset.h"

/* ll_dataset_read, where one or both are sets. */
ll_status lli_dataset_set_read(ll_dataset **out, ll_context *ctx, const char *features, const char *labels,
                               int64_t classes) LL_CHECK_RESULT;
/* The array of a set as a whole, in `*block` to free. */
ll_status lli_dataset_set_join(void **block, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                               const char *what) LL_CHECK_RESULT;

#endif
