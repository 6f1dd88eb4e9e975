/* SPDX-License-Identifier: MIT */
/* Representation of a block, logits of the last layer, their loss and their argmax. */
#include "train/score.h"

#include <math.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/kernels.h"

enum { BLOCK = 256 };

struct lli_score {
    const lli_model *model;
    int64_t ld, ldk;
    float *tensors;  /* all of them, one after the other */
    float *head;     /* [K,ld] */
    float *features; /* [BLOCK,F] */
    float *z;        /* [BLOCK,ld] */
    float *logits;   /* [BLOCK,ldk] */
    float *work;
    char *scratch; /* rows of a block that lie in files */
    int64_t scratch_bytes;
};

ll_status lli_score_new(lli_score **out, ll_context *ctx, const lli_model *model) {
    *out = NULL;
    lli_score *s;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    ll_status status;
    s->model = model;
    s->ld = lli_kernels_stride(model->features);
    s->ldk = lli_kernels_stride_classes(model->K);
    int64_t floats = 0;
    for (int i = 0; i < model->tensors; i++)
        floats += model->tensor[i].count;
    LLI_DO(lli_memory_new(ctx, &s->tensors, floats, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &s->head, model->K * s->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &s->features, BLOCK * model->features, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &s->z, BLOCK * s->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &s->logits, BLOCK * s->ldk, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &s->work, model->ops->represent_floats(model, BLOCK, lli_pool_workers(ctx)), sizeof(float)));
    *out = s;
    s = NULL;
done:
    lli_score_free(s);
    return status;
}

void lli_score_free(lli_score *s) {
    if (!s)
        return;
    lli_memory_free(s->tensors);
    lli_memory_free(s->head);
    lli_memory_free(s->features);
    lli_memory_free(s->z);
    lli_memory_free(s->logits);
    lli_memory_free(s->work);
    lli_memory_free(s->scratch);
    lli_memory_free(s);
}

/* The last layer as the kernels of heads take it. */
static void take_head(lli_score *s, const float *theta) {
    const lli_model *m = s->model;
    float *tensors[LLI_TENSORS_MAX];
    lli_model_place_tensors(tensors, m, s->tensors);
    m->ops->unpack(m, tensors, theta);
    m->kernels->gather(s->head, tensors[m->head_tensor], false, NULL, 0, m->K, m->features, s->ld);
    for (int64_t k = 0; k < m->K; k++)
        s->head[k * s->ld + m->features] = tensors[m->head_tensor + 1][k];
}

static bool correct(const float *logits, int64_t K, int32_t label) {
    for (int64_t k = 0; k < K; k++)
        if (!(logits[k] < logits[label]) && (k < label || logits[k] != logits[label])) /* NaN is neither */
            return false;
    return isfinite(logits[label]);
}

ll_status lli_score_run(double *nll, double *accuracy, ll_context *ctx, lli_score *s, const float *theta, const ll_dataset *data) {
    const lli_model *m = s->model;
    int64_t N = data->rows.N, right = 0;
    double total = 0;
    int64_t bytes = lli_rows_scratch(&data->rows, BLOCK);
    LLI_TRY(lli_memory_grow(ctx, &s->scratch, s->scratch_bytes, LLI_MAX(bytes, s->scratch_bytes), 1));
    s->scratch_bytes = LLI_MAX(bytes, s->scratch_bytes);
    take_head(s, theta);
    for (int64_t first = 0; first < N; first += BLOCK) {
        lli_rows block;
        int64_t n = LLI_MIN(BLOCK, N - first);
        LLI_TRY(lli_cancel_check(ctx));
        LLI_TRY(lli_rows_block(&block, ctx, &data->rows, s->scratch, first, n));
        LLI_TRY(m->ops->represent(ctx, m, s->features, theta, s->work, &block, 0, n, NULL));
        m->kernels->gather(s->z, s->features, false, NULL, 0, n, m->features, s->ld);
        m->kernels->logits(s->logits, s->head, s->z, n, m->K, s->ld, s->ldk);
        for (int64_t i = 0; i < n; i++)
            right += correct(s->logits + i * s->ldk, m->K, data->labels[first + i]);
        total += m->kernels->residual(s->logits, data->labels + first, NULL, n, m->K, s->ldk);
    }
    *nll = total / (double)N;
    *accuracy = (double)right / (double)N;
    return LL_OK;
}
