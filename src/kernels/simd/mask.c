/* SPDX-License-Identifier: MIT */
/* Dropout on rows. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/mask.h"

/* out[j] = z[j] * scale where bit j is 0, else 0, for j < units; units from there to `width` (a multiple of W) are copied. */
INLINE void apply(float *out, const float *z, const uint32_t *bits, int64_t units, int64_t width, float scale) {
    const vi lane_bit = 1 << LANES(vi);
    for (int64_t j = 0; j < width; j += W) {
        vf x = load(z + j);
        int32_t inside = (int32_t)LLI_MAX(0, LLI_MIN(units - j, W)), byte = inside ? (int32_t)(bits[j / 32] >> (j % 32) & ((1u << W) - 1)) : 0;
        vi kept = (byte & lane_bit) == 0;
        store(out + j, choose(LANES(vi) < inside, (vf)((vi)(x * scale) & kept), x));
    }
}

void LEVEL(mask)(float *out, const float *z, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld) {
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
            apply(out + i * ld + j, z + i * ld + j, bits[0] + (at - bit) / 32, LLI_MIN(D - j, piece), width, scale);
        }
    }
}
