/* SPDX-License-Identifier: MIT */
/* The head: made from arrays in either layout, and as a model that takes steps. Solving for it is train's. */
#include "model/head.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "kernels/large.h"
#include "kernels/require.h"
#include "model/large_head.h"

ll_status lli_head_alloc(ll_head **out, ll_context *ctx, int64_t K, int64_t D) {
    *out = NULL;
    int64_t count;
    if (!lli_multiply(&count, K, D))
        return lli_fail(ctx, LL_ERR_DATA, "a head of %" PRId64 " classes and %" PRId64 " features is too large", K, D);
    ll_head *head;
    LLI_TRY(lli_memory_new(ctx, &head, 1, sizeof *head));
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &head->W, count, sizeof *head->W));
    LLI_DO(lli_memory_new(ctx, &head->b, K, sizeof *head->b));
    head->K = K;
    head->D = D;
    head->gradient_norm = NAN;
    *out = head;
    head = NULL;
done:
    ll_head_free(head);
    return status;
}

void ll_head_free(ll_head *head) {
    if (!head)
        return;
    lli_memory_free(head->W);
    lli_memory_free(head->b);
    lli_memory_free(head);
}

ll_status lli_head_seal(ll_context *ctx, ll_head *head) {
    for (int64_t i = 0; i < head->K * head->D; i++)
        if (!isfinite(head->W[i]))
            return lli_fail(ctx, LL_ERR_DATA, "the head's weight of class %" PRId64 ", feature %" PRId64 " is not finite", i / head->D,
                            i % head->D);
    for (int64_t k = 0; k < head->K; k++)
        if (!isfinite(head->b[k]))
            return lli_fail(ctx, LL_ERR_DATA, "the head's bias of class %" PRId64 " is not finite", k);
    lli_hash hash;
    lli_hash_array(&hash, LL_DTYPE_F32, 2, (int64_t[]){head->K, head->D});
    lli_hash_add(&hash, head->W, (size_t)(head->K * head->D) * sizeof(float));
    lli_hash_add(&hash, head->b, (size_t)head->K * sizeof(float));
    lli_hash_text(&hash, head->hash);
    return LL_OK;
}

/* Decides whether a weight of this shape is [K,D] or [D,K]. */
static ll_status find_layout(ll_context *ctx, bool *transposed, const ll_array *weight, int64_t D, ll_head_layout layout) {
    char text[LLI_ARRAY_TEXT];
    if (weight->rank != 2)
        return lli_fail(ctx, LL_ERR_DATA, "the head's weight is %s; expected two axes, [K,D] or [D,K]", lli_array_text(text, weight));
    int64_t rows = weight->shape[0], columns = weight->shape[1];
    bool kd = columns == D && layout != LL_HEAD_LAYOUT_DK, dk = rows == D && layout != LL_HEAD_LAYOUT_KD;
    if (!kd && !dk)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the head's weight is %s and the features have %" PRId64 " columns; expected %s with D = %" PRId64,
                        lli_array_text(text, weight), D,
                        layout == LL_HEAD_LAYOUT_KD   ? "[K,D]"
                        : layout == LL_HEAD_LAYOUT_DK ? "[D,K]"
                                                      : "[K,D] or [D,K]",
                        D);
    if (kd && dk)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the head's weight is %s, so [K,D] (PyTorch) and [D,K] (Keras) look the same; say which with `head-layout kd` or "
                        "`head-layout dk`",
                        lli_array_text(text, weight));
    *transposed = dk;
    return LL_OK;
}

