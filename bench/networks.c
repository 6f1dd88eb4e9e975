/* SPDX-License-Identifier: MIT */
/* A network on random images, timed on request: bench/networks.py writes commands and reads "wall cpu" in seconds for each.
 *
 *     networks NET HEIGHT WIDTH CHANNELS CLASSES BATCH THREADS
 *     train STEPS     steps of sgd on batches of BATCH rows
 *     encode ROWS     representations of so many rows, BATCH at a time */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/rng.h"
#include "model/network.h"
#include "train/optimiser.h"

enum { ROWS = 1024 }; /* distinct ones */

typedef struct bench {
    ll_context *ctx;
    lli_network *net;
    const lli_model *model;
    int64_t B, step;
    float *features, *theta, *work, *represent, *z;
    int64_t *list;
    int32_t *labels;
    lli_rows rows;
} bench;

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ll_status setup(bench *b, char **argv) {
    int64_t height = atoll(argv[2]), width = atoll(argv[3]), channels = atoll(argv[4]), K = atoll(argv[5]);
    int threads = atoi(argv[7]);
    b->B = atoll(argv[6]);
    LLI_TRY(lli_network_new(&b->net, b->ctx, argv[1], height, width, channels, K));
    const lli_model *m = b->model = lli_network_model(b->net);
    LLI_TRY(lli_memory_new(b->ctx, &b->features, ROWS * m->D, sizeof *b->features));
    LLI_TRY(lli_memory_new(b->ctx, &b->theta, m->floats, sizeof *b->theta));
    LLI_TRY(lli_memory_new(b->ctx, &b->work, m->ops->descend_floats(m, b->B, threads), sizeof *b->work));
    LLI_TRY(lli_memory_new(b->ctx, &b->represent, m->ops->represent_floats(m, b->B, threads), sizeof *b->represent));
    LLI_TRY(lli_memory_new(b->ctx, &b->z, b->B * m->features, sizeof *b->z));
    LLI_TRY(lli_memory_new(b->ctx, &b->list, b->B, sizeof *b->list));
    LLI_TRY(lli_memory_new(b->ctx, &b->labels, b->B, sizeof *b->labels));
    lli_stream stream = lli_rng_stream(1, LLI_PURPOSE_TEST, 0, 0);
    for (int64_t i = 0; i < ROWS * m->D; i++)
        b->features[i] = (float)lli_rng_block(stream, (uint64_t)i / 4).lane[i % 4] * 0x1p-31f - 1;
    b->rows = (lli_rows){.features = b->features, .N = ROWS, .D = m->D, .height = height, .width = width, .channels = channels};
    lli_network_start(b->net, b->theta, 1, 0);
    return LL_OK;
}

static ll_status train(bench *b, int64_t steps) {
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < b->B; i++) {
            b->list[i] = (b->step * b->B + i) % ROWS;
            b->labels[i] = (int32_t)(b->list[i] % b->model->K);
        }
        double nll;
        const lli_step step = {.rows = b->list, .labels = b->labels, .n = b->B, .lr = 1e-3, .seed = 1, .step = b->step++};
        LLI_TRY(lli_optimiser_step(&nll, b->ctx, &lli_optimiser_sgd, b->model, b->theta, NULL, b->work, &b->rows, &step));
    }
    return LL_OK;
}

static ll_status encode(bench *b, int64_t rows) {
    for (int64_t i = 0; i < rows; i += b->B) {
        int64_t n = LLI_MIN(b->B, rows - i), first = i % (ROWS - b->B);
        LLI_TRY(b->model->ops->represent(b->ctx, b->model, b->z, b->theta, b->represent, &b->rows, first, n, NULL));
    }
    return LL_OK;
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: networks NET HEIGHT WIDTH CHANNELS CLASSES BATCH THREADS\n");
        return 2;
    }
    bench b = {0};
    ll_context_options options = ll_context_options_default();
    options.threads = atoi(argv[7]);
    ll_status status = ll_context_new(&b.ctx, &options);
    if (status == LL_OK)
        status = setup(&b, argv);
    char what[16];
    long long count;
    while (status == LL_OK && scanf("%15s %lld", what, &count) == 2) {
        double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        status = strcmp(what, "train") == 0 ? train(&b, count) : encode(&b, count);
        printf("%.6f %.6f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        fflush(stdout);
    }
    if (status != LL_OK)
        fprintf(stderr, "networks: %s\n", ll_context_message(b.ctx));
    void *all[] = {b.features, b.theta, b.work, b.represent, b.z, b.list, b.labels};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        lli_memory_free(all[i]);
    lli_network_free(b.net);
    ll_context_free(b.ctx);
    return status == LL_OK ? 0 : 1;
}
