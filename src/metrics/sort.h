/* SPDX-License-Identifier: MIT */
/* An exact sort of doubles that carry a tag. Radix sort on the 64 bits of the key: O(n) always, stable, no comparison function. */
#ifndef LLI_METRICS_SORT_H
#define LLI_METRICS_SORT_H

#include <stdint.h>

typedef struct lli_sort_item {
    double key; /* any double but NaN; -0 and +0 are one value */
    int64_t tag;
} lli_sort_item;

/* From the largest key to the smallest; equal keys keep their order. */
void lli_sort_descending(lli_sort_item *items /* [n] */, lli_sort_item *scratch /* [n] */, int64_t n);

#endif
