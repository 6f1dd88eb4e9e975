/* SPDX-License-Identifier: MIT */
/* Times lastlayer on one cell of the bench, through the public interface as a program would use it. bench/run.py drives it.
 *
 *   heads method=sgd|sgld|bootstrap|dropout features=F labels=F classes=K batch=B lr=G samples=S epochs=E judge=J [dropout=P threads=T]
 *   heads method=predict features=F ensemble=F [threads=T]
 *
 * The data and the starting head (zeros) are made once. Then each line "SEED FILE" of standard input asks for one repeat: whole calls of
 * ll_fit or ll_predictor_run, until they have taken SLICE seconds, timed together. The answer is a line of JSON: CPU and wall seconds,
 * units of work (epochs, or members x points), anonymous and peak memory. FILE receives what others judge: W and b after J epochs, or
 * the probabilities and std confidences. */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>

#include "peak.h"
#include "words.h"

static const double SLICE = 0.1;
enum { THREADS_MAX = 64 };

static long anonymous; /* kB, the most that was seen in this repeat */

/* A line of /proc/self/status in kB: RssAnon now, or VmHWM, the peak of everything resident. */
static long memory(const char *field) {
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            value = strtol(line + strlen(field) + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static void look(void) {
    long now = memory("RssAnon");
    anonymous = now > anonymous ? now : anonymous;
}

/* ll_fit frees its memory before it returns, so memory is looked at while it works, but not so often that the look is timed. */
static void progress(void *user, const char *what, double done, double total) {
    static double last;
    (void)user, (void)what, (void)done, (void)total;
    double now = seconds(CLOCK_MONOTONIC);
    if (now - last < 0.02)
        return;
    last = now;
    look();
}

static ll_context *context(void) {
    ll_context_options options = ll_context_options_default();
    ll_context *ctx;
    options.threads = (int)number("threads", "1");
    options.progress = progress;
    if (options.threads < 1 || options.threads > THREADS_MAX || ll_context_new(&ctx, &options) != LL_OK)
        fail("threads", "no context");
    return ctx;
}

static void *zeros(int64_t count, size_t size) {
    void *block = malloc((size_t)count * size);
    if (!block)
        fail("memory", "ran out");
    memset(block, 1, (size_t)count * size); /* touched now, so that it does not count as memory of the run; zeros alone would be calloc */
    return memset(block, 0, (size_t)count * size);
}

typedef struct timing {
    double cpu, wall;
    int64_t units;
    long anonymous;
} timing;

static void report(timing t, long base) {
    printf("{\"cpu\": %.9g, \"wall\": %.9g, \"units\": %" PRId64 ", \"anon\": %ld, \"base\": %ld, \"peak\": %ld}\n", t.cpu, t.wall, t.units,
           t.anonymous, base, memory("VmHWM"));
    fflush(stdout);
}

/* Calls work(arg), which does `units`, until SLICE has passed. */
static timing timed(void (*work)(void *), void *arg, int64_t units) {
    timing t = {0};
    anonymous = 0;
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    do {
        work(arg);
        t.units += units;
        t.wall = seconds(CLOCK_MONOTONIC) - wall;
    } while (t.wall < SLICE);
    t.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    look();
    t.anonymous = anonymous; /* what writes the answer for the judge has buffers of its own */
    return t;
}

/* ---- training ------------------------------------------------------------------------------------------------------------ */

typedef struct training {
    ll_context *ctx;
    ll_dataset *data;
    ll_head *head;
    ll_fit_options options;
    ll_ensemble *ensemble; /* of the last call */
} training;

static void fit(void *arg) {
    training *t = arg;
    ll_ensemble_free(t->ensemble);
    check(t->ctx, ll_fit(&t->ensemble, t->ctx, t->data, t->head, &t->options));
}

/* Members first..first+count-1. */
static void write_members(training *t, const char *path, int64_t first, int64_t count) {
    ll_named_array arrays[] = {{"W", ll_ensemble_weight_view(t->ensemble)}, {"b", ll_ensemble_bias_view(t->ensemble)}};
    int64_t K = ll_ensemble_classes(t->ensemble), D = ll_ensemble_features(t->ensemble);
    arrays[0].array.data = (const float *)arrays[0].array.data + first * K * D;
    arrays[1].array.data = (const float *)arrays[1].array.data + first * K;
    arrays[0].array.shape[0] = arrays[1].array.shape[0] = count;
    check(t->ctx, ll_bundle_write(t->ctx, path, arrays, 2, NULL, 0));
}

static void train(const char *method) {
    training t = {.ctx = context(), .options = ll_fit_options_default()};
    int64_t K = number("classes", NULL), epochs = number("epochs", "1"), judge = number("judge", "1");
    bool chain = strncmp(method, "sg", 2) == 0, dropout = strcmp(method, "dropout") == 0;
    check(t.ctx, ll_dataset_read(&t.data, t.ctx, text("features", NULL), text("labels", NULL), K));
    int64_t D = ll_dataset_features(t.data), shape[] = {K, D};
    float *zero = zeros(K * D, sizeof *zero);
    check(t.ctx, ll_head_new(&t.head, t.ctx, ll_array_view(zero, LL_DTYPE_F32, 2, shape), NULL, D, LL_HEAD_LAYOUT_KD));
    free(zero);
    t.options.method = method;
    t.options.samples = dropout ? 1 : number("samples", "1");
    t.options.batch_size = number("batch", NULL);
    t.options.lr = strtod(text("lr", NULL), NULL);
    t.options.dropout = strtod(text("dropout", "0.5"), NULL);
    char path[4096];
    for (long base = memory("RssAnon"); scanf("%" SCNu64 " %4095s", &t.options.seed, path) == 2;) {
        t.options.epochs = epochs;
        timing time = timed(fit, &t, chain ? t.options.samples : t.options.samples * epochs);
        if (dropout) { /* what was timed trained longer than what is judged */
            t.options.epochs = judge;
            fit(&t);
        }
        write_members(&t, path, chain ? judge - 1 : 0, chain ? 1 : t.options.samples);
        report(time, base);
    }
    ll_ensemble_free(t.ensemble);
    ll_head_free(t.head);
    ll_dataset_free(t.data);
    ll_context_free(t.ctx);
}

/* ---- prediction ---------------------------------------------------------------------------------------------------------- */

typedef struct slice {
    ll_predictor *predictor;
    ll_prediction out;
    const float *z; /* [n,D] */
    int64_t n, first;
} slice;

typedef struct prediction {
    int threads;
    slice slice[THREADS_MAX];
} prediction;

static void *run_slice(void *arg) {
    slice *s = arg;
    return ll_predictor_run(&s->out, s->predictor, s->z, s->n, s->first) == LL_OK ? s : NULL;
}

static void run_slices(void *arg) {
    prediction *p = arg;
    pthread_t thread[THREADS_MAX];
    if (p->threads == 1) {
        if (!run_slice(&p->slice[0]))
            fail("predict", "failed");
        return;
    }
    for (int i = 0; i < p->threads; i++)
        if (pthread_create(&thread[i], NULL, run_slice, &p->slice[i]) != 0)
            fail("threads", "cannot start one");
    for (int i = 0; i < p->threads; i++) {
        void *ok;
        pthread_join(thread[i], &ok);
        if (!ok)
            fail("predict", "a slice failed");
    }
}

static void predict(void) {
    ll_context *ctx = context();
    ll_bundle *bundle;
    ll_array z;
    ll_ensemble *ensemble;
    check(ctx, ll_array_read(&bundle, &z, ctx, text("features", NULL), NULL));
    check(ctx, ll_ensemble_read(&ensemble, ctx, text("ensemble", NULL)));
    int64_t n = z.shape[0], D = z.shape[1], K = ll_ensemble_classes(ensemble), shape[] = {n, K};
    ll_prediction all = {.label = zeros(n, sizeof(int32_t)), .vote = zeros(n, sizeof(int32_t)), .probs = zeros(n * K, sizeof(float))};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        all.confidence[c] = zeros(n, sizeof(double));
    ll_predictor *warm; /* touches what a first call touches of the program, which is no buffer */
    check(ctx, ll_predictor_new(&warm, ctx, ensemble));
    check(ctx, ll_predictor_run(&all, warm, z.data, 1, 0));
    ll_predictor_free(warm);
    malloc_trim(0);
    long base = memory("RssAnon");
    prediction p = {.threads = (int)number("threads", "1")};
    for (int i = 0; i < p.threads; i++) {
        slice *s = &p.slice[i];
        int64_t first = n * i / p.threads;
        *s = (slice){NULL, all, (const float *)z.data + first * D, n * (i + 1) / p.threads - first, first};
        s->out.label += first;
        s->out.vote += first;
        s->out.probs += first * K;
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
            s->out.confidence[c] += first;
        check(ctx, ll_predictor_new(&s->predictor, ctx, ensemble));
    }
    const ll_named_array arrays[] = {{"probs", ll_array_view(all.probs, LL_DTYPE_F32, 2, shape)},
                                     {"std", ll_array_view(all.confidence[LL_CONFIDENCE_STD], LL_DTYPE_F64, 1, shape)}};
    uint64_t seed; /* the ensemble has its own */
    char path[4096];
    while (scanf("%" SCNu64 " %4095s", &seed, path) == 2) {
        timing time = timed(run_slices, &p, n * ll_ensemble_samples(ensemble));
        check(ctx, ll_bundle_write(ctx, path, arrays, 2, NULL, 0));
        malloc_trim(0); /* of what the writer left */
        report(time, base);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    words = argv + 1;
    const char *method = text("method", NULL);
    if (strcmp(method, "predict") == 0)
        predict();
    else
        train(method);
    return 0;
}
