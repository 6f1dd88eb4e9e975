/* SPDX-License-Identifier: MIT */
/* Rows training apart for validation, as a function of the seed. */
#ifndef LLI_DATA_HOLDOUT_H
#define LLI_DATA_HOLDOUT_H

#include "base/context.h"

/* One row in ten of 0..N-1 (at least one; N > 1), and the others; both in rising order, to free. */
ll_status lli_holdout_new(int64_t **held_out, int64_t *held_out_count, int64_t **training, int64_t *training_count, ll_context *ctx,
                          int64_t N, uint64_t seed) LL_CHECK_RESULT;

#endif
