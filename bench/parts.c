/* SPDX-License-Identifier: MIT */
/* Times what a cell of the bench is made of, part by part, on the data of that cell. bench/run.py drives it beside bench/heads.c.
 *
 *   parts method=sgd|sgld|bootstrap|dropout features=F labels=F classes=K batch=B epochs=E [member=M dropout=P]
 *   parts method=predict features=F ensemble=F
 *   parts method=peak threads=T
 *
 * Each line of standard input asks for one repeat, answered by a line of JSON.
 *   Training, in CPU seconds of one thread per epoch: `still`, steps whose rows stay in the cache; `moving`, the same steps on shuffled
 *   rows; `extra`, what noise or masks add to the former; `order`, the shuffle and, of a member of M epochs, the share of its resample;
 *   `copy`, the share of the padded copy of the features in a call of E epochs.
 *   Prediction, per member and point: `statistics`, the same members cut down to one feature.
 *   Both: `walk`, seconds of a load from 4 MB that were walked through just before, each address read from the one before. It says
 *   whether others push data out of a cache that they share.
 *   Multiply-add units, GF/s in wall time: `one`, of one thread, and `all`, of T at the same time. */
#include <pthread.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/order.h"
#include "data/padded.h"
#include "ensemble/ensemble.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "peak.h"
#include "words.h"

static const double SLICE = 0.05; /* seconds of one timing, at least */
enum { LOOK = 50000000 };         /* multiply-adds between two looks at the clock, which takes as long as a small step */

static bool asked(void) {
    char line[8192];
    return fgets(line, sizeof line, stdin);
}

static void *block(ll_context *ctx, int64_t count, size_t size) {
    void *p;
    check(ctx, lli_memory_new(ctx, &p, count, size));
    return p;
}

