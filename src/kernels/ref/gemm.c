/* SPDX-License-Identifier: MIT */
/* The matrix product, as it is written down. */
#include "kernels/gemm.h"
#include "kernels/ref/ref.h"

static float element(const lli_gemm *g, int64_t p, int64_t j) {
    switch (g->panels) {
    case LLI_PANELS_COLUMNS: return g->b.at[j / LLI_GEMM_PANEL * g->panel + p * LLI_GEMM_PANEL + j % LLI_GEMM_PANEL];
    case LLI_PANELS_ROWS: return g->b.at[p / LLI_GEMM_PANEL * g->panel + j * LLI_GEMM_PANEL + p % LLI_GEMM_PANEL];
    default: return g->b.at[p * g->b.row + j * g->b.column];
    }
}

void lli_ref_gemm(const lli_gemm *g, float *work) {
    (void)work;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            float *c = &g->c[i * g->ldc + j], sum = 0;
            for (int64_t p = 0; p < g->k; p++)
                sum += g->a.at[i * g->a.row + p * g->a.column] * element(g, p, j);
            *c = (g->add ? *c : 0) + sum + (g->bias ? g->bias[j] : 0);
            if (g->relu && *c < 0)
                *c = 0;
        }
}
