/* SPDX-License-Identifier: MIT */
/* Which rows choose and which report, as a function of the seed. */
#ifndef LLI_DATA_SPLIT_H
#define LLI_DATA_SPLIT_H

#include "base/context.h"
#include "base/rng.h"

/* *rows [N], to free with lli_memory_free: N/2 rows (rounded down) drawn without replacement, rising, then the others, rising. */
ll_status lli_split_half(int64_t **rows, ll_context *ctx, int64_t N, uint64_t seed, lli_purpose purpose) LL_CHECK_RESULT;

#endif
