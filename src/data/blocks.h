/* SPDX-License-Identifier: MIT */
/* The order of an epoch when features do not fit into memory: blocks of neighbouring rows in random order, rows shuffled inside each.
 * The rows of a block are then neighbours on disk, so it can be read ahead. */
#ifndef LLI_DATA_BLOCKS_H
#define LLI_DATA_BLOCKS_H

#include "kernels/kernels.h"

int64_t lli_blocks_count(int64_t N, int64_t block_rows);

/* blocks = the blocks in the order of this epoch; order = their places in `list` ([N], NULL = 0..N-1), shuffled inside each block. */
void lli_blocks_shuffle(int64_t *order, /* [N] */ int64_t *blocks, /* [count] */ const lli_kernels *kernels, const int64_t *list, int64_t N,
                        int64_t block_rows, uint64_t seed, int64_t member, int64_t epoch);

/* Sorts a list of rows below N, so that its blocks are neighbours; `counts` [N] is scratch. */
void lli_blocks_sort(int64_t *list, /* [N] */ int64_t *counts, int64_t N);

#endif