ll_status ll_head_new(ll_head **out, ll_context *ctx, ll_array weight, const ll_array *bias, int64_t features, ll_head_layout layout) {
    LLI_NEED(ctx, out);
    *out = NULL;
    LLI_TRY(lli_array_check(ctx, "the head's weight", &weight));
    if (bias)
        LLI_TRY(lli_array_check(ctx, "the head's bias", bias));
    if ((unsigned)layout > LL_HEAD_LAYOUT_DK || features < 1)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "ll_head_new: layout is %d and features is %" PRId64 "; expected one of ll_head_layout and at "
                        "least 1",
                        (int)layout, features);
    bool transposed = false;
    LLI_TRY(find_layout(ctx, &transposed, &weight, features, layout));
    int64_t D = features, K = transposed ? weight.shape[1] : weight.shape[0];
    char text[LLI_ARRAY_TEXT];
    if (K < 2)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the head's weight is %s, which is %" PRId64 " class; at least two are needed: one output "
                        "with a sigmoid is two classes with the weights -w / 2 and w / 2, numpy.vstack([-w, w]) / 2, and so is its bias",
                        lli_array_text(text, &weight), K);
    if (bias && (lli_array_count(bias) != K || bias->rank < 1))
        return lli_fail(ctx, LL_ERR_DATA, "the head's bias is %s; expected [%" PRId64 "], one number per class", lli_array_text(text, bias),
                        K);
    ll_head *head;
    LLI_TRY(lli_head_alloc(&head, ctx, K, D));
    ll_status status;
    if (transposed)
        for (int64_t k = 0; k < K; k++)
            for (int64_t j = 0; j < D; j++)
                head->W[k * D + j] = (float)lli_array_real(&weight, j * K + k);
    else
        lli_array_to_f32(head->W, &weight, 0, K * D);
    if (bias)
        lli_array_to_f32(head->b, bias, 0, K);
    LLI_DO(lli_head_seal(ctx, head));
    *out = head;
    head = NULL;
done:
    ll_head_free(head);
    return status;
}

int64_t ll_head_classes(const ll_head *head) {
    return head ? head->K : 0;
}

int64_t ll_head_features(const ll_head *head) {
    return head ? head->D : 0;
}

ll_array ll_head_weight_view(const ll_head *head) {
    return head ? ll_array_view(head->W, LL_DTYPE_F32, 2, (int64_t[]){head->K, head->D}) : (ll_array){.rank = -1};
}

ll_array ll_head_bias_view(const ll_head *head) {
    return head ? ll_array_view(head->b, LL_DTYPE_F32, 1, &head->K) : (ll_array){.rank = -1};
}

double ll_head_gradient_norm(const ll_head *head) {
    return head ? head->gradient_norm : NAN;
}

static void pack(const lli_model *m, float *theta, const float *const *tensors) {
    int64_t ld = lli_kernels_stride(m->D);
    memset(theta, 0, (size_t)m->floats * sizeof *theta);
    for (int64_t k = 0; k < m->K; k++) {
        memcpy(theta + k * ld, tensors[0] + k * m->D, (size_t)m->D * sizeof *theta);
        theta[k * ld + m->D] = tensors[1][k];
    }
}

static void unpack(const lli_model *m, float *const *tensors, const float *theta) {
    int64_t ld = lli_kernels_stride(m->D);
    for (int64_t k = 0; k < m->K; k++) {
        memcpy(tensors[0] + k * m->D, theta + k * ld, (size_t)m->D * sizeof *theta);
        tensors[1][k] = theta[k * ld + m->D];
    }
}

static int64_t step_floats(const lli_model *m, int64_t B, int workers) {
    (void)workers; /* a step too short to share */
    return m->kernels->step_floats(B, m->D, m->K);
}

static int64_t descend_floats(const lli_model *m, int64_t B, int workers) {
    (void)workers;
    return m->floats + B * (lli_kernels_stride(m->D) + lli_kernels_stride_classes(m->K));
}

lli_head_step lli_head_step_of(const lli_step *s) {
    return (lli_head_step){
        .batch = {s->rows, s->labels, s->weights, s->n, s->next, s->next_n},
        .update =
            {
                .shrink = (float)(1 - s->lr * s->decay),
                .scale = (float)(s->lr / (double)s->n),
                .noise = (float)s->noise,
                .stream = lli_rng_stream(s->seed, LLI_PURPOSE_NOISE, s->member, s->step),
            },
        .dropout = s->drop16 > 0,
        .mask = {lli_rng_stream(s->seed, LLI_PURPOSE_TRAIN_MASK, s->member, s->step), 0, s->drop16},
    };
}

