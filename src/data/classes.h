/* SPDX-License-Identifier: MIT */
/* Subsets of the classes: those chosen become 0, 1, 2, ..., the rows of the others are out of distribution. */
#ifndef LLI_DATA_CLASSES_H
#define LLI_DATA_CLASSES_H

#include "data/dataset.h"

/* "all" (or NULL), "first:n", "last:n", "random:n" (by seed), or a list of class numbers "0,3,4" -> the classes chosen, of 0..K-1, in
 * rising order; a list keeps its own. `open`: K is only what these labels reach, and a list may go beyond. */
ll_status lli_classes_parse(int32_t **out, int64_t *count, ll_context *ctx, const char *text, int64_t K, bool open,
                            uint64_t seed) LL_CHECK_RESULT;

/* *chosen: the rows of `data` whose class is one of `classes` [count], with the places in it as labels; *others: the other rows, without
 * labels. NULL where there is no such row; a NULL address: not wanted. */
ll_status lli_classes_divide(ll_dataset **chosen, ll_dataset **others, ll_context *ctx, const ll_dataset *data, const int32_t *classes,
                             int64_t count) LL_CHECK_RESULT;

/* The largest number of a list; -1 if there is none. */
int64_t lli_classes_largest(const char *text);

#endif
