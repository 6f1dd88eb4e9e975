/* SPDX-License-Identifier: MIT */
/* Normals, noise and dropout masks from vectors of Philox blocks. docs/math/random.md has the equations. */
#include "base/status.h"
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"
#include "kernels/simd/philox.h"

enum { NORMALS = 4 * H }; /* of H blocks */

/* Blocks per lane, such that the last shuffle of normals_of leaves them in order. */
#if LLI_BYTES == 32
static const vq order = {0, 2, 1, 3};
#else
static const vq order = {0, 1};
#endif

/* (c + 1/2) 2^-32 in one rounding beyond that of c + 1/2. */
INLINE vf unit(vu c) {
    vf high = __builtin_convertvector((vi)(c >> 16), vf), low = __builtin_convertvector((vi)(c & 0xffffu), vf);
    return (high * 65536.0f + low + 0.5f) * 0x1p-32f;
}

/* sqrt(-2 log u), u = (c + 1/2) 2^-32. Above .7 log(1 - v) is taken of v = 1 - u, which the complement of c gives without cancellation. */
INLINE vf radius(vu c) {
    vi above = (vi)(c > 0xb4000000u);
    vf x = unit(c ^ (vu)above), f, e = split_f(&f, x);
    f = choose(above, -x, f);
    e = (vf)((vi)e & ~above);
    return square_root(-2.0f * fma_f(e, all(0x1.62e43p-1f), log1p_reduced_f(f)));
}

/* cos and sin of 2 pi (c + 1/2) 2^-32: the nearest quarter turn comes from the top bits, exactly. */
INLINE void direction(vf *cosine, vf *sine, vu c) {
    vu quarter = (c + 0x20000000u) >> 30;
    vf rest = __builtin_convertvector((vi)(c - (quarter << 30)), vf) + 0.5f, s, t;
    sin_cos_f(&s, &t, rest * 0x1.921fb6p-30f);
    vi odd = (vi)(quarter & 1) == 1;
    *cosine = (vf)((vu)choose(odd, s, t) ^ (quarter + 1) >> 1 << 31);
    *sine = (vf)((vu)choose(odd, t, s) ^ quarter >> 1 << 31);
}

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

/* The 128 units of H groups, a bit each: 1 = dropped. Lane l is group number group + l; its plane q is block 16 (group + l) + q.
 * Plane 0 is the top bit of the 16-bit numbers; a unit is decided at the first bit where its number differs from drop16. */
static void dropped_units(uint32_t bits[H][4], const lli_mask *m, const philox_stream *stream, uint64_t group) {
    vq open[4], dropped[4] = {{0}};
    int planes = 16 - __builtin_ctz(m->drop16);
    for (int word = 0; word < 4; word++)
        open[word] = all_q(0xffffffffu);
    for (int plane = 0; plane < planes; plane++) {
        vq block = ((group + LANES_D(vq)) << 4 | (uint64_t)plane) | (uint64_t)m->layer << 56, any = {0};
        philox p;
        philox_blocks(&p, stream, &block, 1);
        bool one = m->drop16 >> (15 - plane) & 1u;
        UNROLL
        for (int word = 0; word < 4; word++) {
            if (one)
                dropped[word] |= open[word] & ~p.word[word];
            open[word] &= one ? p.word[word] : ~p.word[word];
            any |= open[word];
        }
        uint64_t left = 0;
        UNROLL
        for (int lane = 0; lane < H; lane++)
            left |= any[lane];
        if (left == 0)
            break;
    }
    UNROLL
    for (int lane = 0; lane < H; lane++)
        UNROLL
        for (int word = 0; word < 4; word++)
            bits[lane][word] = (uint32_t)dropped[word][lane];
}

/* out[j] = z[j] * scale where bit j is 0, else 0, for j < units; units from there to `width` (a multiple of W) are copied. */
INLINE void apply(float *out, const float *z, const uint32_t bits[4], int64_t units, int64_t width, float scale) {
    const vi lane_bit = 1 << LANES(vi);
    for (int64_t j = 0; j < width; j += W) {
        vf x = load(z + j);
        int32_t byte = j < 128 ? (int32_t)(bits[j / 32] >> (j % 32) & ((1u << W) - 1)) : 0;
        vi kept = (byte & lane_bit) == 0, unit_lane = LANES(vi) < (int32_t)(j < units ? LLI_MIN(units - j, W) : 0);
        store(out + j, choose(unit_lane, (vf)((vi)(x * scale) & kept), x));
    }
}

void LEVEL(mask)(float *out, const float *z, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld) {
    int64_t groups = (D + 127) / 128, total = n * groups;
    float scale = 65536.0f / (float)(65536 - m->drop16);
    philox_stream stream = philox_start(m->stream);
    for (int64_t t = 0; t < total; t += H) {
        uint32_t bits[H][4];
        dropped_units(bits, m, &stream, (uint64_t)first * (uint64_t)groups + (uint64_t)t);
        for (int64_t a = 0; a < LLI_MIN(total - t, H); a++) {
            int64_t i = (t + a) / groups, j = (t + a) % groups * 128;
            bool last = j + 128 >= D;
            apply(out + i * ld + j, z + i * ld + j, bits[a], LLI_MIN(D - j, 128), last ? ld - j : 128, scale);
        }
    }
}
