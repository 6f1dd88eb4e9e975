/* SPDX-License-Identifier: MIT */
/* The matrix product, as it is written down. Packed is [m,k]. */
#include "kernels/gemm.h"
#include "kernels/ref/ref.h"

void lli_ref_gemm_pack(float *packed, lli_matrix a, int64_t m, int64_t k, int64_t first, int64_t end) {
    for (int64_t i = lli_gemm_row(m, first); i < lli_gemm_row(m, end); i++)
        for (int64_t p = 0; p < k; p++)
            packed[i * k + p] = a.at[i * a.row + p * a.column];
}

static float element(const lli_gemm *g, int64_t p, int64_t j) {
    switch (g->panels) {
    case LLI_PANELS_COLUMNS: return g->b[j / LLI_GEMM_PANEL * g->panel + p * LLI_GEMM_PANEL + j % LLI_GEMM_PANEL];
    case LLI_PANELS_ROWS: return g->b[p / LLI_GEMM_PANEL * g->panel + j * LLI_GEMM_PANEL + p % LLI_GEMM_PANEL];
    default: return g->b[p * g->row + j];
    }
}

void lli_ref_gemm(const lli_gemm *g, float *work) {
    (void)work;
    int64_t start = lli_gemm_row(g->m, g->first), end = lli_gemm_row(g->m, g->end);
    for (int64_t i = start; i < end; i++)
        for (int64_t j = 0; j < g->n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < g->k; p++)
                sum += g->a[i * g->k + p] * element(g, p, j);
            sum += g->bias ? g->bias[j] : 0;
            g->c[(i - start) * g->ldc + j] = g->relu && sum < 0 ? 0 : sum;
        }
}
