/* SPDX-License-Identifier: MIT */
/* All rows of a data set: blocks in parallel, results in order. Blocks are computed in waves of a few per worker, then handed on. */
#include <inttypes.h>
#include <string.h>

#include "base/meter.h"
#include "base/memory.h"
#include "base/pool.h"
#include "predict/extra.h"
#include "predict/predictor.h"

enum { BLOCKS_PER_WORKER = 4 };

typedef struct block {
    ll_prediction out;
    double *tile_nll, *tile_brier; /* [tiles,S] */
    int64_t *tile_correct;         /* [tiles,S] */
} block;

typedef struct stream {
    const ll_ensemble *ensemble;
    const ll_dataset *data;
    lli_rows source; /* its rows as the ensemble sees them */
    const lli_predict_request *request;
    lli_predict_totals *totals;
    int64_t rows, tiles; /* of a block */
    int workers;
    int64_t wave;        /* blocks in flight */
    int64_t first_block; /* of this wave */
    block *blocks;       /* [wave] */
    ll_predictor **predictors; /* [workers] */
    lli_meter meter;
} stream;

static ll_status block_init(ll_context *ctx, block *b, const stream *st) {
    int64_t n = st->rows, K = st->ensemble->plan.K, S = st->ensemble->plan.S;
    LLI_TRY(lli_memory_new(ctx, &b->out.label, n, sizeof(int32_t)));
    LLI_TRY(lli_memory_new(ctx, &b->out.vote, n, sizeof(int32_t)));
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        LLI_TRY(lli_memory_new(ctx, lli_extra_of(&b->out, x), n, sizeof(double)));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        LLI_TRY(lli_memory_new(ctx, &b->out.confidence[c], n, sizeof(double)));
    if (st->request->probs)
        LLI_TRY(lli_memory_new(ctx, &b->out.probs, n * K, sizeof(float)));
    if (st->request->running) {
        LLI_TRY(lli_memory_new(ctx, &b->tile_nll, st->tiles * S, sizeof(double)));
        LLI_TRY(lli_memory_new(ctx, &b->tile_brier, st->tiles * S, sizeof(double)));
        LLI_TRY(lli_memory_new(ctx, &b->tile_correct, st->tiles * S, sizeof(int64_t)));
    }
    return LL_OK;
}

static void block_release(block *b) {
    void *pointers[] = {b->out.label, b->out.vote, b->out.probs, b->tile_nll, b->tile_brier, b->tile_correct};
    for (size_t i = 0; i < LLI_COUNT(pointers); i++)
        lli_memory_free(pointers[i]);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        lli_memory_free(b->out.confidence[c]);
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        lli_memory_free(*lli_extra_of(&b->out, x));
}

static int64_t rows_of(const stream *st, int64_t index) {
    return LLI_MIN(st->rows, st->data->rows.N - index * st->rows);
}

static ll_status run_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    stream *st = arg;
    block *b = &st->blocks[task];
    int64_t S = st->ensemble->plan.S, index = st->first_block + task, first = index * st->rows, n = rows_of(st, index);
    ll_prediction out = b->out;
    if (st->request->running) {
        memset(b->tile_nll, 0, (size_t)(st->tiles * S) * sizeof(double));
        memset(b->tile_brier, 0, (size_t)(st->tiles * S) * sizeof(double));
        memset(b->tile_correct, 0, (size_t)(st->tiles * S) * sizeof(int64_t));
        out.running_nll = b->tile_nll;
        out.running_brier = b->tile_brier;
        out.running_correct = b->tile_correct;
    }
    if (st->data->labels)
        out.truth = st->data->labels + first;
    ll_status status = lli_predictor_run_rows(&out, st->predictors[worker], &st->source, first, n, first + st->request->row_offset, true);
    if (status != LL_OK) {
        const char *why = ll_predictor_message(st->predictors[worker]);
        return lli_fail(ctx, st->request->fitted && status == LL_ERR_DATA ? LL_ERR_DIVERGED : status, "%s", why);
    }
    lli_meter_add(ctx, st->request->meter ? st->request->meter : &st->meter, n);
    return LL_OK;
}

static void add_running(const stream *st, const block *b, int64_t n) {
    int64_t S = st->ensemble->plan.S;
    for (int64_t tile = 0; tile * LLI_PREDICT_TILE < n; tile++)
        for (int64_t s = 0; s < S; s++) {
            double *running = st->totals->running + 3 * s;
            running[0] += (double)b->tile_correct[tile * S + s];
            running[1] += b->tile_nll[tile * S + s];
            running[2] += b->tile_brier[tile * S + s];
        }
}

