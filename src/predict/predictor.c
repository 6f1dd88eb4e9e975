/* SPDX-License-Identifier: MIT */
/* Predicts blocks of rows with a few members at a time. All workspace is made at the start; running allocates nothing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "kernels/require.h"
#include "predict/calibrated.h"
#include "predict/draws.h"
#include "predict/exact.h"
#include "predict/predictor.h"
#include "predict/row_key.h"
#include "scores/scores_work.h"

struct ll_predictor {
    ll_context ctx; /* a child: the predictor's sentences do not race with those of its maker */
    const ll_ensemble *ensemble;
    const lli_kernels *kernels;
    int64_t rows;   /* of a block */
    int64_t chunk;  /* members added at once */
    int32_t *share; /* [S] */
    lli_tally tally;
    lli_exact exact;
    double *logp; /* [K] of a row */
    /* of draws from a Gaussian: */
    lli_draws draws;
    lli_draws_factors *factors; /* its own; NULL: shared, or there are none */
    lli_scores_work scores;     /* of features, where the ensemble has some */
    /* of networks: */
    float *theta; /* [floats] a member as its model computes with it */
    float *z;     /* [rows,features] what that member's representation makes of a block */
    float *work;
    char *scratch; /* rows of a block that lie in files */
    int64_t scratch_bytes;
    lli_row_keys keys; /* of the rows of a block, where the ensemble goes by content */
    float *unmasked;   /* [rows,units] what all passes of dropout share; NULL where that is nothing */
};

/* Shapes decide, so that bits depend on nothing else. Several members at once, so that the sums are read and written seldom, unless K is so
 * large that their odds would push the sums out of the cache. Many rows, to read each member's parameters seldom; few, to stay in the
 * cache: L2_BYTES, the first level for short rows with their small heads, or one tile where even that is too large. */
enum { L2_BYTES = 320 * 1024, ODDS_BYTES = 160 * 1024, MOST_ROWS = 64, SHORT_ROW = 64, MOST_SHORT_ROWS = 32 };

/* Of networks: many, since each member is packed once per block, as far as the activations stay within bounds. */
enum { NETWORK_ROWS = 1024, NETWORK_BYTES = 64 << 20, HEAD_BLOCK = 256 };

static int64_t network_rows(const lli_model *model) {
    int64_t rows = NETWORK_ROWS;
    while (rows > LLI_PREDICT_TILE && model->ops->represent_floats(model, rows, 1) * (int64_t)sizeof(float) > NETWORK_BYTES)
        rows /= 2;
    return rows;
}

int64_t lli_predict_block(const ll_ensemble *ensemble) {
    return ensemble->network ? network_rows(ensemble->plan.model) : HEAD_BLOCK;
}

static void choose_block(ll_predictor *p, int64_t D, int64_t K) {
    if (p->ensemble->network) { /* every member has a representation of its own */
        p->chunk = 1;
        p->rows = network_rows(p->ensemble->plan.model);
        return;
    }
    p->chunk = LLI_MAX(1, LLI_MIN(LLI_TALLY_CHUNK, ODDS_BYTES / (LLI_PREDICT_TILE * K * (int64_t)sizeof(float))));
    int64_t rows = L2_BYTES / lli_sums_bytes(D, K, p->chunk) / LLI_PREDICT_TILE * LLI_PREDICT_TILE;
    p->rows = LLI_MAX(LLI_PREDICT_TILE, LLI_MIN(rows, D <= SHORT_ROW ? MOST_SHORT_ROWS : MOST_ROWS));
}

ll_status ll_predictor_new(ll_predictor **out, ll_context *ctx, const ll_ensemble *ensemble) {
    LLI_NEED(ctx, out, ensemble);
    return lli_predictor_new(out, ctx, ensemble, NULL);
}

