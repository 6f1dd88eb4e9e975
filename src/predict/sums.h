/* SPDX-License-Identifier: MIT */
/* The sums over members of a block of rows: memory [rows,K], never times S. docs/math/confidence.md */
#ifndef LLI_PREDICT_SUMS_H
#define LLI_PREDICT_SUMS_H

#include "base/context.h"
#include "kernels/tally.h"
#include "predict/verdict.h"

/* Room for `rows` rows and for adding `chunk` members at once. */
ll_status lli_sums_init(ll_context *ctx, lli_tally *t, int64_t rows, int64_t D, int64_t K, int64_t chunk) LL_CHECK_RESULT;
void lli_sums_release(lli_tally *t);
int64_t lli_sums_bytes(int64_t D, int64_t K, int64_t chunk); /* of a row */

/* Weights as integers: equal ones stay equal, others are kept to 2^-30 of their sum. */
void lli_sums_shares(int32_t *share, const double *weight, int64_t S);

void lli_sums_clear(lli_tally *t, int64_t n);                /* for n rows, up to those there is room for */
lli_verdict lli_sums_verdict(const lli_tally *t, int64_t i); /* after the kernel finish */

#endif