/* The chosen rows once more, one by one, now keeping each member's answer. */
static ll_status run_members(ll_context *ctx, void *arg, int64_t task, int worker) {
    stream *st = arg;
    int64_t S = st->ensemble->plan.S, row = st->request->rows[task];
    ll_prediction out = {.member_pmax = st->totals->member_pmax + task * S, .member_label = st->totals->member_label + task * S};
    ll_status status = lli_predictor_run_rows(&out, st->predictors[worker], &st->source, row, 1, row + st->request->row_offset, false);
    return status == LL_OK ? LL_OK : lli_fail(ctx, status, "%s", ll_predictor_message(st->predictors[worker]));
}

static ll_status init(ll_context *ctx, stream *st) {
    st->workers = lli_pool_workers(ctx);
    int64_t total = (st->data->rows.N - 1) / st->rows + 1;
    st->wave = LLI_MIN(total, (int64_t)st->workers * BLOCKS_PER_WORKER);
    LLI_TRY(lli_memory_new(ctx, &st->blocks, st->wave, sizeof *st->blocks));
    LLI_TRY(lli_memory_new(ctx, &st->predictors, st->workers, sizeof *st->predictors));
    for (int w = 0; w < st->workers; w++)
        LLI_TRY(ll_predictor_new(&st->predictors[w], ctx, st->ensemble));
    for (int64_t i = 0; i < st->wave; i++)
        LLI_TRY(block_init(ctx, &st->blocks[i], st));
    return LL_OK;
}

static void release(stream *st) {
    for (int64_t i = 0; st->blocks && i < st->wave; i++)
        block_release(&st->blocks[i]);
    for (int w = 0; st->predictors && w < st->workers; w++)
        ll_predictor_free(st->predictors[w]);
    lli_memory_free(st->blocks);
    lli_memory_free(st->predictors);
}

static ll_status run(ll_context *ctx, stream *st, lli_predict_emit *emit, void *arg) {
    int64_t total = (st->data->rows.N - 1) / st->rows + 1;
    for (st->first_block = 0; st->first_block < total; st->first_block += st->wave) {
        int64_t count = LLI_MIN(st->wave, total - st->first_block);
        LLI_TRY(lli_pool_run(ctx, run_block, st, count));
        for (int64_t i = 0; i < count; i++) {
            int64_t n = rows_of(st, st->first_block + i);
            if (st->request->running)
                add_running(st, &st->blocks[i], n);
            LLI_TRY(emit(ctx, arg, (st->first_block + i) * st->rows, n, &st->blocks[i].out));
        }
    }
    if (st->request->R)
        LLI_TRY(lli_pool_run(ctx, run_members, st, st->request->R));
    for (int64_t i = 0; st->request->running && i < 3 * st->ensemble->plan.S; i++)
        st->totals->running[i] /= (double)st->data->rows.N;
    return LL_OK;
}

/* A network on images takes them as images of its own size, or as plain rows of the right length. */
ll_status lli_predict_check_rows(ll_context *ctx, const ll_ensemble *ensemble, const lli_rows *rows) {
    const lli_ensemble_plan *plan = &ensemble->plan;
    const lli_input_shape *in = &plan->input;
    if (rows->bytes && !plan->net)
        return lli_fail(ctx, LL_ERR_DATA,
                        "these are images, and the ensemble is one of last layers: encode them first, with lastlayer encode");
    if (plan->net && rows->height && (rows->height != in->height || rows->width != in->width || rows->channels != in->channels))
        return lli_fail(ctx, LL_ERR_DATA,
                        "the images are %" PRId64 "x%" PRId64 "x%" PRId64 " (height, width, channels) and the networks of the ensemble "
                        "expect %" PRId64 "x%" PRId64
                        "x%" PRId64,
                        rows->height, rows->width, rows->channels, in->height, in->width, in->channels);
    if (rows->D != plan->D)
        return lli_fail(ctx, LL_ERR_DATA, "the features have %" PRId64 " columns but the ensemble was fitted on %" PRId64 "%s", rows->D,
                        plan->D, rows->D == plan->D + 1 ? "; if one of them holds the labels, say so: --labels FILE:NAME" : "");
    return LL_OK;
}

ll_status lli_predict_stream(ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data, const lli_predict_request *request,
                             lli_predict_totals *totals, lli_predict_emit *emit, void *arg) {
    LLI_TRY(lli_predict_check_rows(ctx, ensemble, &data->rows));
    stream st = {.ensemble = ensemble, .data = data, .source = data->rows, .request = request, .totals = totals};
    if (ensemble->network)
        lli_input_apply(&st.source, &ensemble->plan.input, ensemble->plan.scaling);
    int64_t rows = request->block ? request->block : lli_predict_block(ensemble);
    st.tiles = (rows - 1) / LLI_PREDICT_TILE + 1;
    st.rows = st.tiles * LLI_PREDICT_TILE;
    lli_meter_init(&st.meter, "predicting", data->rows.N);
    ll_status status = init(ctx, &st);
    if (status == LL_OK)
        status = run(ctx, &st, emit, arg);
    release(&st);
    return status;
}
