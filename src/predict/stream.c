/* SPDX-License-Identifier: MIT */
/* All rows of a data set: blocks in parallel, results in order. Blocks are computed in waves of a few per worker, then handed on. */
#include <inttypes.h>
#include <string.h>

#include "base/meter.h"
#include "base/memory.h"
#include "base/pool.h"
#include "predict/draws.h"
#include "predict/predictor.h"

enum { BLOCKS_PER_WORKER = 4 };

typedef struct block {
    ll_prediction out;             /* points into the fields */
    void *fields[LLI_FIELDS_MAX];  /* those by row */
    float *probs;                  /* for a rule that needs them, where they are no field */
    double *workspace;             /* [2,K] */
    double *tile_nll, *tile_brier; /* [tiles,S] */
    int64_t *tile_correct;         /* [tiles,S] */
} block;

typedef struct stream {
    const ll_ensemble *ensemble;
    const ll_dataset *data;
    lli_rows source; /* its rows as the ensemble sees them */
    const lli_predict_request *request;
    unsigned when; /* LLI_WHEN_... */
    lli_predict_totals *totals;
    int64_t rows, tiles; /* of a block */
    int64_t begin, N;    /* the first row of the part, and how many it has */
    int workers;
    int64_t wave;               /* blocks in flight */
    int64_t first_block;        /* of this wave */
    block *blocks;              /* [wave] */
    ll_predictor **predictors;  /* [workers] */
    lli_draws_factors *factors; /* that they share; NULL: there are none */
    lli_meter meter;
} stream;

int64_t lli_predict_range(int64_t *begin, const lli_predict_request *r, int64_t N) {
    int64_t tiles = (N + LLI_PREDICT_TILE - 1) / LLI_PREDICT_TILE;
    *begin = LLI_MIN(N, lli_share_begin(&r->part, tiles) * LLI_PREDICT_TILE);
    return LLI_MIN(N, lli_share_end(&r->part, tiles) * LLI_PREDICT_TILE) - *begin;
}

unsigned lli_predict_when(const lli_predict_request *r, const ll_ensemble *ensemble, const ll_dataset *data) {
    return (r->probs ? LLI_WHEN_PROBS : 0) | (ensemble->plan.S > 1 ? LLI_WHEN_MEMBERS : 0) | (data->labels ? LLI_WHEN_TRUTH : 0) |
           (r->rule.cuts ? LLI_WHEN_THRESHOLD : 0) | (r->running ? LLI_WHEN_RUNNING : 0) | (r->rows ? LLI_WHEN_CHOSEN : 0) |
           LLI_WHEN_SCORE * ensemble->plan.scores.which;
}

static ll_status block_init(ll_context *ctx, block *b, const stream *st) {
    int64_t n = st->rows, K = st->ensemble->plan.K, S = st->ensemble->plan.S;
    const lli_schema_sizes sizes = {n, K, S, 0};
    for (int f = 0; f < lli_schema_count(); f++) {
        const lli_field *field = lli_schema_get(f);
        int64_t shape[LLI_FIELD_AXES] = {0, 1};
        if (!lli_schema_by_row(field) || (field->when & ~st->when))
            continue;
        lli_schema_shape(shape, field, &sizes);
        LLI_TRY(lli_memory_new(ctx, &b->fields[f], shape[0] * shape[1], ll_dtype_size(field->info.dtype)));
        if (field->in_prediction)
            memcpy((char *)&b->out + field->in_prediction, &b->fields[f], sizeof(void *));
    }
    if (st->request->rule.costs && !b->out.probs) {
        LLI_TRY(lli_memory_new(ctx, &b->probs, n * K, sizeof *b->probs));
        b->out.probs = b->probs;
    }
    LLI_TRY(lli_memory_new(ctx, &b->workspace, 2 * K, sizeof *b->workspace));
    if (st->request->running) {
        LLI_TRY(lli_memory_new(ctx, &b->tile_nll, st->tiles * S, sizeof(double)));
        LLI_TRY(lli_memory_new(ctx, &b->tile_brier, st->tiles * S, sizeof(double)));
        LLI_TRY(lli_memory_new(ctx, &b->tile_correct, st->tiles * S, sizeof(int64_t)));
    }
    return LL_OK;
}

static void block_release(block *b) {
    void *pointers[] = {b->probs, b->workspace, b->tile_nll, b->tile_brier, b->tile_correct};
    for (size_t i = 0; i < LLI_COUNT(pointers); i++)
        lli_memory_free(pointers[i]);
    for (int f = 0; f < lli_schema_count(); f++)
        lli_memory_free(b->fields[f]);
}

static int64_t rows_of(const stream *st, int64_t index) {
    return LLI_MIN(st->rows, st->N - index * st->rows);
}

static ll_status run_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    stream *st = arg;
    block *b = &st->blocks[task];
    int64_t S = st->ensemble->plan.S, index = st->first_block + task, first = st->begin + index * st->rows, n = rows_of(st, index);
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
    for (int f = 0; f < lli_schema_count(); f++)
        if (b->fields[f] && lli_schema_get(f)->fill)
            lli_schema_get(f)->fill(b->fields[f], &out, &st->request->rule, n, st->ensemble->plan.K, b->workspace);
    lli_meter_add(ctx, st->request->meter ? st->request->meter : &st->meter, n);
    return LL_OK;
}

