/* SPDX-License-Identifier: MIT */
/* Predicts blocks of rows with every member in turn. All workspace is made at the start; running allocates nothing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/require.h"
#include "model/head.h"
#include "predict/moments.h"
#include "predict/predictor.h"

struct ll_predictor {
    ll_context ctx; /* a child: the predictor's sentences do not race with those of its maker */
    const ll_ensemble *ensemble;
    lli_model model;
    int64_t rows;   /* of a block */
    int64_t ld, ldk;
    lli_moments moments;
    float *theta;    /* [K,ld] */
    float *z;        /* [rows,ld] */
    float *masked;   /* [rows,ld] for dropout */
    float *logits;   /* [rows,ldk] */
    double *r;       /* [rows,K] */
    double *entropy; /* [rows] */
    int32_t *top;    /* [rows] */
};

/* Rows that are predicted at once: many, to read each member's parameters seldom; few, to stay in the cache. A multiple of the tile. */
static int64_t block_rows(int64_t K) {
    int64_t fit = ((int64_t)1 << 20) / (lli_moments_bytes(K) + 12 * K);
    return LLI_MAX(LLI_PREDICT_TILE, LLI_MIN(fit, 256) / LLI_PREDICT_TILE * LLI_PREDICT_TILE);
}

ll_status ll_predictor_new(ll_predictor **out, ll_context *ctx, const ll_ensemble *ensemble) {
    *out = NULL;
    ll_predictor *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    const lli_ensemble_plan *plan = &ensemble->plan;
    lli_context_child(&p->ctx, ctx);
    p->ensemble = ensemble;
    p->rows = block_rows(plan->K);
    p->ld = lli_kernels_stride(plan->D);
    p->ldk = lli_kernels_stride_classes(plan->K);
    ll_status status;
    LLI_DO(lli_head_rows(ctx, &p->model, plan->K, plan->D));
    LLI_DO(lli_moments_init(ctx, &p->moments, p->rows, plan->K, true));
    LLI_DO(lli_memory_new(ctx, &p->theta, p->model.floats, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &p->z, p->rows * p->ld, sizeof(float)));
    if (plan->drop16)
        LLI_DO(lli_memory_new(ctx, &p->masked, p->rows * p->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &p->logits, p->rows * p->ldk, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &p->r, p->rows * plan->K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &p->entropy, p->rows, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &p->top, p->rows, sizeof(int32_t)));
    *out = p;
    p = NULL;
done:
    ll_predictor_free(p);
    return status;
}

void ll_predictor_free(ll_predictor *p) {
    if (!p)
        return;
    lli_moments_release(&p->moments);
    lli_memory_free(p->theta);
    lli_memory_free(p->z);
    lli_memory_free(p->masked);
    lli_memory_free(p->logits);
    lli_memory_free(p->r);
    lli_memory_free(p->entropy);
    lli_memory_free(p->top);
    lli_memory_free(p);
}

const char *ll_predictor_message(const ll_predictor *p) {
    return p->ctx.message;
}

static void load_member(ll_predictor *p, int64_t stored) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    const float *tensors[] = {p->ensemble->W + stored * plan->K * plan->D, p->ensemble->b + stored * plan->K};
    p->model.ops->pack(&p->model, p->theta, tensors);
}

/* logits, then r, top and entropy of member s for the n rows of the block. */
static void run_member(ll_predictor *p, int64_t s, int64_t n, int64_t row) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    const lli_kernels *kernels = p->model.kernels;
    const float *z = p->z;
    if (plan->drop16) {
        const lli_mask mask = {lli_rng_stream(plan->seed, LLI_PURPOSE_PREDICT_MASK, 0, s), 0, plan->drop16};
        kernels->mask(p->masked, p->z, &mask, row, n, plan->D, p->ld);
        z = p->masked;
    } else {
        load_member(p, s);
    }
    kernels->logits(p->logits, p->theta, z, n, plan->K, p->ld, p->ldk);
    kernels->softmax(p->r, p->top, p->entropy, p->logits, n, plan->K, p->ldk);
}

static void keep_members(ll_prediction *out, const ll_predictor *p, int64_t at, int64_t s, int64_t n) {
    int64_t S = p->ensemble->plan.S, K = p->ensemble->plan.K;
    for (int64_t i = 0; i < n; i++) {
        if (out->member_pmax)
            out->member_pmax[(at + i) * S + s] = (float)(1 + p->r[i * K + p->top[i]]);
        if (out->member_label)
            out->member_label[(at + i) * S + s] = p->top[i];
    }
}

/* Adds the scores of the first s+1 members. Rows are summed in tiles of fixed place, so that any blocking gives the same bits. */
static void keep_running(ll_prediction *out, const ll_predictor *p, int64_t at, int64_t s, int64_t n) {
    for (int64_t tile = 0; tile < n; tile += LLI_PREDICT_TILE) {
        double nll = 0, brier = 0;
        int64_t right = 0, end = LLI_MIN(tile + LLI_PREDICT_TILE, n);
        for (int64_t i = tile; i < end; i++) {
            double row_nll, row_brier;
            bool correct;
            lli_moments_score(&p->moments, i, out->truth[at + i], &row_nll, &row_brier, &correct);
            nll += row_nll;
            brier += row_brier;
            right += correct;
        }
        out->running_nll[s] += nll;
        out->running_brier[s] += brier;
        out->running_correct[s] += right;
    }
}

static void run_block(ll_prediction *out, ll_predictor *p, int64_t at, int64_t n, int64_t row) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    lli_moments_clear(&p->moments, n);
    if (plan->drop16)
        load_member(p, 0);
    for (int64_t s = 0; s < plan->S; s++) {
        run_member(p, s, n, row);
        lli_moments_add(&p->moments, plan->weight[s], p->r, p->top, p->entropy, n);
        keep_members(out, p, at, s, n);
        if (out->truth && out->running_nll)
            keep_running(out, p, at, s, n);
    }
    lli_moments_finish(out, at, &p->moments, n);
}

ll_status ll_predictor_run(ll_prediction *out, ll_predictor *p, const float *z, int64_t n, int64_t row) {
    int64_t D = p->ensemble->plan.D;
    for (int64_t i = 0; i < n * D; i++)
        if (!isfinite(z[i]))
            return lli_fail(&p->ctx, LL_ERR_DATA, "feature %" PRId64 " of row %" PRId64 " is not finite", i % D, row + i / D);
    lli_rows rows = {z, false, n, D};
    return lli_predictor_run_rows(out, p, &rows, 0, n, row);
}

ll_status lli_predictor_run_rows(ll_prediction *out, ll_predictor *p, const lli_rows *rows, int64_t first, int64_t n, int64_t row) {
    for (int64_t at = 0; at < n; at += p->rows) {
        LLI_TRY(lli_cancel_check(&p->ctx));
        int64_t count = LLI_MIN(p->rows, n - at);
        p->model.kernels->gather(p->z, rows->features, rows->half, NULL, first + at, count, rows->D, p->ld);
        run_block(out, p, at, count, row + at);
    }
    return LL_OK;
}
