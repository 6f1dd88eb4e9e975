/* SPDX-License-Identifier: MIT */
/* Times one step of a head with many classes: theta in rows and in panels, with noise, with dropout, and shared by threads.
 * Usage: build/bench/large [D K n [THREADS]]. One thread is measured in CPU time, several in wall time; the fastest step counts. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/pool.h"
#include "data/padded.h"
#include "kernels/large.h"
#include "model/head.h"
#include "model/large_head.h"
#include "peak.h"

enum { STEPS = 8 };

typedef struct data {
    lli_rows rows;
    int64_t *list;
    int32_t *labels;
    int64_t n, K;
} data;

static void stop(const ll_context *ctx) {
    fprintf(stderr, "%s\n", ll_context_message(ctx));
    exit(1);
}

static void *block(ll_context *ctx, int64_t count, size_t size) {
    void *p;
    if (lli_memory_new(ctx, &p, count, size) != LL_OK)
        stop(ctx);
    return p;
}

/* Seconds of the fastest of a few steps on shuffled rows. */
static double timed(ll_context *ctx, const lli_model *model, const data *d, double noise, uint32_t drop16) {
    float *theta = block(ctx, model->floats, sizeof *theta);
    float *work = block(ctx, model->ops->step_floats(model, d->n, lli_pool_workers(ctx)), sizeof *work);
    clockid_t clock = lli_pool_workers(ctx) > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    double best = INFINITY, nll;
    for (int64_t s = 0; s < STEPS; s++) {
        lli_stream stream = lli_rng_stream(1, LLI_PURPOSE_TEST, 0, s);
        for (int64_t i = 0; i < d->n; i++)
            d->list[i] = (int64_t)lli_rng_below(stream, (uint64_t)i, (uint64_t)d->rows.N);
        const lli_step step = {.rows = d->list, .labels = d->labels, .n = d->n, .lr = 1e-3, .noise = noise, .drop16 = drop16, .step = s};
        double start = seconds(clock);
        if (model->ops->step(&nll, ctx, model, theta, work, &d->rows, &step) != LL_OK)
            stop(ctx);
        best = fmin(best, seconds(clock) - start);
    }
    lli_memory_free(theta);
    lli_memory_free(work);
    return best;
}

static void line(const char *name, double took, const data *d, double top) {
    double gflops = 4e-9 * (double)d->n * (double)(d->rows.D + 1) * (double)d->K / took;
    printf("%-28s %8.2f ms  %6.1f GF/s  %3.0f %% of the peak\n", name, 1e3 * took, gflops, 100 * gflops / top);
}

static void measure(ll_context *ctx, const data *d, double top) {
    lli_model rows, panels;
    data with = *d;
    float *padded;
    if (lli_head_rows(ctx, &rows, d->K, d->rows.D) != LL_OK)
        stop(ctx);
    panels = rows;
    panels.ops = &lli_large_head_ops;
    panels.floats = lli_large_floats(d->K, d->rows.D);
    if (lli_padded_new(ctx, &padded, &d->rows) != LL_OK)
        stop(ctx);
    with.rows.padded = padded;
    if (lli_pool_workers(ctx) == 1)
        line("rows", timed(ctx, &rows, &with, 0, 0), d, top);
    lli_memory_free(padded);
    line("panels", timed(ctx, &panels, d, 0, 0), d, top);
    line("panels, noise", timed(ctx, &panels, d, 1e-4, 0), d, top);
    line("panels, dropout .5", timed(ctx, &panels, d, 0, 32768), d, top);
    line("panels, dropout .1", timed(ctx, &panels, d, 0, 6554), d, top);
}

int main(int argc, char **argv) {
    int64_t D = argc > 3 ? atoll(argv[1]) : 4032, K = argc > 3 ? atoll(argv[2]) : 1000, n = argc > 3 ? atoll(argv[3]) : 512;
    int threads = argc > 4 ? atoi(argv[4]) : 1;
    if (D < 1 || K < 2 || n < 1 || !lli_kernels_get() || !lli_kernels_get()->large) {
        fprintf(stderr, "usage: large [D K n [THREADS]], with LASTLAYER_ISA other than ref\n");
        return 1;
    }
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    ll_context *ctx;
    if (ll_context_new(&ctx, &options) != LL_OK)
        stop(ctx);
    data d = {.rows = {.N = 3 * n, .D = D}, .n = n, .K = K};
    float *features = block(ctx, d.rows.N * D, sizeof *features);
    lli_kernels_get()->normals(features, lli_rng_stream(2, LLI_PURPOSE_TEST, 0, 0), 0, d.rows.N * D);
    d.rows.features = features;
    d.list = block(ctx, n, sizeof *d.list);
    d.labels = block(ctx, n, sizeof *d.labels);
    for (int64_t i = 0; i < n; i++)
        d.labels[i] = (int32_t)(i % K);
    double top = peak() * threads;
    printf("%s, D %d, K %d, n %d, %d threads, peak %.1f GF/s\n", lli_kernels_get()->name, (int)D, (int)K, (int)n, threads, top);
    measure(ctx, &d, top);
    lli_memory_free(features);
    lli_memory_free(d.list);
    lli_memory_free(d.labels);
    ll_context_free(ctx);
    return 0;
}