static ll_status step(double *nll, ll_context *ctx, const lli_model *m, float *theta, float *work, const lli_rows *rows,
                      const lli_step *s) {
    (void)ctx;
    const lli_head_step h = lli_head_step_of(s);
    *nll = m->kernels->step(theta, work, rows, &h.batch, &h.update, h.dropout ? &h.mask : NULL, m->K);
    return LL_OK;
}

lli_update lli_head_mean_gradient(int64_t n) {
    return (lli_update){.shrink = 1, .scale = -1 / (float)n};
}

/* One piece per class: its weights and its bias, without the padding. */
static ll_status descend(double *nll, ll_context *ctx, const lli_model *m, lli_apply_fn *apply, void *arg, float *theta, float *work,
                         const lli_rows *rows, const lli_step *s) {
    (void)ctx;
    const lli_head_step h = lli_head_step_of(s);
    const lli_update mean = lli_head_mean_gradient(s->n);
    int64_t ld = lli_kernels_stride(m->D), ldk = lli_kernels_stride_classes(m->K);
    float *gradient = work, *z = gradient + m->floats, *g = z + s->n * ld;
    m->kernels->gather(z, rows->features, rows->half, s->rows, 0, s->n, m->D, ld);
    if (h.dropout)
        m->kernels->mask(z, z, &h.mask, 0, s->n, m->D, ld);
    m->kernels->logits(g, theta, z, s->n, m->K, ld, ldk);
    *nll = m->kernels->residual(g, s->labels, s->weights, s->n, m->K, ldk);
    memset(gradient, 0, (size_t)m->floats * sizeof *gradient);
    m->kernels->update(gradient, g, z, &mean, s->n, m->K, m->D, ld, ldk);
    for (int64_t k = 0; k < m->K; k++)
        apply(arg, &m->part[0], k * ld, m->D + 1, gradient + k * ld);
    return LL_OK;
}

static const lli_model_ops rows_ops = {
    .pack = pack, .unpack = unpack, .descend = descend, .descend_floats = descend_floats, .step = step, .step_floats = step_floats};

/* Weights and biases have the same prior, so they are one part. */
static void set_layout(lli_model *m, const lli_model_ops *ops, int64_t floats) {
    m->ops = ops;
    m->floats = floats;
    m->parts = 1;
    m->part[0] = (lli_part){.count = floats, .role = LLI_ROLE_KERNEL};
}

ll_status lli_head_rows(ll_context *ctx, lli_model *model, int64_t K, int64_t D) {
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    *model = (lli_model){
        .kernels = kernels,
        .padded = true,
        .D = D,
        .K = K,
        .tensors = 2,
        .tensor = {{"W", 2, {K, D}, K * D, LLI_ROLE_KERNEL}, {"b", 1, {K}, K, LLI_ROLE_BIAS}},
        .features = D,
        .head_tensor = 0,
        .mask_layers = 1,
    };
    set_layout(model, &rows_ops, K * lli_kernels_stride(D));
    return LL_OK;
}

ll_status lli_head_model(ll_context *ctx, lli_model *model, int64_t K, int64_t D) {
    LLI_TRY(lli_head_rows(ctx, model, K, D));
    if (lli_large_head_suits(model->kernels, K, D)) {
        model->padded = false;
        set_layout(model, &lli_large_head_ops, lli_large_floats(K, D));
    }
    return LL_OK;
}

ll_status lli_head_pack(ll_context *ctx, lli_model *model, float **theta, const ll_head *head, lli_team *team) {
    lli_model whole;
    LLI_TRY(lli_head_model(ctx, &whole, head->K, head->D));
    *model = whole;
    if (team)
        lli_large_head_divide(model, &whole, team);
    lli_memory_free(*theta);
    LLI_TRY(lli_memory_new(ctx, theta, model->floats, sizeof **theta));
    model->ops->pack(model, *theta, (const float *const[]){head->W, head->b});
    return LL_OK;
}
