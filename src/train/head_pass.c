/* SPDX-License-Identifier: MIT */
/* Logits are f32, by the kernels of training; what is made of them is f64. */
#include "train/head_pass.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"

ll_status lli_head_pass_init(ll_context *ctx, lli_head_pass *pass, const ll_dataset *data, const lli_curvature_head *head) {
    int64_t K = head->K, D = data->rows.D, workers = lli_pool_workers(ctx);
    *pass = (lli_head_pass){.data = data, .K = K, .D = D, .ld = lli_kernels_stride(D), .ldk = lli_kernels_stride_classes(K)};
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &pass->kernels));
    LLI_DO(lli_memory_new(ctx, &pass->theta, K * pass->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &pass->z, workers * LLI_HEAD_PASS_ROWS * pass->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &pass->logits, workers * LLI_HEAD_PASS_ROWS * pass->ldk, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &pass->p, workers * K, sizeof(double)));
    pass->block_bytes = lli_rows_scratch(&data->rows, LLI_HEAD_PASS_ROWS);
    LLI_DO(lli_memory_new(ctx, &pass->scratch, workers * pass->block_bytes, 1));
    for (int64_t k = 0; k < K; k++) {
        memcpy(pass->theta + k * pass->ld, head->W + k * D, (size_t)D * sizeof(float));
        pass->theta[k * pass->ld + D] = head->b[k];
    }
done:
    if (status != LL_OK)
        lli_head_pass_release(pass);
    return status;
}

void lli_head_pass_release(lli_head_pass *pass) {
    lli_memory_free(pass->theta);
    lli_memory_free(pass->z);
    lli_memory_free(pass->logits);
    lli_memory_free(pass->p);
    lli_memory_free(pass->scratch);
    *pass = (lli_head_pass){0};
}

ll_status lli_head_pass_rows(const float **out, ll_context *ctx, lli_head_pass *pass, int64_t first, int64_t count, int worker,
                             bool logits) {
    float *z = pass->z + worker * LLI_HEAD_PASS_ROWS * pass->ld;
    lli_rows block;
    LLI_TRY(lli_rows_block(&block, ctx, &pass->data->rows, pass->scratch + worker * pass->block_bytes, first, count));
    pass->kernels->gather(z, block.features, block.half, NULL, 0, count, pass->D, pass->ld);
    if (logits)
        pass->kernels->logits(pass->logits + worker * LLI_HEAD_PASS_ROWS * pass->ldk, pass->theta, z, count, pass->K, pass->ld, pass->ldk);
    *out = z;
    return LL_OK;
}

const double *lli_head_pass_softmax(lli_head_pass *pass, int64_t i, int worker, int64_t *top, double *tail) {
    const float *logits = pass->logits + (worker * LLI_HEAD_PASS_ROWS + i) * pass->ldk;
    double *p = pass->p + worker * pass->K, others = 0;
    int64_t best = 0;
    for (int64_t k = 1; k < pass->K; k++)
        best = logits[k] > logits[best] ? k : best;
    for (int64_t k = 0; k < pass->K; k++) {
        p[k] = exp((double)logits[k] - (double)logits[best]);
        others += k == best ? 0 : p[k];
    }
    for (int64_t k = 0; k < pass->K; k++)
        p[k] /= 1 + others;
    *top = best;
    *tail = others / (1 + others);
    return p;
}

double lli_head_pass_weight(const lli_head_pass *pass, int64_t row) {
    return pass->data->weights ? (double)pass->data->weights[row] : 1;
}
