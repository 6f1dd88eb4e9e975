/* SPDX-License-Identifier: MIT */
/* Dropout on rows. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/mask.h"

/* W units from j on: scaled where their bit of `word` is 0, else 0; those from `units` on are copied. */
INLINE void some(float *out, const float *z, uint32_t word, int64_t j, int64_t units, float scale) {
    vf x = load(z + j);
    vi kept = ((vi)(LANES(vu) * 0 + (word >> j % 32)) & (1 << LANES(vi))) == 0;
    store(out + j, choose(LANES(vi) < (int32_t)LLI_MAX(0, LLI_MIN(units - j, W)), (vf)((vi)(x * scale) & kept), x));
}

/* out[j] = z[j] * scale where bit j is 0, else 0, for j < units; units from there to `width` (a multiple of W) are copied. */
INLINE void apply(float *out, const float *z, const uint32_t *bits, int64_t units, int64_t width, float scale) {
    int64_t j = 0;
    for (; j + 32 <= units; j += 32) {
        vi word = (vi)(LANES(vu) * 0 + bits[j / 32]);
        UNROLL
        for (int v = 0; v < 32 / W; v++)
            store(out + j + v * W, (vf)((vi)(load(z + j + v * W) * scale) & ((word & 1 << (LANES(vi) + v * W)) == 0)));
    }
    for (; j < width; j += W)
        some(out, z, j < units ? bits[j / 32] : 0, j, units, scale);
}

/* Rows one after the other from z on, or where `rows` says. */
static void mask_rows(float *out, const float *z, const float *const *rows, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld) {
    const int64_t span = lli_mask_span(D), piece = LLI_MIN(span, 128), end = (first + n) * span;
    const float scale = 65536.0f / (float)(65536 - m->drop16);
    philox_stream stream = philox_start(m->stream);
    uint32_t used[4];
    mask_used(used, D);
    for (int64_t bit = first * span / 128 * 128; bit < end; bit += 128 * MASK_GROUPS) {
        uint32_t bits[MASK_GROUPS][4];
        vq group = (uint64_t)bit / 128 + LANES_D(vq);
        mask_groups(bits, m, &stream, used, (const vq[2]){group, group + H});
        /* A piece is a short row, or 128 units of a long one. */
        for (int64_t at = LLI_MAX(bit, first * span); at < LLI_MIN(end, bit + 128 * MASK_GROUPS); at += piece) {
            int64_t i = at / span - first, j = at % span, width = j + piece < span ? piece : ld - j;
            const float *from = rows ? rows[i] : z + i * ld;
            apply(out + i * ld + j, from + j, &bits[(at - bit) / 128][(at - bit) % 128 / 32], LLI_MIN(D - j, piece), width, scale);
        }
    }
}

void LEVEL(mask)(float *out, const float *z, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld) {
    mask_rows(out, z, NULL, m, first, n, D, ld);
}

void LEVEL(mask_of)(float *out, const float *const *z, const lli_mask *m, int64_t n, int64_t D, int64_t ld) {
    mask_rows(out, NULL, z, m, 0, n, D, ld);
}