ll_status lli_predictor_new(ll_predictor **out, ll_context *ctx, const ll_ensemble *ensemble, const lli_draws_factors *factors) {
    *out = NULL;
    ll_predictor *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    lli_context_child(&p->ctx, ctx);
    p->ensemble = ensemble;
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &p->kernels));
    LLI_DO(lli_memory_new(ctx, &p->share, ensemble->plan.S, sizeof *p->share));
    lli_sums_shares(p->share, ensemble->plan.weight, ensemble->plan.S);
    const lli_model *model = ensemble->plan.model;
    choose_block(p, model->features, model->K);
    LLI_DO(lli_sums_init(ctx, &p->tally, p->rows, model->features, model->K, p->chunk));
    LLI_DO(lli_exact_init(ctx, &p->exact, p->rows, model->K));
    LLI_DO(lli_memory_new(ctx, &p->logp, model->K, sizeof *p->logp));
    if (ensemble->plan.by_content)
        LLI_DO(lli_row_keys_init(ctx, &p->keys, p->rows, model->D));
    if (ensemble->plan.gaussian.structure) {
        if (!factors)
            LLI_DO(lli_draws_factors_new(&p->factors, ctx, ensemble));
        LLI_DO(lli_draws_init(ctx, &p->draws, factors ? factors : p->factors, ensemble, p->rows));
    }
    if (ensemble->plan.scores.which)
        LLI_DO(lli_scores_work_init(ctx, &p->scores, &ensemble->plan.scores, p->rows, model->D));
    if (ensemble->network) {
        LLI_DO(lli_memory_new(ctx, &p->theta, model->floats, sizeof(float)));
        LLI_DO(lli_memory_new(ctx, &p->z, p->rows * model->features, sizeof(float)));
        LLI_DO(lli_memory_new(ctx, &p->work, model->ops->represent_floats(model, p->rows, 1), sizeof(float)));
        int64_t shared = ensemble->plan.drop16 ? model->ops->unmasked_units(model, ensemble->plan.drop_own) : 0;
        if (shared)
            LLI_DO(lli_memory_new(ctx, &p->unmasked, p->rows * shared, sizeof(float)));
    }
    *out = p;
    p = NULL;
done:
    ll_predictor_free(p);
    return status;
}

void ll_predictor_free(ll_predictor *p) {
    if (!p)
        return;
    lli_sums_release(&p->tally);
    lli_exact_release(&p->exact);
    lli_draws_release(&p->draws);
    lli_draws_factors_free(p->factors);
    lli_scores_work_release(&p->scores);
    lli_memory_free(p->logp);
    lli_memory_free(p->theta);
    lli_memory_free(p->z);
    lli_memory_free(p->work);
    lli_memory_free(p->unmasked);
    lli_row_keys_release(&p->keys);
    lli_memory_free(p->share);
    lli_memory_free(p->scratch);
    lli_memory_free(p);
}

const char *ll_predictor_message(const ll_predictor *p) {
    return p ? p->ctx.message : "there is no predictor: NULL was given";
}

static void keep_members(ll_prediction *out, const ll_predictor *p, int64_t at, int64_t s, int64_t count) {
    const lli_tally *t = &p->tally;
    int64_t S = p->ensemble->plan.S, rows = lli_tally_padded(t->n);
    for (int64_t m = 0; m < count; m++)
        for (int64_t i = 0; i < t->n; i++) {
            if (out->member_pmax)
                out->member_pmax[(at + i) * S + s + m] = (float)t->inverse[m * rows + i];
            if (out->member_label)
                out->member_label[(at + i) * S + s + m] = t->top[m * rows + i];
        }
}

/* Adds the scores after each member of the chunk. Rows are summed in tiles of fixed place, so that any blocking gives the same bits. */
static void keep_running(ll_prediction *out, const ll_predictor *p, int64_t at, int64_t s, int64_t count, bool apart) {
    const lli_tally *t = &p->tally;
    int64_t rows = lli_tally_padded(t->n), S = p->ensemble->plan.S;
    for (int64_t m = 0; m < count; m++)
        for (int64_t tile = 0; tile < t->n; tile += LLI_PREDICT_TILE) {
            double nll = 0, brier = 0;
            int64_t right = 0, end = LLI_MIN(tile + LLI_PREDICT_TILE, t->n),
                    place = s + m + (apart ? (at + tile) / LLI_PREDICT_TILE * S : 0);
            for (int64_t i = m * rows + tile; i < m * rows + end; i++) {
                nll += t->nll[i];
                brier += t->brier[i];
                right += t->correct[i];
            }
            out->running_nll[place] += nll;
            out->running_brier[place] += brier;
            out->running_correct[place] += right;
        }
}

/* The same of calibrated probabilities: what is made of p_hat is made of them, what is made of the members stays. */
static void keep_calibrated(ll_prediction *out, const ll_predictor *p, int64_t at, int64_t i) {
    const lli_tally *t = &p->tally;
    lli_verdict verdict = lli_exact_verdict(&p->exact, t, i);
    lli_exact_logs(&p->exact, t, i, p->logp);
    if (p->ensemble->plan.calibration)
        lli_calibrated_verdict(&verdict, p->logp, p->ensemble->plan.calibration, t->K);
    lli_verdict_write(out, at, &verdict);
    if (out->truth && out->log_true)
        out->log_true[at] = p->logp[out->truth[at]];
    for (int64_t k = 0; out->probs && k < t->K; k++)
        out->probs[at * t->K + k] = (float)exp(p->logp[k]);
    if (out->log_probs)
        memcpy(out->log_probs + at * t->K, p->logp, (size_t)t->K * sizeof *p->logp);
}

static bool needs_logs(const ll_predictor *p, const ll_prediction *out) {
    return out->log_probs || p->ensemble->plan.calibration;
}

