/* SPDX-License-Identifier: MIT */
/* The matrix product of networks: c(i,j) = sum over p of a(i,p) b(p,j), with a short epilogue.
 *
 * Operands may lie either way round: element (i,j) of a matrix is at[i * row + j * column]. b may also lie in panels of 16, the order in
 * which the tiles read it and in which dense layers keep their weights: `panel` floats from one to the next, and
 *
 *     LLI_PANELS_COLUMNS   b(p,j) = at[j / 16 * panel + p * 16 + j % 16]
 *     LLI_PANELS_ROWS      b(p,j) = at[p / 16 * panel + j * 16 + p % 16]     the transpose of the same
 *
 * Lanes beyond the last column or row may hold anything. c has contiguous rows.
 *
 * p goes by in blocks whose length depends on k alone, in order, and within a block in order. So the bits of an element do not depend on m
 * and n, nor on how a product is cut into products of parts of c. */
#ifndef LLI_KERNELS_GEMM_H
#define LLI_KERNELS_GEMM_H

#include "base/status.h"

enum { LLI_GEMM_PANEL = 16, LLI_GEMM_BLOCK = 512 };

typedef struct lli_matrix {
    const float *at;
    int64_t row, column; /* strides in floats; one of them is 1, or both are 0 */
} lli_matrix;

typedef enum lli_panels { LLI_PANELS_NONE, LLI_PANELS_COLUMNS, LLI_PANELS_ROWS } lli_panels;

typedef struct lli_gemm {
    int64_t m, n, k;
    lli_matrix a;      /* [m,k] */
    lli_matrix b;      /* [k,n]; in panels its strides mean nothing */
    lli_panels panels; /* of b */
    int64_t panel;
    float *c;          /* [m,n] */
    int64_t ldc;
    bool add;          /* to what c holds */
    const float *bias; /* [n] added to each row; NULL: none */
    bool relu;         /* at the end, max(c, 0); NaN stays NaN */
} lli_gemm;

/* Length of the blocks in which p goes by: as even as they come, whole panels. */
static inline int64_t lli_gemm_block(int64_t k) {
    int64_t blocks = (k + LLI_GEMM_BLOCK - 1) / LLI_GEMM_BLOCK;
    return blocks ? ((k + blocks - 1) / blocks + 15) / 16 * 16 : 0;
}

/* Floats that a call needs as its workspace, aligned to 64 bytes. Not more where m, n or k is less. */
static inline int64_t lli_gemm_floats(int64_t m, int64_t n, int64_t k) {
    (void)m;
    (void)n;
    return LLI_MIN((k + 15) / 16 * 16, LLI_GEMM_BLOCK) * LLI_GEMM_PANEL;
}

#endif
