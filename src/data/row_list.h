/* SPDX-License-Identifier: MIT */
/* Row lists as people write them. */
#ifndef LLI_DATA_ROW_LIST_H
#define LLI_DATA_ROW_LIST_H

#include "base/context.h"
#include "base/rng.h"

/* "0,5,10:20" (10:20 = 10 to 19) -> [R] in the order given, each below N. NULL text = none. */
ll_status lli_row_list_parse(ll_context *ctx, int64_t **out, int64_t *count, const char *text, int64_t N) LL_CHECK_RESULT;

/* Rising: one row from each of min(most, N) equal parts of N rows, so that any order of the classes in a file is spread over. */
ll_status lli_row_list_spread(ll_context *ctx, int64_t **out, int64_t *count, int64_t N, int64_t most, lli_stream stream) LL_CHECK_RESULT;

#endif
