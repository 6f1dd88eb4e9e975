/* SPDX-License-Identifier: MIT */
/* Normals and noise from vectors of Philox blocks. docs/math/random.md has the equations. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/normal.h"
#include "kernels/simd/philox.h"

enum { NORMALS = 4 * H, VECTORS = 16, CHUNK = VECTORS * NORMALS }; /* of H blocks; of blocks in a chunk; normals in a chunk */

/* Blocks per lane, such that the last shuffle of what is made of them leaves them in order. */
#if LLI_BYTES == 32
static const vq order = {0, 2, 1, 3};
#else
static const vq order = {0, 1};
#endif

/* The 2 H draws of H blocks, in order. */
INLINE void draws_of(uint64_t *out, philox p) {
    vq even = (vq)interleave(p.word[0], p.word[1]), odd = (vq)interleave(p.word[2], p.word[3]);
#if LLI_BYTES == 32
    vq low = __builtin_shufflevector(even, odd, 0, 4, 2, 6), high = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
#else
    vq low = __builtin_shufflevector(even, odd, 0, 2), high = __builtin_shufflevector(even, odd, 1, 3);
#endif
    memcpy(out, &low, sizeof low);
    memcpy(out + H, &high, sizeof high);
}

static void draws(uint64_t *out, lli_stream stream, int64_t first, int64_t count) {
    philox_stream s = philox_start(stream);
    for (int64_t i = 0, skip = first % 2, take; i < count; i += take, skip = 0) {
        uint64_t some[4 * H];
        uint64_t block = (uint64_t)(first + i) / 2, *to = skip == 0 && count - i >= 4 * H ? out + i : some;
        philox p[2];
        philox_blocks(p, &s, (const vq[2]){block + order, block + H + order}, 2);
        draws_of(to, p[0]);
        draws_of(to + 2 * H, p[1]);
        take = LLI_MIN(4 * H - skip, count - i);
        if (to == some)
            memcpy(out + i, some + skip, (size_t)take * sizeof *out);
    }
}

/* x n / 2^64, rounded down, for n below 2^32, from the halves of x: the vector units have no wider product. */
INLINE vq scaled(vq x, vq n) {
    return (multiply_low(x >> 32, n) + (multiply_low(x, n) >> 32)) >> 32;
}

void LEVEL(below)(uint64_t *out, lli_stream stream, int64_t first, int64_t count, uint64_t n, uint64_t grow) {
    draws(out, stream, first, count);
    int64_t i = 0;
    if (n + (uint64_t)count * grow <= UINT32_MAX) {
        vq each = n + LANES_D(vq) * grow;
        for (; i + H <= count; i += H, each += H * grow) {
            vq x;
            memcpy(&x, out + i, sizeof x);
            x = scaled(x, each);
            memcpy(out + i, &x, sizeof x);
        }
    }
    for (; i < count; i++)
        out[i] = lli_rng_scale(out[i], n + (uint64_t)i * grow);
}

/* The normals of `vectors` vectors of blocks, in order; there is room for a multiple of four vectors. In short loops: Philox and both
 * halves of Box-Muller are long chains, and only links of different chains run at the same time. */
static void draw(vf out[2 * VECTORS], const philox_stream *stream, const vq block[VECTORS], int64_t vectors) {
    vu radii[VECTORS], angles[VECTORS];
    vf ratio[VECTORS], exponent[VECTORS];
    for (int64_t v = 0; v < vectors; v += 4) {
        philox p[4];
        philox_blocks(p, stream, block + v, 4);
        UNROLL
        for (int u = 0; u < 4; u++) {
            radii[v + u] = interleave(p[u].word[0], p[u].word[2]);
            angles[v + u] = interleave(p[u].word[1], p[u].word[3]);
        }
    }
    for (int64_t v = 0; v < vectors; v++)
        ratio[v] = radius_start(&exponent[v], radii[v]);
    for (int64_t v = 0; v < vectors; v++)
        radii[v] = (vu)radius_end(ratio[v], exponent[v]);
    for (int64_t v = 0; v < vectors; v++) {
        vf c, s, r = (vf)radii[v];
        direction(&c, &s, angles[v]);
        vf x = r * c, y = r * s; /* numbers 0, 2 and 1, 3 of each block */
#if LLI_BYTES == 32
        out[2 * v] = __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13);
        out[2 * v + 1] = __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15);
#else
        out[2 * v] = __builtin_shufflevector(x, y, 0, 4, 1, 5);
        out[2 * v + 1] = __builtin_shufflevector(x, y, 2, 6, 3, 7);
#endif
    }
}

void LEVEL(normals)(float *out, lli_stream stream, int64_t first, int64_t count) {
    philox_stream s = philox_start(stream);
    vf xi[2 * VECTORS];
    for (int64_t skip = first % 4, i = 0, take; i < count; i += take, skip = 0) {
        vq block[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            block[v] = (uint64_t)(first + i) / 4 + (uint64_t)(v * H) + order;
        take = LLI_MIN(CHUNK - skip, count - i);
        draw(xi, &s, block, (skip + take + NORMALS - 1) / NORMALS);
        memcpy(out + i, (const float *)xi + skip, (size_t)take * sizeof *out);
    }
}

/* Noise for the blocks first .. first+count-1 of `rows` rows of theta: several short rows at a time, or a part of a long one. */
static void add_to_rows(float *theta, const philox_stream *stream, int64_t row, int64_t rows, int64_t first, int64_t count, int64_t D,
                        int64_t ld, float noise) {
    vf xi[2 * VECTORS + 1];
    vq block[VECTORS];
    /* Number i is block i % count of row i / count, a division by a product: i and count are at most 64. */
    const uint64_t start = (uint64_t)(row * ld / 4 + first), inverse = 65536 / (uint64_t)count + 1, skip = (uint64_t)(ld / 4 - count);
    for (int64_t v = 0; v < (rows * count + 4 * H - 1) / (4 * H) * 4; v++) {
        vq i = (uint64_t)(v * H) + order;
        block[v] = start + i + multiply_low(multiply_low(i, all_q(inverse)) >> 16, all_q(skip));
    }
    draw(xi, stream, block, (rows * count + H - 1) / H);
    for (int64_t r = 0; r < rows; r++) {
        const float *from = (const float *)xi + 4 * r * count;
        float *to = theta + (row + r) * ld;
        const int64_t end = LLI_MIN(D + 1, 4 * (first + count));
        int64_t j = 4 * first;
        for (; j + W <= end; j += W, from += W)
            store(to + j, fma_f(load(from), all(noise), load(to + j)));
        if (j < end)
            store(to + j, choose(LANES(vi) < (int32_t)(end - j), fma_f(load(from), all(noise), load(to + j)), load(to + j)));
    }
}

void LEVEL(add_noise)(float *theta, lli_stream stream, int64_t K, int64_t D, int64_t ld, float noise) {
    philox_stream s = philox_start(stream);
    const int64_t room = VECTORS * H, blocks = (D + 4) / 4, rows = LLI_MAX(1, room / blocks); /* the padding gets no noise */
    for (int64_t k = 0; k < K; k += rows)
        for (int64_t b = 0; b < blocks; b += room)
            add_to_rows(theta, &s, k, LLI_MIN(rows, K - k), b, LLI_MIN(room, blocks - b), D, ld, noise);
}
