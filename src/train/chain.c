/* SPDX-License-Identifier: MIT */
/* Batches, schedule, divergence. The arithmetic of a step is the model's and the rule's. */
#include "train/chain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/team.h"
#include "data/blocks.h"
#include "data/order.h"

/* Progress is reported and cancellation checked after this many multiply-adds, and at least this many times in a run. */
enum { REPORT_WORK = 4 << 20, REPORTS = 256 };

int64_t lli_chain_epoch_steps(int64_t N, int64_t batch_size) {
    return (N - 1) / batch_size + 1;
}

double lli_chain_lr(const lli_chain_options *o, int64_t step) {
    double lr = o->lr * lli_schedule_factor(&o->schedule, step);
    return o->lr_t0 > 0 ? lr * pow(1 + (double)step / o->lr_t0, -o->lr_power) : lr;
}

ll_status lli_chain_new(lli_chain **out, ll_context *ctx, const lli_model *model, const ll_dataset *data, const lli_rule *rule,
                        int64_t batch_size, int64_t block_rows, bool resampled) {
    *out = NULL;
    lli_chain *chain;
    LLI_TRY(lli_memory_new(ctx, &chain, 1, sizeof *chain));
    ll_status status;
    int64_t N = data->rows.N, B = LLI_MIN(batch_size, N);
    chain->model = model;
    chain->data = data;
    chain->rows = data->rows;
    chain->slots = rule->slots;
    LLI_DO(lli_memory_new(ctx, &chain->theta, lli_chain_floats(chain), sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &chain->work, lli_optimiser_work_floats(rule, model, B, lli_pool_workers(ctx)), sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &chain->order, lli_chain_epoch_steps(N, B) * B, sizeof(int64_t)));
    if (resampled)
        LLI_DO(lli_memory_new(ctx, &chain->list, N, sizeof(int64_t)));
    if (block_rows)
        LLI_DO(lli_memory_new(ctx, &chain->blocks, lli_blocks_count(N, block_rows), sizeof(int64_t)));
    LLI_DO(lli_memory_new(ctx, &chain->labels, B, sizeof(int32_t)));
    if (data->weights)
        LLI_DO(lli_memory_new(ctx, &chain->weights, B, sizeof(float)));
    if (data->rows.store) {
        LLI_DO(lli_memory_new(ctx, &chain->fetched, lli_rows_scratch(&data->rows, B), 1));
        LLI_DO(lli_memory_new(ctx, &chain->places, B, sizeof(int64_t)));
        for (int64_t i = 0; i < B; i++)
            chain->places[i] = i;
    }
    *out = chain;
    chain = NULL;
done:
    lli_chain_free(chain);
    return status;
}

ll_status lli_chain_surround(ll_context *ctx, lli_chain *chain, const lli_around *around, int64_t batch_size) {
    return lli_around_scratch_init(ctx, &chain->scratch, around, LLI_MIN(batch_size, chain->data->rows.N));
}

int64_t lli_chain_floats(const lli_chain *chain) {
    return (1 + chain->slots) * chain->model->floats;
}

void lli_chain_free(lli_chain *chain) {
    if (!chain)
        return;
    lli_memory_free(chain->theta);
    lli_memory_free(chain->work);
    lli_memory_free(chain->order);
    lli_memory_free(chain->list);
    lli_memory_free(chain->blocks);
    lli_memory_free(chain->labels);
    lli_memory_free(chain->weights);
    lli_memory_free(chain->fetched);
    lli_memory_free(chain->places);
    lli_around_scratch_release(&chain->scratch);
    lli_memory_free(chain);
}

void lli_chain_start(lli_chain *chain, const lli_chain_options *options, const float *theta) {
    chain->options = *options;
    chain->state = (lli_chain_state){0, NAN, 0};
    chain->epoch = -1;
    chain->last_nll = NAN;
    memset(chain->theta, 0, (size_t)lli_chain_floats(chain) * sizeof *theta);
    memcpy(chain->theta, theta, (size_t)chain->model->floats * sizeof *theta);
    if (options->resampled)
        lli_order_resample(chain->list, chain->model->kernels, chain->data->rows.N, options->seed, options->member);
    if (options->resampled && options->block_rows)
        lli_blocks_sort(chain->list, chain->order, chain->data->rows.N);
}

