/* SPDX-License-Identifier: MIT */
/* Dropout on rows. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/mask.h"

/* out[j] = z[j] * scale where bit j is 0, else 0, for j < units; those from there to `width` are copied. `edge` is the scale of the vector
 * in which the units end: 1 behind them. */
INLINE void apply(float *out, const float *z, const uint32_t *bits, int64_t units, int64_t width, vf scale, vf edge) {
    int64_t j = 0;
    for (; j + 32 <= units; j += 32) {
        vi word = (vi)(LANES(vu) * 0 + bits[j / 32]);
        UNROLL
        for (int v = 0; v < 32 / W; v++)
            store(out + j + v * W, (vf)((vi)(load(z + j + v * W) * scale) & ((word & 1 << (LANES(vi) + v * W)) == 0)));
    }
    if (j < units) {
        const uint32_t last = bits[j / 32] & ((1u << (units - j)) - 1);
        vi word = (vi)(LANES(vu) * 0 + last);
        UNROLL
        for (int v = 0; v < 32 / W; v++, j += W) {
            if (j + W > width)
                break;
            vf factor = j + W <= units ? scale : j < units ? edge : all(1);
            store(out + j, (vf)((vi)(load(z + j) * factor) & ((word & 1 << (LANES(vi) + v * W)) == 0)));
        }
        for (; j < units; j++) /* the width is no multiple of W */
            out[j] = last >> j % 32 & 1u ? 0 : z[j] * scale[0];
    }
    for (; j + W <= width; j += W)
        store(out + j, load(z + j));
    for (; j < width; j++)
        out[j] = z[j];
}

/* Rows one after the other from z on, or where `rows` says; the first `columns` of them. */
INLINE void mask_rows(float *out, const float *z, const float *const *rows, const lli_mask *m, int64_t first, int64_t n, int64_t D,
                      int64_t ld, int64_t columns) {
    const int64_t span = lli_mask_span(D), piece = LLI_MIN(span, 128), end = (first + n) * span;
    const vf scale = all(65536.0f / (float)(65536 - m->drop16)), edge = choose(LANES(vi) < (int32_t)(D % W), scale, all(1));
    philox_stream stream = philox_start(m->stream);
    uint32_t used[4];
    mask_used(used, D);
    int64_t i = 0, j = 0; /* a piece is a short row, or 128 units of a long one */
    for (int64_t bit = first * span / 128 * 128, at = first * span; bit < end; bit += 128 * MASK_GROUPS) {
        uint32_t bits[MASK_GROUPS][4];
        vq group = (uint64_t)bit / 128 + LANES_D(vq);
        mask_groups(bits, m, &stream, used, (const vq[2]){group, group + H});
        for (; at < LLI_MIN(end, bit + 128 * MASK_GROUPS); at += piece) {
            const float *from = rows ? rows[i] : z + i * ld;
            int64_t width = j + piece < span ? piece : columns - j;
            apply(out + i * ld + j, from + j, &bits[(at - bit) / 128][(at - bit) % 128 / 32], LLI_MIN(D - j, piece), width, scale, edge);
            j += piece;
            if (j == span) {
                j = 0;
                i++;
            }
        }
    }
}

void LEVEL(mask)(float *out, const float *z, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld) {
    mask_rows(out, z, NULL, m, first, n, D, ld, ld);
}

/* Rows of up to 64 units: what a vector of columns needs is made once, for all rows. */
static void mask_short(float *out, const float *const *z, const lli_mask *m, int64_t n, int64_t D, int64_t ld, int64_t columns) {
    enum { VECTORS = 64 / W + 1 };
    const int64_t span = lli_mask_span(D), chunk = 128 * MASK_GROUPS / span, vectors = (D + W - 1) / W;
    const float keep = 65536.0f / (float)(65536 - m->drop16);
    vf factor[VECTORS];
    vi bit[VECTORS];
    for (int64_t v = 0; v < vectors; v++) {
        factor[v] = choose(LANES(vi) < (int32_t)(D - v * W), all(keep), all(1));
        bit[v] = 1 << (LANES(vi) + (int32_t)(v * W % 32));
    }
    philox_stream stream = philox_start(m->stream);
    uint32_t used[4];
    mask_used(used, D);
    for (int64_t first = 0; first < n; first += chunk) {
        uint32_t bits[MASK_GROUPS][4];
        vq group = (uint64_t)(first * span / 128) + LANES_D(vq);
        mask_groups(bits, m, &stream, used, (const vq[2]){group, group + H});
        for (int64_t i = first; i < LLI_MIN(n, first + chunk); i++) {
            const int64_t at = (i - first) * (span / 32);
            const uint32_t *word = &bits[at / 4][at % 4];
            const float *from = z[i];
            float *to = out + i * ld;
            for (int64_t v = 0; v < vectors; v++) {
                vi dropped = (vi)(LANES(vu) * 0 + word[v * W / 32]) & bit[v];
                store(to + v * W, (vf)((vi)(load(from + v * W) * factor[v]) & (dropped == 0)));
            }
            for (int64_t j = vectors * W; j < columns; j += W)
                store(to + j, load(from + j));
        }
    }
}

void LEVEL(mask_of)(float *out, const float *const *z, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld,
                    int64_t columns) {
    if (D <= 64 && first == 0)
        mask_short(out, z, m, n, D, ld, columns);
    else
        mask_rows(out, NULL, z, m, first, n, D, ld, columns);
}