static void keep_rows(ll_prediction *out, ll_predictor *p, int64_t at) {
    const lli_tally *t = &p->tally;
    p->kernels->finish(&p->tally);
    for (int64_t i = 0; i < t->n; i++) {
        if (needs_logs(p, out)) {
            keep_calibrated(out, p, at + i, i);
            continue;
        }
        lli_verdict verdict = lli_exact_verdict(&p->exact, t, i);
        lli_verdict_write(out, at + i, &verdict);
        if (out->truth && out->log_true)
            out->log_true[at + i] = lli_exact_log_true(&p->exact, t, i, out->truth[at + i]);
        for (int64_t k = 0; out->probs && k < t->K; k++)
            out->probs[(at + i) * t->K + k] = (float)lli_tally_mean(t, i, k);
    }
}

/* Rows first .. first+n-1 of a source, which are rows `at`.. of the answers; `row` is the index of the first. */
typedef struct span {
    const lli_rows *rows;
    int64_t first, n, at, row;
} span;

/* The representation of the block by the member or pass s into the panels. Theta is unpacked where the member changes. */
static ll_status represent(ll_predictor *p, const span *block, int64_t s, float scale) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    const lli_model *model = plan->model;
    if (s == 0 || !plan->drop16) {
        const float *tensors[LLI_TENSORS_MAX];
        for (int i = 0; i < model->tensors; i++)
            tensors[i] = p->ensemble->tensor[i] + s * model->tensor[i].count;
        model->ops->pack(model, p->theta, tensors);
    }
    const lli_pass pass = {
        .seed = plan->seed,
        .pass = s,
        .drop16 = plan->drop16,
        .own = plan->drop_own,
        .row = block->row,
        .keys = p->keys.key,
        .unmasked = p->unmasked,
        .known = s > 0,
    };
    LLI_TRY(
        model->ops->represent(&p->ctx, model, p->z, p->theta, p->work, block->rows, block->first, block->n, plan->drop16 ? &pass : NULL));
    p->kernels->panels(&p->tally, p->z, false, 0, scale);
    return LL_OK;
}

/* A chunk of members. What the draws of a block share is made with the first. */
static void add_members(ll_predictor *p, const span *block, const lli_members *members) {
    if (!members->draw) {
        p->kernels->predict(&p->tally, members);
        return;
    }
    lli_members theta = *members;
    theta.count = 1;
    if (members->first_draw == 0)
        lli_draws_block(&p->draws, &p->tally, &theta, block->rows, block->first, block->n);
    members->draw(&p->tally, members);
    p->kernels->tally(&p->tally, members);
}

static void keep_scores(const ll_prediction *out, ll_predictor *p, const span *block) {
    double *to[LLI_SCORES_COUNT];
    bool any = false;
    for (int i = 0; i < LLI_SCORES_COUNT; i++) {
        double *confidence = out->confidence[LLI_SCORES_FIRST + i];
        to[i] = confidence ? confidence + block->at : NULL;
        any = any || confidence;
    }
    if (any)
        lli_scores_work_run(&p->scores, to, block->rows->features, block->rows->half, block->first, block->n);
}

/* All members on a block. */
static ll_status run_block(ll_prediction *out, ll_predictor *p, const span *block, bool apart) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    const lli_model *model = plan->model;
    const float *W = p->ensemble->tensor[model->head_tensor], *b = p->ensemble->tensor[model->head_tensor + 1];
    bool running = out->running_nll != NULL;
    const int32_t *truth = running || (out->truth && out->log_true) ? out->truth + block->at : NULL;
    float scale = plan->drop16 ? 65536.0f / (float)(65536 - plan->drop16) : 1;
    lli_sums_clear(&p->tally, block->n);
    lli_exact_clear(&p->exact, block->n, needs_logs(p, out));
    if (plan->by_content)
        lli_row_keys_fill(&p->keys, p->kernels, block->rows, block->first, block->n);
    if (!p->ensemble->network)
        p->kernels->panels(&p->tally, block->rows->features, block->rows->half, block->first, scale);
    bool draws = plan->gaussian.structure;
    for (int64_t s = 0; s < plan->S; s += p->chunk) {
        int64_t count = LLI_MIN(p->chunk, plan->S - s), stored = plan->stored == 1 ? 0 : s;
        if (p->ensemble->network) {
            LLI_TRY(lli_cancel_check(&p->ctx));
            LLI_TRY(represent(p, block, s, scale));
        }
        const lli_mask mask = {lli_rng_stream(plan->seed, LLI_PURPOSE_PREDICT_MASK, 0, s), model->mask_layers - 1, plan->drop16};
        const lli_members members = {
            .W = W + stored * model->K * model->features,
            .b = b + stored * model->K,
            .weight = plan->weight + s,
            .share = p->share + s,
            .count = count,
            .mask = plan->drop16 ? &mask : NULL,
            .row = block->row,
            .keys = p->keys.key,
            .truth = running ? truth : NULL,
            .draw = draws ? lli_draws_logits : NULL,
            .drawn = &p->draws,
            .first_draw = s,
        };
        add_members(p, block, &members);
        lli_exact_add(&p->exact, &p->tally, p->kernels, &members, truth);
        if (out->member_pmax || out->member_label)
            keep_members(out, p, block->at, s, count);
        if (running)
            keep_running(out, p, block->at, s, count, apart);
    }
    keep_rows(out, p, block->at);
    if (plan->scores.which)
        keep_scores(out, p, block);
    return LL_OK;
}

