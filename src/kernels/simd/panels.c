/* SPDX-License-Identifier: MIT */
/* Rows of features to panels: 16 rows side by side, feature after feature. */
#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum { R = LLI_TALLY_ROWS, STRIDE = LLI_TALLY_PANEL + W }; /* a row's piece ends in the 1 that gather appends, and in what follows it */

/* rows[r][j] -> out[j][r], times scale. Reads up to the next multiple of W. */
INLINE void turn(float *out, const float *rows, int64_t length, float scale) {
    for (int64_t j = 0; j < length; j += W)
        for (int r = 0; r < R; r += W) {
            vf x[W];
            UNROLL
            for (int a = 0; a < W; a++)
                x[a] = load(rows + (r + a) * STRIDE + j) * scale;
            transpose(x);
            for (int a = 0; a < W && j + a < length; a++)
                store(out + (j + a) * R + r, x[a]);
        }
}

void LEVEL(panels)(lli_tally *t, const void *features, bool half, int64_t first, float scale) {
    const int64_t size = half ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float);
    _Alignas(64) float rows[R * STRIDE];
    memset(rows, 0, sizeof rows);
    for (int64_t j0 = 0; j0 < t->D; j0 += LLI_TALLY_PANEL)
        for (int64_t i = 0; i < t->n; i += R) {
            int64_t length = LLI_MIN(LLI_TALLY_PANEL, t->D - j0), count = LLI_MIN(R, t->n - i);
            for (int64_t r = 0; r < count; r++) {
                const char *piece = (const char *)features + ((first + i + r) * t->D + j0) * size;
                LEVEL(gather)(rows + r * STRIDE, piece, half, NULL, 0, 1, length, length + 1);
            }
            turn(t->panels + lli_tally_panel(t, j0, i / R), rows, length, scale);
        }
}
