/* SPDX-License-Identifier: MIT */
/* The matrix product: tiles of up to 6 rows x 16 columns, or 32, whose sums live in registers, a packed [p][rows], b in panels [p][16].
 * kernels/gemm.h says what the bits depend on; docs/kernels.md has the drawing. */
#include "kernels/gemm.h"

#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum {
    TILE = LLI_GEMM_TILE,
    PANEL = LLI_GEMM_PANEL,
    PART = 2 * W, /* columns whose sums fit the registers: half a panel of narrow vectors, a whole one, two of the widest */
    ACROSS = PART > PANEL ? 2 : 1, /* panels side by side, where b has them in place */
    GROUPS = (TILE + W - 1) / W    /* vectors that hold a tile's rows */
};

typedef int32_t places __attribute__((may_alias)); /* they lie between floats */

/* A packed tile. */
typedef struct packed {
    places *count; /* [blocks] of p that are not all zero */
    places *place; /* [k] 16 times p - start of its block, those of a block from the block's start on */
    float *value;  /* [k][rows], likewise */
} packed;

INLINE packed packed_of(const float *a, int64_t tile, int64_t k) {
    float *at = (float *)a + tile * lli_gemm_tile_floats(k);
    return (packed){(places *)at, (places *)(at + lli_gemm_counts(k)), at + lli_gemm_counts(k) + lli_gemm_places(k)};
}

/* Where the next p of a block goes. */
typedef struct cursor {
    places *place;
    float *value;
    int64_t count;
} cursor;

/* Adds a p whose rows are the first lanes of x, unless they are all zero. Each store ends in the place of the next one. */
INLINE void add(cursor *c, const vf x[GROUPS], int64_t place, const int R) {
    unsigned zero = ~0u;
    UNROLL
    for (int g = 0; g < GROUPS; g++) {
        store(c->value + c->count * R + g * W, x[g]);
        zero &= lane_bits(x[g] == all(0)) | ~((1u << LLI_MAX(LLI_MIN(R - g * W, W), 0)) - 1);
    }
    c->place[c->count] = (int32_t)place;
    c->count += zero != ~0u;
}

/* Rows whose p lie side by side: W of them are turned at a time. */
INLINE void pack_rows(cursor *c, const float *a, int64_t row, int64_t length, const int R) {
    int64_t p = 0;
    for (; p + W <= length; p += W) {
        vf x[GROUPS][W];
        UNROLL
        for (int g = 0; g < GROUPS; g++) {
            UNROLL
            for (int r = 0; r < W; r++)
                x[g][r] = load(a + LLI_MIN(g * W + r, R - 1) * row + p);
            transpose(x[g]);
        }
        UNROLL
        for (int q = 0; q < W; q++) {
            vf y[GROUPS];
            UNROLL
            for (int g = 0; g < GROUPS; g++)
                y[g] = x[g][q];
            add(c, y, (p + q) * PANEL, R);
        }
    }
    for (; p < length; p++) {
        float lanes[GROUPS * W] = {0};
        for (int r = 0; r < R; r++)
            lanes[r] = a[r * row + p];
        vf y[GROUPS];
        UNROLL
        for (int g = 0; g < GROUPS; g++)
            y[g] = load(lanes + g * W);
        add(c, y, p * PANEL, R);
    }
}

/* p whose rows lie side by side, `rows` from the first row of the tile on: what is read beyond them must exist. */
INLINE void pack_columns(cursor *c, const float *a, int64_t column, int64_t length, int64_t rows, const int R) {
    for (int64_t p = 0; p < length; p++, a += column) {
        vf y[GROUPS];
        float lanes[GROUPS * W] = {0};
        const float *from = a;
        if (rows < GROUPS * W) {
            for (int r = 0; r < R; r++)
                lanes[r] = a[r];
            from = lanes;
        }
        UNROLL
        for (int g = 0; g < GROUPS; g++)
            y[g] = load(from + g * W);
        add(c, y, p * PANEL, R);
    }
}

