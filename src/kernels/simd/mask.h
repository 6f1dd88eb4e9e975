/* SPDX-License-Identifier: MIT */
/* Which units dropout drops, from bit planes of Philox blocks. docs/math/random.md has the layout. */
#ifndef LLI_KERNELS_SIMD_MASK_H
#define LLI_KERNELS_SIMD_MASK_H

#include "kernels/kernels.h"
#include "kernels/simd/philox.h"

enum { MASK_GROUPS = 2 * H }; /* groups of 128 bits at a time */

/* Word w of a group may hold units of a row: those of its 32 bits that do. */
INLINE void mask_used(uint32_t used[4], int64_t D) {
    int64_t span = lli_mask_span(D);
    for (int64_t word = 0; word < 4; word++) {
        int64_t units = D - 32 * word % span;
        used[word] = span >= 128 || units >= 32 ? 0xffffffffu : units <= 0 ? 0 : (1u << units) - 1;
    }
}

INLINE bool any_bit(vq x) {
    uint64_t left = 0;
    UNROLL
    for (int lane = 0; lane < H; lane++)
        left |= x[lane];
    return left != 0;
}

/* The 128 bits of each group: 1 = dropped. Plane q of group g is block 16 g + q; plane 0 is the top bit of the 16-bit numbers. A unit is
 * settled at the first bit where its number differs from drop16. */
INLINE void mask_groups(uint32_t bits[MASK_GROUPS][4], const lli_mask *m, const philox_stream *stream, const uint32_t used[4],
                        const vq group[2]) {
    vq open[2][4], dropped[2][4] = {{{0}}}, any = all_q(1);
    for (int word = 0; word < 4; word++)
        open[0][word] = open[1][word] = all_q(used[word]);
    const int planes = 16 - __builtin_ctz(m->drop16);
    for (int plane = 0; plane < planes && any_bit(any); plane++) {
        const uint64_t low = (uint64_t)plane | (uint64_t)m->layer << 56;
        philox p[2];
        philox_blocks(p, stream, (const vq[2]){group[0] << 4 | low, group[1] << 4 | low}, 2);
        const bool one = m->drop16 >> (15 - plane) & 1u;
        any = all_q(0);
        UNROLL
        for (int u = 0; u < 2; u++)
            UNROLL
            for (int word = 0; word < 4; word++) {
                if (one)
                    dropped[u][word] |= open[u][word] & ~p[u].word[word];
                open[u][word] &= one ? p[u].word[word] : ~p[u].word[word];
                any |= open[u][word];
            }
    }
    UNROLL
    for (int u = 0; u < 2; u++)
        UNROLL
        for (int lane = 0; lane < H; lane++)
            UNROLL
            for (int word = 0; word < 4; word++)
                bits[u * H + lane][word] = (uint32_t)dropped[u][word][lane];
}

#endif
