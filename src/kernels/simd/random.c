/* SPDX-License-Identifier: MIT */
/* Normals and noise from vectors of Philox blocks. docs/math/random.md has the equations. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/normal.h"
#include "kernels/simd/philox.h"

enum { NORMALS = 4 * H }; /* of H blocks */

/* Blocks per lane, such that the last shuffle of normals_of leaves them in order. */
#if LLI_BYTES == 32
static const vq order = {0, 2, 1, 3};
#else
static const vq order = {0, 1};
#endif

/* Box-Muller on H blocks: two vectors of normals, in order. */
INLINE void box_muller(vf out[2], philox p) {
    vf r = radius(interleave(p.word[0], p.word[2])), c, s;
    direction(&c, &s, interleave(p.word[1], p.word[3]));
    vf x = r * c, y = r * s; /* numbers 0, 2 and 1, 3 of each block */
#if LLI_BYTES == 32
    out[0] = __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13);
    out[1] = __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15);
#else
    out[0] = __builtin_shufflevector(x, y, 0, 4, 1, 5);
    out[1] = __builtin_shufflevector(x, y, 2, 6, 3, 7);
#endif
}

/* The normals of blocks `block` to `block` + U H - 1: 2 U vectors. */
INLINE void normals_of(vf *out, const philox_stream *stream, uint64_t block, const int U) {
    philox p[2];
    philox_blocks(p, stream, (const vq[2]){block + order, block + H + order}, U);
    UNROLL
    for (int u = 0; u < U; u++)
        box_muller(out + 2 * u, p[u]);
}

void LEVEL(normals)(float *out, lli_stream stream, int64_t first, int64_t count) {
    philox_stream s = philox_start(stream);
    int64_t skip = first % 4, i = 0;
    vf xi[4];
    if (skip == 0)
        for (; i + 2 * NORMALS <= count; i += 2 * NORMALS) {
            normals_of(xi, &s, (uint64_t)(first + i) / 4, 2);
            UNROLL
            for (int v = 0; v < 4; v++)
                store(out + i + v * W, xi[v]);
        }
    for (int64_t take; i < count; i += take, skip = 0) {
        take = LLI_MIN(NORMALS - skip, count - i);
        normals_of(xi, &s, (uint64_t)(first + i) / 4, 1);
        memcpy(out + i, (const float *)xi + skip, (size_t)take * sizeof *out);
    }
}

/* x[j] += noise * xi[j], j < inside. */
INLINE void add(float *x, const vf *xi, float noise, int64_t inside, const int vectors) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        int32_t lanes = (int32_t)LLI_MIN(inside - v * W, W);
        store(x + v * W, load(x + v * W) + (vf)((vi)(xi[v] * noise) & (LANES(vi) < lanes)));
    }
}

void LEVEL(add_noise)(float *theta, lli_stream stream, int64_t K, int64_t D, int64_t ld, float noise) {
    philox_stream s = philox_start(stream);
    vf xi[4];
    for (int64_t k = 0; k < K; k++) {
        int64_t place = k * ld, end = place + D + 1; /* the padding gets no noise */
        for (; place + NORMALS < end; place += 2 * NORMALS) {
            normals_of(xi, &s, (uint64_t)place / 4, 2);
            add(theta + place, xi, noise, end - place, 4);
        }
        if (place < end) {
            normals_of(xi, &s, (uint64_t)place / 4, 1);
            add(theta + place, xi, noise, end - place, 2);
        }
    }
}
