/* SPDX-License-Identifier: MIT */
/* Weights are drawn in two steps: how many of the n draws fall into each run of 256 places, by binomials, and then one byte of randomness
 * for each draw says which place of its run it is. That is exact, and takes a sixteenth of a Philox block per point. */
#include "metrics/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/rng.h"
#include "metrics/digits.h"

enum { RUN = 256 };

/* Kinds of draws, the `member` of a stream: those of lli_resample_kind, twice; lli_digits_use has the others. */
enum { RUN_SIZES = 2 };

/* Bytes of a stream, in order. */
typedef struct bytes {
    lli_stream stream;
    uint64_t block;
    int at;
    uint8_t data[RUN];
} bytes;

static void bytes_fill(bytes *b) {
    for (int i = 0; i < RUN / 16; i++) {
        lli_philox p = lli_rng_block(b->stream, b->block + (uint64_t)i);
        memcpy(b->data + 16 * i, p.lane, 16);
    }
    b->block += RUN / 16;
    b->at = 0;
}

static bytes bytes_of(uint64_t seed, int64_t member, int64_t draw) {
    return (bytes){.stream = lli_rng_stream(seed, LLI_PURPOSE_INTERVAL, member, draw), .at = RUN};
}

/* `count` draws among the `size` places of one run. */
static void fill_run(uint8_t *weight, int64_t size, int64_t count, bytes *b) {
    while (count > 0) {
        if (b->at == RUN)
            bytes_fill(b);
        int64_t take = size == RUN ? LLI_MIN(count, (int64_t)(RUN - b->at)) : 1;
        if (size == RUN)
            for (int64_t i = 0; i < take; i++)
                weight[b->data[b->at + i]]++;
        else if (b->data[b->at] < RUN / size * size) /* equal shares of the byte; the rest is drawn again */
            weight[b->data[b->at] % size]++;
        else
            count++;
        b->at += (int)take;
        count -= take;
    }
}

void lli_resample_weights(uint8_t *weight, int64_t n, uint64_t seed, int64_t draw, lli_resample_kind kind) {
    lli_stream sizes = lli_rng_stream(seed, LLI_PURPOSE_INTERVAL, RUN_SIZES + (int64_t)kind, draw);
    bytes b = bytes_of(seed, (int64_t)kind, draw);
    int64_t left = n;
    memset(weight, 0, (size_t)n);
    for (int64_t first = 0; first < n; first += RUN) {
        int64_t places = n - first, size = LLI_MIN(places, (int64_t)RUN), count = left;
        if (size < places) {
            double u = (double)(lli_rng_draw(sizes, (uint64_t)(first / RUN)) >> 11) * 0x1p-53;
            count = lli_digits_binomial_at(u, left, (double)size / (double)places);
        }
        fill_run(weight + first, size, count, &b);
        left -= count;
    }
}

typedef struct job {
    const lli_resample *plan;
    double *values;
    uint8_t *space; /* [workers, n + n_out] */
} job;

static ll_status run_draw(ll_context *ctx, void *arg, int64_t draw, int worker) {
    const job *j = arg;
    const lli_resample *plan = j->plan;
    uint8_t *weight = j->space + (plan->n + plan->n_out) * worker, *out_weight = weight + plan->n;
    LLI_TRY(lli_cancel_check(ctx));
    lli_resample_weights(weight, plan->n, plan->seed, draw, LLI_RESAMPLE_POINTS);
    if (plan->n_out)
        lli_resample_weights(out_weight, plan->n_out, plan->seed, draw, LLI_RESAMPLE_OUT);
    for (int64_t s = 0; s < plan->count; s++)
        j->values[s * LLI_RESAMPLE_DRAWS + draw] = plan->statistic[s](plan->arg[s], weight, out_weight);
    return LL_OK;
}

ll_status lli_resample_run(double *values, ll_context *ctx, const lli_resample *plan) {
    job j = {.plan = plan, .values = values};
    LLI_TRY(lli_memory_new(ctx, &j.space, (plan->n + plan->n_out) * lli_pool_workers(ctx), 1));
    ll_status status = lli_pool_run(ctx, run_draw, &j, LLI_RESAMPLE_DRAWS);
    lli_memory_free(j.space);
    return status;
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, double share) {
    double place = share * (LLI_RESAMPLE_DRAWS - 1), whole = floor(place);
    int64_t i = LLI_MIN((int64_t)whole, (int64_t)LLI_RESAMPLE_DRAWS - 2);
    return sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]);
}

ll_interval lli_resample_middle(double *values, double level) {
    qsort(values, LLI_RESAMPLE_DRAWS, sizeof *values, rising);
    return (ll_interval){quantile(values, (1 - level) / 2), quantile(values, (1 + level) / 2)};
}
