/* SPDX-License-Identifier: MIT */
/* In which order rows are visited: shuffles, bootstrap lists and independent batches, as functions of (seed, member, epoch or step). */
#ifndef LLI_DATA_ORDER_H
#define LLI_DATA_ORDER_H

#include "kernels/kernels.h"

/* order = the rows of `list` ([N], NULL = 0..N-1) in the order of this epoch (Fisher-Yates). */
void lli_order_shuffle(int64_t *order, /* [N] */ const lli_kernels *kernels, const int64_t *list, int64_t N, uint64_t seed, int64_t member,
                       int64_t epoch);

/* list = N rows drawn with replacement for this member. */
void lli_order_resample(int64_t *list, /* [N] */ const lli_kernels *kernels, int64_t N, uint64_t seed, int64_t member);

/* batch = B rows of `list` ([N], NULL = 0..N-1), drawn with replacement for this step. */
void lli_order_batch(int64_t *batch, /* [B] */ const lli_kernels *kernels, const int64_t *list, int64_t N, int64_t B, uint64_t seed,
                     int64_t member, int64_t step);

/* Fisher-Yates on n numbers, in place; place i uses draw first + i of the stream. */
void lli_order_permute(int64_t *list, /* [n] */ const lli_kernels *kernels, int64_t n, lli_stream stream, int64_t first);

#endif