static ll_status diverged(ll_context *ctx, const lli_chain *chain, int64_t step, const char *what) {
    return lli_fail(ctx, LL_ERR_DIVERGED,
                    "training diverged at step %" PRId64 " (epoch %" PRId64 ", lr %g): %s; try a smaller `lr`, such as %.2g", step,
                    step / lli_chain_epoch_steps(chain->data->rows.N, chain->options.batch_size) + 1, chain->options.lr, what,
                    chain->options.lr / 10);
}

/* Rows that the batches of an epoch have in all. */
static int64_t epoch_rows(const lli_chain *chain) {
    int64_t N = chain->data->rows.N, B = LLI_MIN(chain->options.batch_size, N);
    return chain->options.independent ? lli_chain_epoch_steps(N, B) * B : N;
}

/* Their weights in all. */
static double epoch_weight(const lli_chain *chain) {
    int64_t rows = epoch_rows(chain);
    if (!chain->weights)
        return (double)rows;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += (double)chain->data->weights[chain->order[i]];
    return sum;
}

/* Is theta finite, on all ranks? */
static ll_status check_finite(ll_context *ctx, const lli_chain *chain) {
    lli_team *team = chain->model->team;
    int64_t wrong = 0;
    for (int64_t i = 0; i < chain->model->floats; i++)
        wrong += !isfinite(chain->theta[i]);
    if (team)
        LLI_TRY(team->table->sum(team, ctx, &wrong, 1));
    return wrong ? diverged(ctx, chain, chain->state.step - 1, "a parameter is not finite") : LL_OK;
}

/* At the end of an epoch: the mean NLL may not exceed 2 ln K + that of the first epoch, and theta must be finite. */
static ll_status end_epoch(ll_context *ctx, lli_chain *chain) {
    lli_chain_state *s = &chain->state;
    double nll = s->epoch_nll / epoch_weight(chain), limit = 2 * log((double)chain->model->K);
    s->epoch_nll = 0;
    chain->last_nll = nll;
    if (isnan(s->first_nll))
        s->first_nll = nll;
    if (nll > limit + s->first_nll)
        return diverged(ctx, chain, s->step - 1, "the mean training NLL of this epoch is above 2 ln K + that of the start");
    return check_finite(ctx, chain);
}

static void draw_epoch(lli_chain *chain, const int64_t *list, int64_t epoch) {
    const lli_chain_options *o = &chain->options;
    int64_t N = chain->data->rows.N, B = LLI_MIN(o->batch_size, N), steps = lli_chain_epoch_steps(N, B);
    for (int64_t place = 0; place < steps; place++)
        lli_order_batch(chain->order + place * B, chain->model->kernels, list, N, B, o->seed, o->member, epoch * steps + place);
}

static void start_epoch(lli_chain *chain, int64_t epoch) {
    const lli_chain_options *o = &chain->options;
    const int64_t *list = o->resampled ? chain->list : NULL, N = chain->data->rows.N;
    if (o->independent)
        draw_epoch(chain, list, epoch);
    else if (o->block_rows)
        lli_blocks_shuffle(chain->order, chain->blocks, chain->model->kernels, list, N, o->block_rows, o->seed, o->member, epoch);
    else
        lli_order_shuffle(chain->order, chain->model->kernels, list, N, o->seed, o->member, epoch);
    chain->epoch = epoch;
}

/* Asks for block b of this epoch's order. */
static void ask_for_block(ll_context *ctx, const lli_chain *chain, int64_t b) {
    const lli_rows *rows = &chain->data->rows;
    int64_t R = chain->options.block_rows, first = chain->blocks[b] * R, last = LLI_MIN(first + R, rows->N) - 1;
    if (chain->options.resampled) {
        first = chain->list[first];
        last = chain->list[last];
    }
    lli_rows_ahead(ctx, rows, first, last - first + 1);
}

