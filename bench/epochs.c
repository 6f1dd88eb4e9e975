/* SPDX-License-Identifier: MIT */
/* Times whole epochs through the training loop, shuffle and all, on the shapes of real heads: CPU time of one thread, the fastest epoch of
 * a few, in milliseconds. Usage: build/bench/epochs [SHAPE]. LASTLAYER_ISA chooses the level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/half.h"
#include "base/memory.h"
#include "data/order.h"
#include "data/padded.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "train/chain.h"

typedef struct shape {
    const char *name;
    int64_t N, D, K, B;
} shape;

typedef struct method {
    const char *name;
    bool half, noise, resampled;
    double p;
} method;

static const shape shapes[] = {{"mnist", 60000, 20, 10, 32}, {"cifar10", 50000, 512, 10, 128}, {"cifar100", 50000, 512, 100, 128}};
static const method methods[] = {{"sgd", false, false, false, 0},         {"f16", true, false, false, 0},
                                 {"bootstrap", false, false, true, 0},    {"sgld", false, true, false, 0},
                                 {"dropout .5", false, false, false, .5}, {"dropout .1", false, false, false, .1},
                                 {"dropout .3", false, false, false, .3}};

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(ll_context *ctx, ll_status status) {
    if (status != LL_OK) {
        fprintf(stderr, "%s\n", ll_context_message(ctx));
        exit(1);
    }
}

/* Normals around a centre per class, in f32 or f16. */
static ll_dataset *dataset(ll_context *ctx, const shape *s, bool half, void **features, int32_t **labels) {
    const lli_kernels *kernels = lli_kernels_get();
    float *z, *centre;
    int64_t K = s->K, D = s->D;
    must(ctx, lli_memory_new(ctx, &z, s->N * D, sizeof *z));
    must(ctx, lli_memory_new(ctx, &centre, K * D, sizeof *centre));
    must(ctx, lli_memory_new(ctx, labels, s->N, sizeof **labels));
    kernels->normals(z, lli_rng_stream(1, LLI_PURPOSE_TEST, 0, 0), 0, s->N * D);
    kernels->normals(centre, lli_rng_stream(1, LLI_PURPOSE_TEST, 1, 0), 0, K * D);
    for (int64_t i = 0; i < s->N; i++) {
        (*labels)[i] = (int32_t)lli_rng_below(lli_rng_stream(1, LLI_PURPOSE_TEST, 2, 0), (uint64_t)i, (uint64_t)K);
        for (int64_t j = 0; j < D; j++)
            z[i * D + j] += 2 / sqrtf((float)D) * centre[(*labels)[i] * D + j];
    }
    for (int64_t i = 0; half && i < s->N * D; i++)
        ((uint16_t *)z)[i] = lli_half_from_float(z[i]);
    lli_memory_free(centre);
    ll_dataset *data;
    ll_array y = ll_array_view(*labels, LL_DTYPE_I32, 1, (int64_t[]){s->N});
    must(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, half ? LL_DTYPE_F16 : LL_DTYPE_F32, 2, (int64_t[]){s->N, D}), &y, K));
    *features = z;
    return data;
}

static void report(ll_context *ctx, const lli_model *model, const ll_dataset *data, const float *padded, const shape *s, const method *m,
                   int epochs) {
    lli_chain *chain;
    must(ctx, lli_chain_new(&chain, ctx, model, data, &lli_rule_langevin, s->B, 0, m->resampled));
    chain->rows.padded = padded;
    float *start;
    must(ctx, lli_memory_new(ctx, &start, model->floats, sizeof *start));
    const lli_chain_options options = {.optimiser = m->noise ? &lli_optimiser_sgld : &lli_optimiser_sgd,
                                       .lr = 0.5 / (1 + data->mean_square),
                                       .lr_power = 0.55,
                                       .batch_size = s->B,
                                       .prior_precision = 1,
                                       .drop16 = (uint32_t)lrint(m->p * 65536),
                                       .seed = 7,
                                       .resampled = m->resampled};
    lli_chain_start(chain, &options, start);
    double best = INFINITY;
    for (int e = 1; e <= epochs; e++) {
        double begin = cpu();
        must(ctx, lli_chain_run(ctx, chain, e * lli_chain_epoch_steps(s->N, s->B)));
        best = fmin(best, cpu() - begin);
    }
    printf("  %s %.2f ms (%.0f GF/s)", m->name, 1e3 * best, 4e-9 * (double)(s->N * s->D * s->K) / best);
    fflush(stdout);
    lli_memory_free(start);
    lli_chain_free(chain);
}

static void report_shape(ll_context *ctx, const shape *s) {
    lli_model model;
    must(ctx, lli_head_model(ctx, &model, s->K, s->D));
    void *features[2];
    int32_t *labels[2];
    ll_dataset *data[2];
    float *padded[2] = {NULL, NULL};
    for (int half = 0; half < 2; half++) {
        data[half] = dataset(ctx, s, half, &features[half], &labels[half]);
        if (model.padded)
            must(ctx, lli_padded_new(ctx, &padded[half], &data[half]->rows));
    }
    printf("%-8s %s:", s->name, ll_isa());
    int epochs = s->N * s->D * s->K < 100000000 ? 40 : s->K <= 10 ? 12 : 5;
    int64_t *order;
    must(ctx, lli_memory_new(ctx, &order, s->N, sizeof *order));
    double best = INFINITY;
    for (int e = 0; e < 10; e++) {
        double begin = cpu();
        lli_order_shuffle(order, lli_kernels_get(), NULL, s->N, 1, 0, e);
        best = fmin(best, cpu() - begin);
    }
    printf("  shuffle %.2f ms", 1e3 * best);
    for (size_t m = 0; m < LLI_COUNT(methods); m++)
        report(ctx, &model, data[methods[m].half], padded[methods[m].half], s, &methods[m], epochs);
    printf("\n");
    lli_memory_free(order);
    for (int half = 0; half < 2; half++) {
        ll_dataset_free(data[half]);
        lli_memory_free(features[half]);
        lli_memory_free(padded[half]);
        lli_memory_free(labels[half]);
    }
}

int main(int argc, char **argv) {
    ll_context *ctx;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    must(ctx, ll_context_new(&ctx, &options));
    for (size_t i = 0; i < LLI_COUNT(shapes); i++)
        if (argc < 2 || strcmp(argv[1], shapes[i].name) == 0)
            report_shape(ctx, &shapes[i]);
    ll_context_free(ctx);
    return 0;
}
