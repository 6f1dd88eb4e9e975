/* SPDX-License-Identifier: MIT */
/* The matrix product: tiles of up to 6 rows x 16 columns whose sums live in registers, b in panels [p][16], a read where it lies, one
 * number at a time for a whole vector. kernels/gemm.h says what the bits depend on; docs/kernels.md has the drawing. */
#include "kernels/gemm.h"

#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum {
    TILE = 6,
    PANEL = LLI_GEMM_PANEL,
    PART = 2 * W /* columns whose sums fit the registers: a whole panel of wide vectors, half a panel of narrow ones */
};

/* What one block of p does to one panel. */
typedef struct block {
    const lli_gemm *g;
    const float *a, *b; /* from the block on; b [length][16] */
    int64_t length;
    int64_t column, columns; /* of c */
    bool add, last;
} block;

/* A vector of c, `columns` of whose lanes exist. */
INLINE vf load_some(const float *x, int64_t columns) {
    if (columns >= W)
        return load(x);
    float lanes[W] = {0};
    for (int64_t j = 0; j < columns; j++)
        lanes[j] = x[j];
    return load(lanes);
}

INLINE void store_some(float *x, vf v, int64_t columns) {
    if (columns >= W) {
        store(x, v);
        return;
    }
    float lanes[W];
    store(lanes, v);
    for (int64_t j = 0; j < columns; j++)
        x[j] = lanes[j];
}

INLINE void finish(const block *k, int64_t i, int part, const vf *sum, const int R) {
    const lli_gemm *g = k->g;
    float *c = g->c + i * g->ldc + k->column + part;
    UNROLL
    for (int v = 0; v < 2; v++) {
        int64_t columns = k->columns - part - v * W;
        if (columns <= 0)
            return;
        vf bias = k->last && g->bias ? load_some(g->bias + k->column + part + v * W, columns) : all(0);
        UNROLL
        for (int r = 0; r < R; r++) {
            float *to = c + r * g->ldc + v * W;
            vf x = sum[r * 2 + v];
            if (k->add)
                x = load_some(to, columns) + x;
            if (k->last && g->bias)
                x += bias;
            if (k->last && g->relu)
                x = larger(all(0), x);
            store_some(to, x, columns);
        }
    }
}

/* Rows i to i + R - 1. a goes `row` floats from row to row, `step` from p to p; either is 1 where the caller knows it. */
INLINE void tile(const block *k, int64_t i, const int64_t row, const int64_t step, const int R) {
    for (int part = 0; part < PANEL; part += PART) {
        vf sum[2 * TILE] = {{0}};
        const float *a = k->a + i * row, *b = k->b + part;
        const int64_t length = k->length;
        UNROLL2
        for (int64_t p = 0; p < length; p++, a += step, b += PANEL) {
            vf x = load(b), y = load(b + W);
            UNROLL
            for (int r = 0; r < R; r++) {
                vf c = all(a[r * row]);
                sum[2 * r] = fma_f(c, x, sum[2 * r]);
                sum[2 * r + 1] = fma_f(c, y, sum[2 * r + 1]);
            }
        }
        finish(k, i, part, sum, R);
    }
}

/* As even as they come: a tile of one or two rows would wait for its own additions. */
INLINE void tiles(const block *k, const int64_t row, const int64_t step) {
    int64_t m = k->g->m, count = (m + TILE - 1) / TILE;
    for (int64_t t = 0, i = 0; t < count; t++) {
        int64_t end = (t + 1) * m / count;
        switch (end - i) {
        case 6: tile(k, i, row, step, 6); break;
        case 5: tile(k, i, row, step, 5); break;
        case 4: tile(k, i, row, step, 4); break;
        case 3: tile(k, i, row, step, 3); break;
        case 2: tile(k, i, row, step, 2); break;
        default: tile(k, i, row, step, 1); break;
        }
        i = end;
    }
}

/* out[q][c] = b[c * step + q], for q < length: a panel of what lies the other way round. */
static void pack_across(float *out, const float *b, int64_t step, int64_t length, int64_t columns) {
    int64_t q = 0;
    for (; columns == PANEL && q + W <= length; q += W)
        for (int c = 0; c < PANEL; c += W) {
            vf x[W];
            UNROLL
            for (int a = 0; a < W; a++)
                x[a] = load(b + (c + a) * step + q);
            transpose(x);
            UNROLL
            for (int a = 0; a < W; a++)
                store(out + (q + a) * PANEL + c, x[a]);
        }
    for (; q < length; q++)
        for (int64_t c = 0; c < PANEL; c++)
            out[q * PANEL + c] = c < columns ? b[c * step + q] : 0;
}

/* b, rows p .. p + length - 1 and 16 columns from j on, as a panel: where it lies, or copied to `out`. Lanes beyond column n are zero there. */
static const float *panel_of(float *out, const lli_gemm *g, int64_t p, int64_t length, int64_t j, int64_t columns) {
    if (g->panels == LLI_PANELS_COLUMNS)
        return g->b.at + j / PANEL * g->panel + p * PANEL;
    if (g->panels == LLI_PANELS_ROWS) {
        for (int64_t q = 0; q < length; q += PANEL)
            pack_across(out + q * PANEL, g->b.at + (p + q) / PANEL * g->panel + j * PANEL, PANEL, LLI_MIN(PANEL, length - q), columns);
        return out;
    }
    const float *b = g->b.at + p * g->b.row + j * g->b.column;
    if (g->b.row == 1) {
        pack_across(out, b, g->b.column, length, columns);
        return out;
    }
    for (int64_t q = 0; q < length; q++, b += g->b.row)
        if (columns == PANEL)
            UNROLL
            for (int v = 0; v < PANEL; v += W)
                store(out + q * PANEL + v, load(b + v));
        else
            for (int64_t c = 0; c < PANEL; c++)
                out[q * PANEL + c] = c < columns ? b[c] : 0;
    return out;
}

void LEVEL(gemm)(const lli_gemm *g, float *work) {
    int64_t length = LLI_MAX(lli_gemm_block(g->k), 1);
    for (int64_t p = 0; p == 0 || p < g->k; p += length)
        for (int64_t j = 0; j < g->n; j += PANEL) {
            block k = {
                .g = g,
                .a = g->a.at + p * g->a.column,
                .length = LLI_MIN(length, g->k - p),
                .column = j,
                .columns = LLI_MIN(PANEL, g->n - j),
                .add = p > 0 || g->add,
                .last = p + length >= g->k,
            };
            k.b = panel_of(work, g, p, k.length, j, k.columns);
            if (g->a.column == 1)
                tiles(&k, g->a.row, 1);
            else if (g->a.row == 1)
                tiles(&k, 1, g->a.column);
            else
                tiles(&k, g->a.row, g->a.column);
        }
}
