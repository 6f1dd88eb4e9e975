/* SPDX-License-Identifier: MIT */
/* Products, rotations and reflections in f64. A product packs 64 rows of a and 8 columns of b at a time, and multiplies them in tiles of
 * 4 rows, 8 columns (4 where vectors are short) with all sums in registers. */
#include "kernels/matrix64.h"

#include <string.h>

#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum { TALL = 4, VECTORS = 2, WIDE = VECTORS * H, PANEL = LLI_LINEAR_PANEL / H };

static void pack_a(double *to, lli_matrix64 a, int64_t m, int64_t k) {
    for (int64_t i = 0; i < m; i += TALL, to += k * TALL)
        for (int64_t p = 0; p < k; p++)
            for (int r = 0; r < TALL; r++)
                to[p * TALL + r] = i + r < m ? a.at[(i + r) * a.row + p * a.column] : 0;
}

static void pack_b(double *to, lli_matrix64 b, int64_t k, int64_t n) {
    for (int64_t p = 0; p < k; p++)
        for (int j = 0; j < WIDE; j++)
            to[p * WIDE + j] = j < n ? b.at[p * b.row + j * b.column] : 0;
}

/* c [m,n] += scale times the product of packed tiles; m <= TALL, n <= WIDE. */
INLINE void tile(double *c, int64_t ldc, const double *a, const double *b, int64_t m, int64_t n, int64_t k, double scale) {
    vd sum[TALL][VECTORS] = {0};
    for (int64_t p = 0; p < k; p++)
        UNROLL
    for (int r = 0; r < TALL; r++)
        UNROLL
    for (int v = 0; v < VECTORS; v++)
        sum[r][v] = fma_d(all_d(a[p * TALL + r]), load_d(b + p * WIDE + v * H), sum[r][v]);
    double edge[WIDE] = {0};
    for (int64_t r = 0; r < m; r++) {
        double *row = c + r * ldc, *at = n == WIDE ? row : edge;
        if (at == edge)
            memcpy(edge, row, (size_t)n * sizeof *row);
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            store_d(at + v * H, fma_d(all_d(scale), sum[r][v], load_d(at + v * H)));
        if (at == edge)
            memcpy(row, edge, (size_t)n * sizeof *row);
    }
}

static void product(double *c, int64_t ldc, lli_matrix64 a, lli_matrix64 b, int64_t m, int64_t n, int64_t k, double scale, double *work) {
    double *packed_b = work + LLI_LINEAR_ROWS * LLI_LINEAR_DEPTH;
    for (int64_t p = 0; p < k; p += LLI_LINEAR_DEPTH) {
        int64_t depth = LLI_MIN(LLI_LINEAR_DEPTH, k - p);
        for (int64_t i = 0; i < m; i += LLI_LINEAR_ROWS) {
            int64_t rows = LLI_MIN(LLI_LINEAR_ROWS, m - i);
            pack_a(work, (lli_matrix64){a.at + i * a.row + p * a.column, a.row, a.column}, rows, depth);
            for (int64_t j = 0; j < n; j += WIDE) {
                int64_t columns = LLI_MIN(WIDE, n - j);
                pack_b(packed_b, (lli_matrix64){b.at + p * b.row + j * b.column, b.row, b.column}, depth, columns);
                for (int64_t r = 0; r < rows; r += TALL)
                    tile(c + (i + r) * ldc + j, ldc, work + r * depth, packed_b, LLI_MIN(TALL, rows - r), columns, depth, scale);
            }
        }
    }
}

static double dot(const double *x, const double *y, int64_t n) {
    vd sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 * H <= n; i += 4 * H)
        UNROLL
    for (int v = 0; v < 4; v++)
        sum[v] = fma_d(load_d(x + i + v * H), load_d(y + i + v * H), sum[v]);
    vd lanes = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = 0;
    for (int l = 0; l < H; l++)
        total += lanes[l];
    for (; i < n; i++)
        total += x[i] * y[i];
    return total;
}

static void rotate(double *panel, const lli_sweep *s) {
    vd carry[PANEL];
    double *row = panel + s->top * LLI_LINEAR_PANEL;
    const double *turn = s->turns;
    UNROLL
    for (int v = 0; v < PANEL; v++)
        carry[v] = load_d(row + v * H);
    for (int64_t i = s->top - 1; i >= s->bottom; i--, turn += 2) {
        vd sine = all_d(turn[0]), cosine = all_d(turn[1]);
        row -= LLI_LINEAR_PANEL;
        UNROLL
        for (int v = 0; v < PANEL; v++) {
            vd x = load_d(row + v * H);
            store_d(row + LLI_LINEAR_PANEL + v * H, fma_d(sine, x, cosine * carry[v]));
            carry[v] = fma_d(cosine, x, -sine * carry[v]);
        }
    }
    UNROLL
    for (int v = 0; v < PANEL; v++)
        store_d(row + v * H, carry[v]);
}

static void reflect(double *panel, const double *v, double tau, int64_t first, int64_t n) {
    vd sum[PANEL] = {0};
    for (int64_t i = first; i < n; i++)
        UNROLL
    for (int l = 0; l < PANEL; l++)
        sum[l] = fma_d(all_d(v[i]), load_d(panel + i * LLI_LINEAR_PANEL + l * H), sum[l]);
    UNROLL
    for (int l = 0; l < PANEL; l++)
        sum[l] *= all_d(-tau);
    for (int64_t i = first; i < n; i++)
        UNROLL
    for (int l = 0; l < PANEL; l++) {
        double *x = panel + i * LLI_LINEAR_PANEL + l * H;
        store_d(x, fma_d(all_d(v[i]), sum[l], load_d(x)));
    }
}

const lli_linear_kernels LEVEL(linear) = {product, dot, rotate, reflect};