static double now(void) {
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the machine --------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
enum { ROUNDS = 2000, THREADS_MAX = 64 }; /* long enough that every thread has found its core */

static void *rounds(void *arg) {
    volatile float *kept = arg;
    for (int i = 0; i < ROUNDS; i++)
        *kept = multiply_add(0.5f + *kept * 1e-3f);
    return NULL;
}

/* GF/s of T threads. */
static double units(int64_t threads) {
    pthread_t thread[THREADS_MAX];
    float kept[THREADS_MAX][16] = {{0}};
    double start = seconds(CLOCK_MONOTONIC);
    for (int64_t i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, rounds, kept[i]) != 0)
            fail("threads", "cannot start one");
    rounds(kept[0]);
    for (int64_t i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    return (double)threads * ROUNDS * 10000.0 * 10 * 16 * 1e-9 / (seconds(CLOCK_MONOTONIC) - start);
}
#else
enum { THREADS_MAX = 64 };

static double units(int64_t threads) {
    (void)threads;
    return NAN;
}
#endif

enum { LINES = 4 << 20 >> 6, STRIDE = 64 / sizeof(int32_t) };

/* Every line says which one comes next: a random order of all of them. */
static int32_t *maze(ll_context *ctx) {
    int32_t *next = block(ctx, LINES * STRIDE, sizeof *next);
    int64_t *order = block(ctx, LINES, sizeof *order);
    lli_order_shuffle(order, lli_kernels_get(), NULL, LINES, 1, 0, 0);
    for (int64_t i = 0; i < LINES; i++)
        next[order[i] * STRIDE] = (int32_t)(order[(i + 1) % LINES] * STRIDE);
    lli_memory_free(order);
    return next;
}

static double walk(const int32_t *next) {
    int32_t at = 0;
    double start = 0;
    for (int turn = 0; turn < 2; turn++) {
        start = now();
        for (int64_t i = 0; i < LINES; i++)
            at = next[at];
    }
    double took = now() - start;
    return at == 0 ? took / LINES : NAN; /* back at the start: the walk is no work that could be left out */
}

/* ---- training ------------------------------------------------------------------------------------------------------------ */

typedef struct training {
    ll_context *ctx;
    ll_dataset *data;
    lli_model model;
    lli_rows rows;
    float *theta, *work;
    int64_t *order, *list; /* [N]; list is NULL without a resample */
    int32_t *labels;       /* [B] */
    int64_t B;
} training;

/* An epoch of steps, at a rate at which theta hardly moves. */
static double steps(training *t, bool moving, double noise, uint32_t drop16) {
    const int64_t B = t->B, count = t->rows.N / B, look = 1 + LOOK / (B * t->model.floats);
    int64_t done = 0;
    double start = now(), took = 0, nll;
    while (took < SLICE) {
        int64_t first = moving ? done % count * B : 0, left = moving ? t->rows.N - first - B : 0;
        for (int64_t i = 0; i < B; i++)
            t->labels[i] = t->data->labels[t->order[first + i]];
        const lli_step step = {.rows = t->order + first,
                               .labels = t->labels,
                               .n = B,
                               .next = left > 0 ? t->order + first + B : NULL,
                               .next_n = left,
                               .lr = 1e-6,
                               .noise = noise,
                               .drop16 = drop16,
                               .step = done};
        check(t->ctx, t->model.ops->step(&nll, t->ctx, &t->model, t->theta, t->work, &t->rows, &step));
        if (++done % look == 0)
            took = now() - start;
    }
    return took / (double)done * (double)t->rows.N / (double)B;
}

static double shuffle(training *t) {
    double start = now();
    lli_order_shuffle(t->order, lli_kernels_get(), t->list, t->rows.N, 1, 0, 1);
    return now() - start;
}

/* Leaves a fresh copy behind, as a call of ll_fit would. */
static double copy(training *t) {
    if (!t->model.padded)
        return 0;
    lli_memory_free((void *)(uintptr_t)t->rows.padded);
    float *padded;
    double start = now();
    check(t->ctx, lli_padded_new(t->ctx, &padded, &t->rows));
    t->rows.padded = padded;
    return now() - start;
}

static void train(ll_context *ctx, const char *method) {
    training t = {.ctx = ctx, .B = number("batch", NULL)};
    const int64_t K = number("classes", NULL), epochs = number("epochs", NULL), member = number("member", "1");
    const uint32_t drop16 = strcmp(method, "dropout") == 0 ? (uint32_t)lrint(65536 * strtod(text("dropout", NULL), NULL)) : 0;
    const double noise = strcmp(method, "sgld") == 0 ? 1e-6 : 0;
    check(ctx, ll_dataset_read(&t.data, ctx, text("features", NULL), text("labels", NULL), K));
    t.rows = t.data->rows;
    check(ctx, lli_head_model(ctx, &t.model, K, t.rows.D));
    t.theta = block(ctx, t.model.floats, sizeof *t.theta);
    t.work = block(ctx, t.model.ops->step_floats(&t.model, t.B, 1), sizeof *t.work);
    t.order = block(ctx, t.rows.N, sizeof *t.order);
    t.labels = block(ctx, t.B, sizeof *t.labels);
    const int32_t *next = maze(ctx);
    if (strcmp(method, "bootstrap") == 0)
        t.list = block(ctx, t.rows.N, sizeof *t.list);
    while (asked()) {
        double order = 0;
        if (t.list) {
            double start = now();
            lli_order_resample(t.list, lli_kernels_get(), t.rows.N, 1, 0);
            order = (now() - start) / (double)member;
        }
        double copied = copy(&t) / (double)epochs;
        order += shuffle(&t);
        double still = steps(&t, false, 0, 0), moving = steps(&t, true, 0, 0);
        double extra = noise > 0 || drop16 ? steps(&t, false, noise, drop16) - still : 0;
        printf("{\"still\": %.9g, \"moving\": %.9g, \"extra\": %.9g, \"order\": %.9g, \"copy\": %.9g, \"walk\": %.9g}\n", still, moving,
               extra, order, copied, walk(next));
        fflush(stdout);
    }
}

/* ---- prediction ---------------------------------------------------------------------------------------------------------- */

/* The members with their first feature alone. */
static ll_ensemble *cut(ll_context *ctx, const ll_ensemble *whole) {
    const lli_ensemble_plan *w = &whole->plan;
    lli_ensemble_plan plan = {.method = "sgd", .S = w->S, .K = w->K, .D = 1, .stored = w->S, .weight = block(ctx, w->S, sizeof(double))};
    memcpy(plan.weight, w->weight, (size_t)w->S * sizeof(double));
    ll_ensemble *e;
    check(ctx, lli_ensemble_new(&e, ctx, &plan));
    for (int64_t i = 0; i < w->S * w->K; i++)
        e->owned[0][i] = whole->tensor[0][i * w->D];
    memcpy(e->owned[1], whole->tensor[1], (size_t)(w->S * w->K) * sizeof(float));
    return e;
}

static void predict(ll_context *ctx) {
    ll_bundle *bundle;
    ll_array z;
    ll_ensemble *whole;
    check(ctx, ll_array_read(&bundle, &z, ctx, text("features", NULL), NULL));
    check(ctx, ll_ensemble_read(&whole, ctx, text("ensemble", NULL)));
    ll_ensemble *e = cut(ctx, whole);
    const int64_t n = z.shape[0], D = z.shape[1], K = e->plan.K;
    float *x = block(ctx, n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = ((const float *)z.data)[i * D];
    ll_prediction out = {.label = block(ctx, n, sizeof(int32_t)), .vote = block(ctx, n, sizeof(int32_t))};
    out.probs = block(ctx, n * K, sizeof(float));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        out.confidence[c] = block(ctx, n, sizeof(double));
    const int32_t *next = maze(ctx);
    ll_predictor *p;
    check(ctx, ll_predictor_new(&p, ctx, e));
    while (asked()) {
        int64_t runs = 0;
        double start = now(), took;
        do {
            check(ctx, ll_predictor_run(&out, p, x, n, 0));
            runs++;
            took = now() - start;
        } while (took < SLICE);
        printf("{\"statistics\": %.9g, \"walk\": %.9g}\n", took / (double)(runs * n * e->plan.S), walk(next));
        fflush(stdout);
    }
}

static void peaks(int64_t threads) {
    if (threads < 1 || threads > THREADS_MAX)
        fail("threads", "are too many");
    if (isnan(peak()))
        fail("the peak", "is not known of this processor");
    while (asked()) {
        double one = units(1);
        printf("{\"one\": %.9g, \"all\": %.9g}\n", one, units(threads));
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    words = argv + 1;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    ll_context *ctx;
    if (ll_context_new(&ctx, &options) != LL_OK || !lli_kernels_get())
        fail("LASTLAYER_ISA", "names no level that this processor has");
    const char *method = text("method", NULL);
    if (strcmp(method, "peak") == 0)
        peaks(number("threads", NULL));
    else if (strcmp(method, "predict") == 0)
        predict(ctx);
    else
        train(ctx, method);
    ll_context_free(ctx);
    return 0;
}
