/* SPDX-License-Identifier: MIT */
/* Times prediction on the shapes of real heads: nanoseconds of CPU time per (member, row), softmax and all statistics included, on one
 * thread. Usage: build/bench/predict [SHAPE]. A run takes a few seconds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ensemble/ensemble.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernels/kernels.h"

enum { REPEATS = 5 };

typedef struct shape {
    const char *name;
    int64_t N, S, D, K;
} shape;

static const shape shapes[] = {
    {"mnist", 512, 104, 20, 10}, {"cifar10", 384, 32, 512, 10}, {"cifar100", 128, 16, 512, 100}, {"imagenet", 64, 4, 4032, 1000}};
static const uint32_t rates[] = {0, 32768, 19661, 6554};

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(ll_context *ctx, ll_status status) {
    if (status == LL_OK)
        return;
    fprintf(stderr, "%s\n", ll_context_message(ctx));
    exit(1);
}

/* Members around a common head, as SGLD would leave them: logits of a few units. */
static ll_ensemble *ensemble(ll_context *ctx, const shape *s, uint32_t drop16) {
    lli_ensemble_plan plan = {.method = drop16 ? "dropout" : "sgd", .S = s->S, .K = s->K, .D = s->D, .drop16 = drop16};
    plan.stored = drop16 ? 1 : s->S;
    require(ctx, lli_memory_new(ctx, &plan.weight, s->S, sizeof(double)));
    for (int64_t i = 0; i < s->S; i++)
        plan.weight[i] = 1;
    ll_ensemble *e;
    require(ctx, lli_ensemble_new(&e, ctx, &plan));
    int64_t head = s->K * s->D;
    lli_kernels_get()->normals(e->owned[0], lli_rng_stream(1, LLI_PURPOSE_TEST, 0, 0), 0, e->plan.stored * head);
    for (int64_t i = e->plan.stored * head - 1; i >= 0; i--)
        e->owned[0][i] = 4 / sqrtf((float)s->D) * (e->owned[0][i % head] + (i < head ? 0 : 0.1f * e->owned[0][i]));
    return e;
}

typedef struct answers {
    ll_prediction out;
    int32_t *truth;
} answers;

static void *room(ll_context *ctx, int64_t count, size_t size) {
    void *block;
    require(ctx, lli_memory_new(ctx, &block, count, size));
    return block;
}

static answers answers_new(ll_context *ctx, const shape *s) {
    answers a = {.truth = room(ctx, s->N, sizeof *a.truth)};
    a.out.truth = a.truth;
    a.out.label = room(ctx, s->N, sizeof(int32_t));
    a.out.vote = room(ctx, s->N, sizeof(int32_t));
    a.out.sr_tail = room(ctx, s->N, sizeof(double));
    a.out.probs = room(ctx, s->N * s->K, sizeof(float));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        a.out.confidence[c] = room(ctx, s->N, sizeof(double));
    a.out.running_nll = room(ctx, s->S, sizeof(double));
    a.out.running_brier = room(ctx, s->S, sizeof(double));
    a.out.running_correct = room(ctx, s->S, sizeof(int64_t));
    return a;
}

static void answers_free(answers *a) {
    void *blocks[] = {a->truth,     a->out.label,       a->out.vote,          a->out.sr_tail,
                      a->out.probs, a->out.running_nll, a->out.running_brier, a->out.running_correct};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        lli_memory_free(a->out.confidence[c]);
}

/* The fastest of a few runs, `step` rows per call, since other work on the machine only ever adds. */
static double timed(ll_context *ctx, ll_ensemble *e, ll_prediction out, const float *z, const shape *s, int64_t step) {
    ll_predictor *p;
    require(ctx, ll_predictor_new(&p, ctx, e));
    double best = INFINITY;
    for (int r = 0; r < REPEATS; r++) {
        double start = cpu();
        for (int64_t i = 0; i + step <= s->N; i += step)
            require(ctx, ll_predictor_run(&out, p, z + i * s->D, step, i));
        best = fmin(best, cpu() - start);
    }
    ll_predictor_free(p);
    return 1e9 * best / (double)(s->N / step * step) / (double)s->S;
}

int main(int argc, char **argv) {
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    ll_context *ctx;
    if (ll_context_new(&ctx, &options) != LL_OK || !lli_kernels_get()) {
        fprintf(stderr, "LASTLAYER_ISA must be one of %s\n", lli_kernels_names());
        return 1;
    }
    printf("ns per member and row, level %s\n", ll_isa());
    printf("%-9s%10s%10s%10s%10s%10s%10s\n", "", "ensemble", "+running", "by row", "drop .5", "drop .3", "drop .1");
    for (size_t i = 0; i < LLI_COUNT(shapes); i++) {
        const shape *s = &shapes[i];
        if (argc > 1 && strcmp(argv[1], s->name) != 0)
            continue;
        float *z = room(ctx, s->N * s->D, sizeof *z);
        lli_kernels_get()->normals(z, lli_rng_stream(2, LLI_PURPOSE_TEST, 0, 0), 0, s->N * s->D);
        answers a = answers_new(ctx, s);
        printf("%-9s", s->name);
        for (size_t r = 0; r < LLI_COUNT(rates); r++) {
            ll_ensemble *e = ensemble(ctx, s, rates[r]);
            ll_prediction plain = a.out;
            plain.truth = NULL;
            plain.running_nll = plain.running_brier = NULL;
            plain.running_correct = NULL;
            printf("%10.1f", timed(ctx, e, plain, z, s, s->N));
            if (r == 0) {
                printf("%10.1f", timed(ctx, e, a.out, z, s, s->N));
                shape few = *s;
                few.N = LLI_MIN(s->N, 16);
                printf("%10.1f", timed(ctx, e, plain, z, &few, 1));
            }
            fflush(stdout);
            ll_ensemble_free(e);
        }
        printf("\n");
        answers_free(&a);
        lli_memory_free(z);
    }
    ll_context_free(ctx);
    return 0;
}
