/* SPDX-License-Identifier: MIT */
/* The matrix product of networks: c(i,j) = sum over p of a(i,p) b(p,j), with a short epilogue. docs/kernels.md has the drawing.
 *
 * a is packed first, once for all the calls that need it: in tiles of up to six rows, in the order in which the inner loop reads it. A p at
 * which all rows of a tile are zero is left out, so a product with images of mostly black pixels, or with the gradient of their weights,
 * takes a fraction of the time. What is packed is opaque, and read by the gemm of the same level.
 *
 * b lies as rows, b(p,j) = at[p * row + j], or in panels of 16, `panel` floats from one to the next, the order in which the tiles read it
 * and in which dense layers keep their weights:
 *
 *     LLI_PANELS_COLUMNS   b(p,j) = at[j / 16 * panel + p * 16 + j % 16]
 *     LLI_PANELS_ROWS      b(p,j) = at[p / 16 * panel + j * 16 + p % 16]     the transpose of the same
 *
 * Lanes beyond the last column or row may hold anything.
 *
 * p goes by in blocks whose length depends on k alone, in order, and within a block in order. So the bits of an element do not depend on m
 * and n, nor on how a product is cut into products of parts of c, as long as b is finite. */
#ifndef LLI_KERNELS_GEMM_H
#define LLI_KERNELS_GEMM_H

#include "base/status.h"

enum { LLI_GEMM_TILE = 6, LLI_GEMM_PANEL = 16, LLI_GEMM_BLOCK = 400 };

/* Element (i,j) is at[i * row + j * column]; one of the strides is 1. */
typedef struct lli_matrix {
    const float *at;
    int64_t row, column;
} lli_matrix;

typedef enum lli_panels { LLI_PANELS_NONE, LLI_PANELS_COLUMNS, LLI_PANELS_ROWS } lli_panels;

typedef struct lli_gemm {
    const float *a; /* [m,k] packed */
    int64_t m, n, k;
    int64_t first, end; /* tiles of a to multiply: the rows from lli_gemm_row(m, first) to lli_gemm_row(m, end) */
    const float *b;     /* [k,n] */
    int64_t row;        /* of b as rows */
    lli_panels panels;
    int64_t panel;
    float *c; /* [rows of those tiles,n] */
    int64_t ldc;
    const float *bias; /* [n] added to each row; NULL: none */
    bool relu;         /* at the end, max(c, 0); NaN stays NaN */
} lli_gemm;

static inline int64_t lli_gemm_tiles(int64_t m) {
    return (m + LLI_GEMM_TILE - 1) / LLI_GEMM_TILE;
}

/* First row of a tile; it ends where the next one starts. Tiles are as even as they come, the larger ones first: one of a row or two would
 * wait for its own sums. */
static inline int64_t lli_gemm_row(int64_t m, int64_t tile) {
    int64_t tiles = lli_gemm_tiles(m);
    return tiles ? tile * (m / tiles) + LLI_MIN(tile, m % tiles) : 0;
}

/* Length of the blocks of p: as equal as possible, whole panels. */
static inline int64_t lli_gemm_block(int64_t k) {
    int64_t blocks = (k + LLI_GEMM_BLOCK - 1) / LLI_GEMM_BLOCK;
    return blocks ? ((k + blocks - 1) / blocks + 15) / 16 * 16 : 0;
}

/* A packed tile: how many p each block has, which they are, and their numbers. The last store of a vector ends beyond them. */
static inline int64_t lli_gemm_counts(int64_t k) {
    return (k / LLI_GEMM_BLOCK + 1 + 15) / 16 * 16;
}

static inline int64_t lli_gemm_places(int64_t k) {
    return (k + 15) / 16 * 16;
}

static inline int64_t lli_gemm_tile_floats(int64_t k) {
    return lli_gemm_counts(k) + lli_gemm_places(k) + (k * LLI_GEMM_TILE + 31) / 16 * 16;
}

/* Floats of [m,k] packed, and of the workspace of a call; both aligned to 64 bytes, and not more where m, n or k is less. */
static inline int64_t lli_gemm_packed_floats(int64_t m, int64_t k) {
    return lli_gemm_tiles(m) * lli_gemm_tile_floats(k);
}

static inline int64_t lli_gemm_floats(int64_t k) {
    return LLI_MIN((k + 15) / 16 * 16, LLI_GEMM_BLOCK) * LLI_GEMM_PANEL;
}

#endif
