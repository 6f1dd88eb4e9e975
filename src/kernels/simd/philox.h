/* SPDX-License-Identifier: MIT */
/* Philox4x32-10 for H blocks at once, one block per 64-bit lane: the words of base/rng.h in the low halves, anything in the high halves. */
#ifndef LLI_KERNELS_SIMD_PHILOX_H
#define LLI_KERNELS_SIMD_PHILOX_H

#include "base/rng.h"
#include "kernels/simd/vector.h"

typedef struct philox {
    vq word[4];
} philox;

/* What the blocks of a stream have in common: the last two words of the counter and the key of each round. */
typedef struct philox_stream {
    vq counter[2], key[10][2];
} philox_stream;

INLINE vq all_q(uint64_t x) {
    return x - (vq){0};
}

INLINE philox_stream philox_start(lli_stream stream) {
    philox_stream s = {.counter = {all_q(stream.step), all_q(stream.purpose_member)}};
    uint32_t k0 = (uint32_t)stream.seed, k1 = (uint32_t)(stream.seed >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        s.key[round][0] = all_q(k0);
        s.key[round][1] = all_q(k1);
    }
    return s;
}

/* U <= 4 vectors of blocks side by side: a round waits for the one before, so one vector alone would leave the processor idle. */
INLINE void philox_blocks(philox *out, const philox_stream *s, const vq *block, const int U) {
    vq c[4][4];
    UNROLL
    for (int u = 0; u < U; u++) {
        c[u][0] = block[u];
        c[u][1] = block[u] >> 32;
        c[u][2] = s->counter[0];
        c[u][3] = s->counter[1];
    }
    UNROLL
    for (int round = 0; round < 10; round++)
        UNROLL
    for (int u = 0; u < U; u++) {
        vq p0 = multiply_low(c[u][0], all_q(0xD2511F53u)), p1 = multiply_low(c[u][2], all_q(0xCD9E8D57u));
        c[u][0] = p1 >> 32 ^ c[u][1] ^ s->key[round][0];
        c[u][1] = p1;
        c[u][2] = p0 >> 32 ^ c[u][3] ^ s->key[round][1];
        c[u][3] = p0;
    }
    UNROLL
    for (int u = 0; u < U; u++)
        UNROLL
    for (int word = 0; word < 4; word++)
        out[u].word[word] = c[u][word];
}

/* The low halves of `even` and `odd`, alternating. */
INLINE vu interleave(vq even, vq odd) {
    return (vu)((even & 0xffffffffu) | odd << 32);
}

#endif