/* When a batch enters a block, the next block is prefetched; at the start of an epoch, its first block is. */
static void read_ahead(ll_context *ctx, const lli_chain *chain, int64_t place) {
    int64_t R = chain->options.block_rows, B = chain->options.batch_size;
    if (!R || !(chain->data->rows.ahead || chain->data->rows.store))
        return;
    int64_t block = place * B / R, count = lli_blocks_count(chain->data->rows.N, R);
    if (place == 0)
        ask_for_block(ctx, chain, 0);
    if ((place == 0 || (place - 1) * B / R != block) && block + 1 < count)
        ask_for_block(ctx, chain, block + 1);
}

static ll_status take_step(double *nll, ll_context *ctx, lli_chain *chain, int64_t first, int64_t n) {
    const lli_chain_options *o = &chain->options;
    const int64_t *batch = chain->order + first;
    lli_rows rows = chain->rows;
    bool fetch = rows.store != NULL;
    double N = (double)rows.N;
    int64_t next_n = epoch_rows(chain) - first - n;
    for (int64_t i = 0; i < n; i++)
        chain->labels[i] = chain->data->labels[batch[i]];
    for (int64_t i = 0; chain->weights && i < n; i++)
        chain->weights[i] = chain->data->weights[batch[i]];
    if (fetch)
        LLI_TRY(lli_rows_batch(&rows, ctx, &chain->rows, chain->fetched, batch, n));
    double lr = lli_chain_lr(o, chain->state.step);
    const lli_step step = {
        .rows = fetch ? chain->places : batch,
        .labels = chain->labels,
        .weights = chain->weights,
        .n = n,
        .next = next_n > 0 && !fetch ? batch + n : NULL,
        .next_n = next_n,
        .lr = lr,
        .decay = o->prior_precision / N,
        .noise = o->optimiser->noise ? sqrt(2 * lr / N) : 0,
        .drop16 = o->drop16,
        .drop_own = o->drop_own,
        .seed = o->seed,
        .member = o->member,
        .step = chain->state.step,
        .epoch = chain->epoch,
    };
    float *theta = chain->theta, *slots = theta + chain->model->floats;
    if (chain->scratch.around)
        return lli_around_step(nll, ctx, &chain->scratch, o->optimiser, theta, slots, &rows, &step);
    return lli_optimiser_step(nll, ctx, o->optimiser, chain->model, theta, slots, chain->work, &rows, &step);
}

/* One step, and the end of an epoch where it is the last. */
static ll_status advance(ll_context *ctx, lli_chain *chain, int64_t steps) {
    int64_t B = chain->options.batch_size;
    lli_chain_state *s = &chain->state;
    int64_t epoch = s->step / steps, place = s->step % steps;
    if (chain->epoch != epoch)
        start_epoch(chain, epoch);
    read_ahead(ctx, chain, place);
    double nll;
    LLI_TRY(take_step(&nll, ctx, chain, place * B, LLI_MIN(B, epoch_rows(chain) - place * B)));
    if (!isfinite(nll))
        return diverged(ctx, chain, s->step, "the loss is not finite");
    s->epoch_nll += nll;
    s->step++;
    return place == steps - 1 ? end_epoch(ctx, chain) : LL_OK;
}

ll_status lli_chain_run(ll_context *ctx, lli_chain *chain, int64_t until) {
    int64_t B = chain->options.batch_size, steps = lli_chain_epoch_steps(chain->rows.N, B),
            report = 1 + REPORT_WORK / (B * chain->model->floats);
    if (chain->meter)
        report = LLI_MIN(report, 1 + chain->meter->total / REPORTS);
    while (chain->state.step < until) {
        if (!chain->model->team) /* else all ranks stop at the same step */
            LLI_TRY(lli_cancel_check(ctx));
        int64_t first = chain->state.step, end = LLI_MIN(until, first + report);
        while (chain->state.step < end)
            LLI_TRY(advance(ctx, chain, steps));
        if (chain->meter)
            lli_meter_add(ctx, chain->meter, end - first);
    }
    return LL_OK;
}
