/* SPDX-License-Identifier: MIT */
/* logits[i,k] = <theta_k, z_i>: tiles of R rows x C classes whose sums live in registers, lanes along the features.
 * Long rows are cut into blocks, so that the rows of theta in use stay in the first-level cache; block sums are added in order.
 * Pieces of long rows would share cache sets, so those of theta are copied side by side first.
 * The order of one sum depends on ld alone, never on the tile that computes it. */
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/vector.h"

enum {
    BLOCK = 640,             /* features in a block, at most */
    CHUNK_BYTES = 24 * 1024, /* of theta, within the first-level cache */
    ROWS_BYTES = 256 * 1024  /* of z, within the second-level cache */
};

typedef struct work {
    float *out;
    const float *const *rows; /* NULL: they lie one after the other in z */
    int64_t column;           /* first feature of the block */
    const float *z, *theta;   /* from there on; row 0 of theta is class `first` */
    int64_t first, theta_ld, ld, ldk;
    int64_t length; /* of the block */
    bool add;       /* to what earlier blocks left in out */
} work;

INLINE void tile(const work *w, int64_t i, int64_t k, const int R, const int C) {
    vf sum[12] = {{0}};
    const float *z[8], *theta = w->theta + (k - w->first) * w->theta_ld;
    UNROLL
    for (int r = 0; r < R; r++)
        z[r] = w->rows ? w->rows[i + r] + w->column : w->z + (i + r) * w->ld;
    const int64_t theta_ld = w->theta_ld, length = w->length;
    UNROLL2
    for (int64_t j = 0; j < length; j += W) {
        vf x[8];
        UNROLL
        for (int r = 0; r < R; r++)
            x[r] = load(z[r] + j);
        UNROLL
        for (int c = 0; c < C; c++) {
            vf y = load(theta + c * theta_ld + j);
            UNROLL
            for (int r = 0; r < R; r++)
                sum[r * C + c] = fma_f(x[r], y, sum[r * C + c]);
        }
    }
    float total[12];
    UNROLL
    for (int t = 0; t < R * C; t += 4) {
        const int last = R * C - 1, a = LLI_MIN(t + 1, last), b = LLI_MIN(t + 2, last), c = LLI_MIN(t + 3, last);
        store4(total + t, sum_lanes4(sum[t], sum[a], sum[b], sum[c]));
    }
    float *out = w->out + i * w->ldk + k;
    UNROLL
    for (int r = 0; r < R; r++)
        UNROLL
    for (int c = 0; c < C; c++)
        out[r * w->ldk + c] = w->add ? out[r * w->ldk + c] + total[r * C + c] : total[r * C + c];
}

/* Rows i to i + R - 1 of the tiles t0 to t1 of classes. The tiles of one call have C or C - 1 classes. */
INLINE void row_of_tiles(const work *w, int64_t i, int64_t t0, int64_t t1, int64_t tiles, int64_t K, const int R, const int C) {
    for (int64_t t = t0; t < t1; t++) {
        int64_t k = tiles_start(t, tiles, K);
        if (tiles_start(t + 1, tiles, K) - k == C)
            tile(w, i, k, R, C);
        else
            tile(w, i, k, R, C > 1 ? C - 1 : 1);
    }
}

INLINE void rows(const work *w, int64_t i0, int64_t i1, int64_t t0, int64_t t1, int64_t tiles, int64_t K, const int R, const int C) {
    int64_t i = i0;
    for (; i + R <= i1; i += R)
        row_of_tiles(w, i, t0, t1, tiles, K, R, C);
    for (; i < i1; i++)
        row_of_tiles(w, i, t0, t1, tiles, K, 1, C);
}

/* The taller, the fewer classes: at least eight sums, so that no addition waits for the one before. */
static void chunk(const work *w, int64_t i0, int64_t i1, int64_t t0, int64_t t1, int64_t tiles, int64_t K) {
    switch (tiles_start(1, tiles, K)) {
    case 5: rows(w, i0, i1, t0, t1, tiles, K, 2, 5); break;
    case 4: rows(w, i0, i1, t0, t1, tiles, K, 3, 4); break;
    case 3: rows(w, i0, i1, t0, t1, tiles, K, 4, 3); break;
    case 2: rows(w, i0, i1, t0, t1, tiles, K, 6, 2); break;
    default: rows(w, i0, i1, t0, t1, tiles, K, 8, 1); break;
    }
}

static void pack(float *packed, const float *theta, int64_t classes, int64_t ld, int64_t length) {
    for (int64_t k = 0; k < classes; k++)
        memcpy(packed + k * length, theta + k * ld, (size_t)length * sizeof *packed);
}

/* One block of features. */
static void block_of(work *w, const float *theta, int64_t n, int64_t K) {
    _Alignas(64) float packed[CHUNK_BYTES / sizeof(float)];
    int64_t tiles = tiles_count(K), bytes = w->length * (int64_t)sizeof *theta;
    int64_t in_chunk = LLI_MAX(1, CHUNK_BYTES / (TILE_CLASSES * bytes)), rows_in_block = LLI_MAX(24, ROWS_BYTES / bytes / 24 * 24);
    for (int64_t i = 0; i < n; i += rows_in_block)
        for (int64_t t = 0; t < tiles; t += in_chunk) {
            int64_t end = LLI_MIN(tiles, t + in_chunk);
            w->first = tiles_start(t, tiles, K);
            w->theta = theta + w->first * w->ld;
            w->theta_ld = w->ld;
            if (w->length < w->ld) {
                pack(packed, w->theta, tiles_start(end, tiles, K) - w->first, w->ld, w->length);
                w->theta = packed;
                w->theta_ld = w->length;
            }
            chunk(w, i, LLI_MIN(n, i + rows_in_block), t, end, tiles, K);
        }
}

static void blocks(float *logits, const float *theta, const float *z, const float *const *rows, int64_t n, int64_t K, int64_t ld,
                   int64_t ldk) {
    int64_t count = (ld + BLOCK - 1) / BLOCK, block = (ld / 16 + count - 1) / count * 16;
    for (int64_t j = 0; j < ld; j += block)
        block_of(&(work){logits, rows, j, rows ? NULL : z + j, NULL, 0, 0, ld, ldk, LLI_MIN(block, ld - j), j > 0}, theta + j, n, K);
}

void LEVEL(logits)(float *logits, const float *theta, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk) {
    blocks(logits, theta, z, NULL, n, K, ld, ldk);
}

void LEVEL(logits_of)(float *logits, const float *theta, const float *const *z, int64_t n, int64_t K, int64_t ld, int64_t ldk) {
    blocks(logits, theta, NULL, z, n, K, ld, ldk);
}