INLINE void pack_tile(float *out, const lli_matrix *a, int64_t m, int64_t k, int64_t tile, const int R) {
    int64_t length = lli_gemm_block(k), i = lli_gemm_row(m, tile), block = 0;
    packed to = packed_of(out, tile, k);
    to.count[0] = 0;
    for (int64_t p = 0; p < k; p += length, block++) {
        cursor c = {to.place + p, to.value + p * R, 0};
        const float *from = a->at + i * a->row + p * a->column;
        if (a->column == 1)
            pack_rows(&c, from, a->row, LLI_MIN(length, k - p), R);
        else
            pack_columns(&c, from, a->column, LLI_MIN(length, k - p), m - i, R);
        to.count[block] = (int32_t)c.count;
    }
}

/* Calls `what` with the number of rows of a tile as its last argument, which the compiler then knows. */
#define FOR_ROWS(rows, what, ...)         \
    switch (rows) {                       \
    case 6: what(__VA_ARGS__, 6); break;  \
    case 5: what(__VA_ARGS__, 5); break;  \
    case 4: what(__VA_ARGS__, 4); break;  \
    case 3: what(__VA_ARGS__, 3); break;  \
    case 2: what(__VA_ARGS__, 2); break;  \
    default: what(__VA_ARGS__, 1); break; \
    }

void LEVEL(gemm_pack)(float *out, lli_matrix a, int64_t m, int64_t k, int64_t first, int64_t end) {
    for (int64_t tile = first; tile < end; tile++)
        FOR_ROWS(lli_gemm_row(m, tile + 1) - lli_gemm_row(m, tile), pack_tile, out, &a, m, k, tile)
}