/* Finite features and weights may still have a product or a sum beyond f32. */
static ll_status check_logits(ll_predictor *p, int64_t row) {
    for (int64_t i = 0; i < p->tally.n; i++)
        if (p->tally.overflow[i])
            return lli_fail(&p->ctx, LL_ERR_DATA,
                            "the logits of row %" PRId64 " are beyond single precision (3.4e38); make its features or the ensemble's "
                            "weights smaller",
                            row + i);
    return LL_OK;
}

/* What the caller asks for makes sense: sizes, and the answers about the true class with all that they need. */
static ll_status check_asked(ll_predictor *p, const ll_prediction *out, int64_t n, int64_t row) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    int64_t floats;
    if (n < 0 || row < 0 || !lli_multiply(&floats, n, plan->D) || floats > INT64_MAX / (int64_t)sizeof(float))
        return lli_fail(&p->ctx, LL_ERR_USAGE,
                        "ll_predictor_run: n is %" PRId64 " and row is %" PRId64 "; expected sizes of at least 0 that fit in memory", n,
                        row);
    int sums = (out->running_nll != NULL) + (out->running_brier != NULL) + (out->running_correct != NULL);
    if (!sums && !out->log_true)
        return LL_OK;
    if (sums % 3 || !out->truth)
        return lli_fail(&p->ctx, LL_ERR_USAGE, "ll_prediction: %s",
                        sums % 3 ? "running_nll, running_brier and running_correct come together, and some of them are NULL"
                                 : "truth is NULL; the running sums and log_true need it");
    for (int64_t i = 0; i < n; i++)
        if (out->truth[i] < 0 || out->truth[i] >= plan->K)
            return lli_fail(&p->ctx, LL_ERR_USAGE, "ll_prediction: truth is %d in row %" PRId64 "; expected a class of 0..%" PRId64,
                            (int)out->truth[i], i, plan->K - 1);
    return LL_OK;
}

ll_status ll_predictor_run(ll_prediction *given, ll_predictor *p, const float *z, int64_t n, int64_t row) {
    if (!p)
        return LL_ERR_USAGE;
    if (!given || (!z && n > 0))
        return lli_fail(&p->ctx, LL_ERR_USAGE, "ll_predictor_run: %s is NULL; it must point to something", given ? "z" : "out");
    ll_prediction taken = {0}, *out = &taken;
    LLI_TRY(lli_abi_take(&p->ctx, "ll_prediction", out, sizeof *out, given, LLI_ABI_UP_TO(ll_prediction, log_true)));
    LLI_TRY(check_asked(p, out, n, row));
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    int64_t D = plan->D;
    for (int64_t i = 0; i < n * D; i++)
        if (!isfinite(z[i]))
            return lli_fail(&p->ctx, LL_ERR_DATA, "feature %" PRId64 " of row %" PRId64 " is not finite", i % D, row + i / D);
    lli_rows rows = {z, false, n, D};
    if (p->ensemble->network)
        lli_ensemble_apply_input(&rows, &plan->input, plan->scaling);
    return lli_predictor_run_rows(out, p, &rows, 0, n, row, false);
}

ll_status lli_predictor_run_rows(ll_prediction *out, ll_predictor *p, const lli_rows *rows, int64_t first, int64_t n, int64_t row,
                                 bool apart) {
    int64_t bytes = lli_rows_scratch(rows, p->rows);
    if (bytes > p->scratch_bytes) {
        LLI_TRY(lli_memory_grow(&p->ctx, &p->scratch, p->scratch_bytes, bytes, 1));
        p->scratch_bytes = bytes;
    }
    for (int64_t at = 0; at < n; at += p->rows) {
        lli_rows block;
        int64_t count = LLI_MIN(p->rows, n - at);
        LLI_TRY(lli_cancel_check(&p->ctx));
        LLI_TRY(lli_rows_block(&block, &p->ctx, rows, p->scratch, first + at, count));
        LLI_TRY(run_block(out, p, &(span){&block, 0, count, at, row + at}, apart));
        LLI_TRY(check_logits(p, row + at));
    }
    return LL_OK;
}
