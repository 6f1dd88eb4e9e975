/* SPDX-License-Identifier: MIT */
/* In which order rows are visited: shuffles and bootstrap lists, as functions of (seed, member, epoch). */
#ifndef LLI_DATA_ORDER_H
#define LLI_DATA_ORDER_H

#include <stdint.h>

/* order = the rows of `list` ([N], NULL = 0..N-1) in the order of this epoch (Fisher-Yates). */
void lli_order_shuffle(int64_t *order, /* [N] */ const int64_t *list, int64_t N, uint64_t seed, int64_t member, int64_t epoch);

/* list = N rows drawn with replacement for this member. */
void lli_order_resample(int64_t *list, /* [N] */ int64_t N, uint64_t seed, int64_t member);

#endif
