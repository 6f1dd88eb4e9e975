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

/* Units whose bits so far are those of drop16, and units that are dropped. */
typedef struct mask_state {
    vq open[2][4], dropped[2][4];
} mask_state;

/* One more plane. A unit is settled at the first bit where its number differs from drop16, whose bit is `one`. */
INLINE bool mask_plane(mask_state *m, const philox p[2], bool one) {
    vq any = all_q(0);
    UNROLL
    for (int u = 0; u < 2; u++)
        UNROLL
    for (int word = 0; word < 4; word++) {
        if (one)
            m->dropped[u][word] |= m->open[u][word] & ~p[u].word[word];
        m->open[u][word] &= one ? p[u].word[word] : ~p[u].word[word];
        any |= m->open[u][word];
    }
    return any_bit(any);
}

/* The 128 bits of each group: 1 = dropped. Plane q is the block `first` + q; plane 0 is the top bit of the 16-bit numbers. Planes are
 * drawn in pairs, since a single one would leave the processor idle; the last one comes alone if they are odd. */
INLINE void mask_planes(uint32_t bits[MASK_GROUPS][4], const lli_mask *m, const philox_stream *stream, const uint32_t used[4],
                        const vq first[2]) {
    const int planes = 16 - __builtin_ctz(m->drop16);
    mask_state state = {.dropped = {{{0}}}};
    for (int word = 0; word < 4; word++)
        state.open[0][word] = state.open[1][word] = all_q(used[word]);
    vq block[4] = {first[0], first[1]};
    bool any = true;
    int plane = 0;
    for (; plane + 1 < planes && any; plane += 2) {
        philox p[4];
        block[2] = block[0] + 1;
        block[3] = block[1] + 1;
        philox_blocks(p, stream, block, 4);
        mask_plane(&state, p, m->drop16 >> (15 - plane) & 1u);
        any = mask_plane(&state, p + 2, m->drop16 >> (14 - plane) & 1u);
        block[0] += 2;
        block[1] += 2;
    }
    if (plane < planes && any) {
        philox p[2];
        philox_blocks(p, stream, block, 2);
        mask_plane(&state, p, true);
    }
    UNROLL
    for (int u = 0; u < 2; u++) {
        uint64_t half[2][H];
        const vq *dropped = state.dropped[u], low = (vq)interleave(dropped[0], dropped[1]), high = (vq)interleave(dropped[2], dropped[3]);
        memcpy(half[0], &low, sizeof low);
        memcpy(half[1], &high, sizeof high);
        UNROLL
        for (int lane = 0; lane < H; lane++) {
            memcpy(bits[u * H + lane], &half[0][lane], sizeof half[0][lane]);
            memcpy(bits[u * H + lane] + 2, &half[1][lane], sizeof half[1][lane]);
        }
    }
}

/* The same of groups by number: plane q of group g is block 16 g + q of its layer. */
INLINE void mask_groups(uint32_t bits[MASK_GROUPS][4], const lli_mask *m, const philox_stream *stream, const uint32_t used[4],
                        const vq group[2]) {
    const vq start = all_q(m->start + ((uint64_t)m->layer << 56));
    mask_planes(bits, m, stream, used, (const vq[2]){(group[0] << 4) + start, (group[1] << 4) + start});
}

#endif
