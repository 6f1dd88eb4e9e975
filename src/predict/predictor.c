/* SPDX-License-Identifier: MIT */
/* Predicts blocks of rows with a few members at a time. All workspace is made at the start; running allocates nothing. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "kernels/require.h"
#include "predict/predictor.h"
#include "predict/tally.h"

struct ll_predictor {
    ll_context ctx; /* a child: the predictor's sentences do not race with those of its maker */
    const ll_ensemble *ensemble;
    const lli_kernels *kernels;
    int64_t rows;  /* of a block */
    int64_t chunk; /* members added at once */
    lli_tally tally;
};

/* Shapes decide, so that bits depend on nothing else. Several members at once, so that the sums are read and written seldom, unless K is so
 * large that their odds would push the sums out of the cache. Many rows, to read each member's parameters seldom; few, to stay in the cache:
 * L2_BYTES, the first level for short rows with their small heads, or one tile where even that is too large. */
enum { L2_BYTES = 320 * 1024, ODDS_BYTES = 160 * 1024, MOST_ROWS = 64, SHORT_ROW = 64, MOST_SHORT_ROWS = 32 };

static void choose_block(ll_predictor *p, int64_t D, int64_t K) {
    p->chunk = LLI_MAX(1, LLI_MIN(LLI_TALLY_CHUNK, ODDS_BYTES / (LLI_PREDICT_TILE * K * (int64_t)sizeof(float))));
    int64_t rows = L2_BYTES / lli_tally_bytes(D, K, p->chunk) / LLI_PREDICT_TILE * LLI_PREDICT_TILE;
    p->rows = LLI_MAX(LLI_PREDICT_TILE, LLI_MIN(rows, D <= SHORT_ROW ? MOST_SHORT_ROWS : MOST_ROWS));
}

ll_status ll_predictor_new(ll_predictor **out, ll_context *ctx, const ll_ensemble *ensemble) {
    *out = NULL;
    ll_predictor *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    lli_context_child(&p->ctx, ctx);
    p->ensemble = ensemble;
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &p->kernels));
    choose_block(p, ensemble->plan.D, ensemble->plan.K);
    LLI_DO(lli_tally_init(ctx, &p->tally, p->rows, ensemble->plan.D, ensemble->plan.K, p->chunk));
    *out = p;
    p = NULL;
done:
    ll_predictor_free(p);
    return status;
}

void ll_predictor_free(ll_predictor *p) {
    if (!p)
        return;
    lli_tally_release(&p->tally);
    lli_memory_free(p);
}

const char *ll_predictor_message(const ll_predictor *p) {
    return p->ctx.message;
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
            int64_t right = 0, end = LLI_MIN(tile + LLI_PREDICT_TILE, t->n), place = s + m + (apart ? (at + tile) / LLI_PREDICT_TILE * S : 0);
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

static void keep_rows(ll_prediction *out, ll_predictor *p, int64_t at) {
    const lli_tally *t = &p->tally;
    p->kernels->finish(&p->tally);
    for (int64_t i = 0; i < t->n; i++) {
        lli_verdict verdict = lli_tally_verdict(t, i);
        lli_verdict_write(out, at + i, &verdict);
        for (int64_t k = 0; out->probs && k < t->K; k++)
            out->probs[(at + i) * t->K + k] = (float)lli_tally_mean(t, i, k);
    }
}

/* All members on the rows of the tally; they are rows `at`.. of out, and `row` is the index of the first. */
static void run_block(ll_prediction *out, ll_predictor *p, int64_t at, int64_t row, bool apart) {
    const lli_ensemble_plan *plan = &p->ensemble->plan;
    bool running = out->truth && out->running_nll;
    for (int64_t s = 0; s < plan->S; s += p->chunk) {
        int64_t count = LLI_MIN(p->chunk, plan->S - s), stored = plan->drop16 ? 0 : s;
        const lli_mask mask = {lli_rng_stream(plan->seed, LLI_PURPOSE_PREDICT_MASK, 0, s), 0, plan->drop16};
        const lli_members members = {
            .W = p->ensemble->tensor[0] + stored * plan->K * plan->D,
            .b = p->ensemble->tensor[1] + stored * plan->K,
            .weight = plan->weight + s,
            .count = count,
            .mask = plan->drop16 ? &mask : NULL,
            .row = row,
            .truth = running ? out->truth + at : NULL,
        };
        p->kernels->predict(&p->tally, &members);
        if (out->member_pmax || out->member_label)
            keep_members(out, p, at, s, count);
        if (running)
            keep_running(out, p, at, s, count, apart);
    }
    keep_rows(out, p, at);
}

ll_status ll_predictor_run(ll_prediction *out, ll_predictor *p, const float *z, int64_t n, int64_t row) {
    int64_t D = p->ensemble->plan.D;
    for (int64_t i = 0; i < n * D; i++)
        if (!isfinite(z[i]))
            return lli_fail(&p->ctx, LL_ERR_DATA, "feature %" PRId64 " of row %" PRId64 " is not finite", i % D, row + i / D);
    lli_rows rows = {z, false, n, D};
    return lli_predictor_run_rows(out, p, &rows, 0, n, row, false);
}

ll_status lli_predictor_run_rows(ll_prediction *out, ll_predictor *p, const lli_rows *rows, int64_t first, int64_t n, int64_t row, bool apart) {
    uint32_t drop16 = p->ensemble->plan.drop16;
    float scale = drop16 ? 65536.0f / (float)(65536 - drop16) : 1;
    for (int64_t at = 0; at < n; at += p->rows) {
        LLI_TRY(lli_cancel_check(&p->ctx));
        lli_tally_clear(&p->tally, LLI_MIN(p->rows, n - at));
        p->kernels->panels(&p->tally, rows->features, rows->half, first + at, scale);
        run_block(out, p, at, row + at, apart);
    }
    return LL_OK;
}