static void add_running(const stream *st, const block *b, int64_t first, int64_t n) {
    int64_t S = st->ensemble->plan.S, place = st->request->part.count ? first / LLI_PREDICT_TILE : 0;
    int64_t stride = st->request->part.count ? 3 * S : 0;
    for (int64_t tile = 0; tile * LLI_PREDICT_TILE < n; tile++)
        for (int64_t s = 0; s < S; s++) {
            double *running = st->totals->running + (place + tile) * stride + 3 * s;
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
    int64_t total = (st->N + st->rows - 1) / st->rows;
    st->wave = LLI_MIN(total, (int64_t)st->workers * BLOCKS_PER_WORKER);
    LLI_TRY(lli_memory_new(ctx, &st->blocks, st->wave, sizeof *st->blocks));
    LLI_TRY(lli_memory_new(ctx, &st->predictors, st->workers, sizeof *st->predictors));
    if (st->ensemble->plan.gaussian.structure)
        LLI_TRY(lli_draws_factors_new(&st->factors, ctx, st->ensemble));
    for (int w = 0; w < st->workers; w++)
        LLI_TRY(lli_predictor_new(&st->predictors[w], ctx, st->ensemble, st->factors));
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
    lli_draws_factors_free(st->factors);
}

static ll_status run(ll_context *ctx, stream *st, lli_predict_emit *emit, void *arg) {
    int64_t total = (st->N + st->rows - 1) / st->rows;
    for (st->first_block = 0; st->first_block < total; st->first_block += st->wave) {
        int64_t count = LLI_MIN(st->wave, total - st->first_block);
        LLI_TRY(lli_pool_run(ctx, run_block, st, count));
        for (int64_t i = 0; i < count; i++) {
            int64_t n = rows_of(st, st->first_block + i);
            if (st->request->running)
                add_running(st, &st->blocks[i], (st->first_block + i) * st->rows, n);
            LLI_TRY(emit(ctx, arg, (st->first_block + i) * st->rows, n, st->blocks[i].fields));
        }
    }
    if (st->request->R)
        LLI_TRY(lli_pool_run(ctx, run_members, st, st->request->R));
    for (int64_t i = 0; st->request->running && !st->request->part.count && i < 3 * st->ensemble->plan.S; i++)
        st->totals->running[i] /= (double)st->data->rows.N;
    return LL_OK;
}

/* A network on images takes them as images of its own size, or as plain rows of the right length. */
#define FITTED_ON "the features have %" PRId64 " columns but the ensemble was fitted on %" PRId64

ll_status lli_predict_check_rows(ll_context *ctx, const ll_ensemble *ensemble, const lli_rows *rows) {
    const lli_ensemble_plan *plan = &ensemble->plan;
    const lli_input_shape *in = &plan->input;
    if (rows->bytes && !plan->net)
        return lli_fail(ctx, LL_ERR_DATA,
                        "these are images, and the ensemble is one of last layers: encode them first, with lastlayer encode");
    if (plan->net && rows->height && (rows->height != in->height || rows->width != in->width || rows->channels != in->channels))
        return lli_fail(ctx, LL_ERR_DATA,
                        "the images are %" PRId64 "x%" PRId64 "x%" PRId64 " (height, width, channels) and the networks of the ensemble "
                        "expect %" PRId64 "x%" PRId64 "x%" PRId64,
                        rows->height, rows->width, rows->channels, in->height, in->width, in->channels);
    if (rows->D != plan->D)
        return lli_fail(ctx, LL_ERR_DATA,
                        rows->D == plan->D + 1 ? FITTED_ON "; if one of them holds the labels, say so: `labels FILE:NAME`" : FITTED_ON,
                        rows->D, plan->D);
    return LL_OK;
}

ll_status lli_predict_stream(ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data, const lli_predict_request *request,
                             lli_predict_totals *totals, lli_predict_emit *emit, void *arg) {
    LLI_TRY(lli_predict_check_rows(ctx, ensemble, &data->rows));
    stream st = {.ensemble = ensemble, .data = data, .source = data->rows, .request = request, .totals = totals};
    if (ensemble->network)
        lli_ensemble_apply_input(&st.source, &ensemble->plan.input, ensemble->plan.scaling);
    int64_t rows = request->block ? request->block : lli_predict_block(ensemble);
    st.tiles = (rows - 1) / LLI_PREDICT_TILE + 1;
    st.rows = st.tiles * LLI_PREDICT_TILE;
    st.when = lli_predict_when(request, ensemble, data);
    st.N = lli_predict_range(&st.begin, request, data->rows.N);
    lli_meter_init(&st.meter, "predicting", LLI_MAX(1, st.N));
    ll_status status = init(ctx, &st);
    if (status == LL_OK)
        status = run(ctx, &st, emit, arg);
    release(&st);
    return status;
}
