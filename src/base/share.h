/* SPDX-License-Identifier: MIT */
/* Work that several processes share without talking to each other: each does one part, and a merge puts the parts together. */
#ifndef LLI_BASE_SHARE_H
#define LLI_BASE_SHARE_H

#include "base/context.h"

typedef struct lli_share {
    int64_t index, count; /* part index of count, from 0; count 0: all of it */
} lli_share;

enum { LLI_SHARE_MAX = 1 << 20 };

/* Units of work [begin, end) out of `total` that a part does: equal shares, in order. */
static inline int64_t lli_share_edge(const lli_share *part, int64_t edge, int64_t total) {
    return total / part->count * edge + total % part->count * edge / part->count;
}

static inline int64_t lli_share_begin(const lli_share *part, int64_t total) {
    return part->count ? lli_share_edge(part, part->index, total) : 0;
}

static inline int64_t lli_share_end(const lli_share *part, int64_t total) {
    return part->count ? lli_share_edge(part, part->index + 1, total) : total;
}

#endif
