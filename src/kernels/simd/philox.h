/* SPDX-License-Identifier: MIT */
/* Philox4x32-10 for H blocks at once, one block per 64-bit lane: the words of base/rng.h in the low halves, anything in the high halves. */
#ifndef LLI_KERNELS_SIMD_PHILOX_H
#define LLI_KERNELS_SIMD_PHILOX_H

#include "base/rng.h"
#include "kernels/simd/vector.h"

typedef struct philox {
    vq word[4];
} philox;

INLINE vq all_q(uint64_t x) {
    return x - (vq){0};
}

INLINE philox philox_blocks(lli_stream stream, vq block) {
    vq c0 = block, c1 = block >> 32, c2 = all_q(stream.step), c3 = all_q(stream.purpose_member);
    uint32_t k0 = (uint32_t)stream.seed, k1 = (uint32_t)(stream.seed >> 32);
    UNROLL
    for (int round = 0; round < 10; round++) {
        vq p0 = multiply_low(c0, all_q(0xD2511F53u)), p1 = multiply_low(c2, all_q(0xCD9E8D57u));
        c0 = p1 >> 32 ^ c1 ^ k0;
        c1 = p1;
        c2 = p0 >> 32 ^ c3 ^ k1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (philox){{c0, c1, c2, c3}};
}

/* The low halves of `even` and `odd`, alternating. */
INLINE vu interleave(vq even, vq odd) {
    return (vu)((even & 0xffffffffu) | odd << 32);
}

#endif