/* One block of p and one panel. */
typedef struct block {
    const lli_gemm *g;
    const float *b; /* [length][16] */
    int64_t p, length, number;
    int64_t column, columns; /* of c */
    bool last;
    bool plain; /* the sums are c, whole vectors of it */
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

INLINE void finish(const block *k, float *c, int part, const vf *sum, const int vectors, const int R) {
    const lli_gemm *g = k->g;
    if (k->plain) {
        UNROLL
        for (int r = 0; r < R; r++)
            UNROLL
        for (int v = 0; v < vectors; v++)
            store(c + r * g->ldc + part + v * W, sum[r * vectors + v]);
        return;
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        int64_t columns = k->columns - part - v * W;
        if (columns <= 0)
            return;
        vf bias = k->last && g->bias ? load_some(g->bias + k->column + part + v * W, columns) : all(0);
        UNROLL
        for (int r = 0; r < R; r++) {
            float *to = c + r * g->ldc + part + v * W;
            vf x = sum[r * vectors + v];
            if (k->p > 0)
                x = load_some(to, columns) + x;
            if (k->last && g->bias)
                x += bias;
            if (k->last && g->relu)
                x = larger(all(0), x);
            store_some(to, x, columns);
        }
    }
}

/* sum += the rows' numbers times a row of b. */
INLINE void multiply(vf *sum, const float *value, const float *b, int64_t apart, const int vectors, const int R) {
    vf x[2];
    UNROLL
    for (int v = 0; v < vectors; v++)
        x[v] = load(b + v * apart);
    UNROLL
    for (int r = 0; r < R; r++) {
        vf z = all(value[r]);
        UNROLL
        for (int v = 0; v < vectors; v++)
            sum[r * vectors + v] = fma_f(z, x[v], sum[r * vectors + v]);
    }
}

INLINE void tile_of(const block *k, int64_t tile, float *c, const int vectors, const int R) {
    const packed a = packed_of(k->g->a, tile, k->g->k);
    const int64_t count = a.count[k->number], apart = ACROSS > 1 ? k->g->panel : W;
    for (int part = 0; part < PANEL; part += PART) {
        vf sum[2 * TILE] = {{0}};
        const float *value = a.value + k->p * R, *b = k->b + part;
        const places *place = a.place + k->p;
        if (count == k->length)
            UNROLL4
        for (int64_t q = 0; q < count; q++, value += R, b += PANEL)
            multiply(sum, value, b, apart, vectors, R);
        else UNROLL2 for (int64_t q = 0; q < count; q++, value += R) multiply(sum, value, b + place[q], apart, vectors, R);
        finish(k, c, part, sum, vectors, R);
    }
}

static void tiles(const block *k) {
    const lli_gemm *g = k->g;
    const int64_t count = lli_gemm_tiles(g->m), rows = g->m / LLI_MAX(count, 1), larger_tiles = g->m - rows * count;
    float *c = g->c + k->column;
    for (int64_t tile = g->first; tile < g->end; tile++) {
        const int64_t R = rows + (tile < larger_tiles);
        if (ACROSS > 1 && k->columns <= PANEL)
            FOR_ROWS(R, tile_of, k, tile, c, 1)
        else
            FOR_ROWS(R, tile_of, k, tile, c, 2)
        c += R * g->ldc;
    }
}

/* out[q][c] = b[c * 16 + q]: 16 columns of a panel of rows, turned. */
static void turn(float *out, const float *b, int64_t length, int64_t columns) {
    int64_t q = 0;
    for (; columns == PANEL && q + W <= length; q += W)
        for (int c = 0; c < PANEL; c += W) {
            vf x[W];
            UNROLL
            for (int a = 0; a < W; a++)
                x[a] = load(b + (c + a) * PANEL + q);
            transpose(x);
            UNROLL
            for (int a = 0; a < W; a++)
                store(out + (q + a) * PANEL + c, x[a]);
        }
    for (; q < length; q++)
        for (int64_t c = 0; c < PANEL; c++)
            out[q * PANEL + c] = c < columns ? b[c * PANEL + q] : 0;
}

/* b, rows p .. p + length - 1 and 16 columns from j on, as a panel: where it lies, or copied to `out`. Lanes beyond column n are zero
 * there. */
static const float *panel_of(float *out, const lli_gemm *g, int64_t p, int64_t length, int64_t j, int64_t columns) {
    if (g->panels == LLI_PANELS_COLUMNS)
        return g->b + j / PANEL * g->panel + p * PANEL;
    if (g->panels == LLI_PANELS_ROWS) {
        for (int64_t q = 0; q < length; q += PANEL)
            turn(out + q * PANEL, g->b + (p + q) / PANEL * g->panel + j * PANEL, LLI_MIN(PANEL, length - q), columns);
        return out;
    }
    const float *b = g->b + p * g->row + j;
    for (int64_t q = 0; q < length; q++, b += g->row)
        if (columns == PANEL)
            UNROLL
    for (int v = 0; v < PANEL; v += W)
        store(out + q * PANEL + v, load(b + v));
    else for (int64_t c = 0; c < PANEL; c++) out[q * PANEL + c] = c < columns ? b[c] : 0;
    return out;
}

void LEVEL(gemm)(const lli_gemm *g, float *work) {
    const int64_t length = LLI_MAX(lli_gemm_block(g->k), 1), width = g->panels == LLI_PANELS_COLUMNS ? ACROSS * PANEL : PANEL;
    int64_t number = 0;
    for (int64_t p = 0; p == 0 || p < g->k; p += length, number++)
        for (int64_t j = 0; j < g->n; j += width) {
            block k = {
                .g = g,
                .p = p,
                .length = LLI_MIN(length, g->k - p),
                .number = number,
                .column = j,
                .columns = LLI_MIN(width, g->n - j),
                .last = p + length >= g->k,
            };
            k.plain = p == 0 && k.columns % PANEL == 0 && !(k.last && (g->bias || g->relu));
            k.b = panel_of(work, g, p, k.length, j, k.columns);
            tiles(&k);
        }
}
