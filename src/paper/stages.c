/* SPDX-License-Identifier: MIT */
/* Counts the steps of every stage and times a few of them. */
#include "paper/stages.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/number.h"
#include "interop/encoded.h"
#include "search/grid.h"
#include "interop/trained.h"
#include "train/speed.h"

/* Seconds that a search takes, when a row of a training step takes `row` seconds. */
static ll_status search_seconds(double *out, ll_context *ctx, const lli_reproduce *r, const lli_experiment_grid *grid, const char *methods,
                                const ll_dataset *train, int64_t rows, double row) {
    ll_fit_options fit;
    ll_search_options o = lli_reproduce_search(&fit, r, 0, grid);
    lli_grid runs;
    if (methods)
        o.method = methods;
    LLI_TRY(lli_grid_init(&runs, ctx, &o, &fit, train, false));
    double cost = 0;
    for (int64_t i = 0; i < runs.count; i++)
        cost += (double)lli_grid_run_cost(&runs.runs[i], train, NULL, rows);
    lli_grid_release(&runs);
    *out = cost / LLI_TRAIN_COST * row;
    return LL_OK;
}

typedef struct speeds {
    double last[3];   /* seconds per row of training: one layer on one worker, two and three on all */
    double network;   /* on all workers */
    ll_dataset train; /* as many rows as there are, for counting steps */
    int64_t rows;     /* that are evaluated */
    int64_t epochs;   /* of the network's training */
} speeds;

static int64_t batch_of(const lli_reproduce *r) {
    lli_number x;
    return lli_number_parse(&x, r->experiment.batch_size, strlen(r->experiment.batch_size)) ? x.integer : 128;
}

static ll_status time_network(double *seconds, ll_context *ctx, const char *text, const ll_dataset *data, int64_t batch_size) {
    const lli_rows *rows = &data->rows;
    bool images = rows->height > 0;
    ll_network *network;
    LLI_TRY(lli_trained_make(&network, ctx, text, images ? rows->height : 1, images ? rows->width : 1, images ? rows->channels : rows->D,
                             data->K));
    lli_network_start(network->net, network->theta, 0, 0);
    ll_status status = lli_speed_model(seconds, ctx, network->model, network->theta, data, batch_size);
    ll_network_free(network);
    return status;
}

static ll_status measure_features(ll_context *ctx, speeds *s, const lli_reproduce *r) {
    static const char *const deep[] = {NULL, "head:2", "head:3"};
    ll_encoded *f = NULL;
    ll_status status;
    LLI_DO(lli_encoded_read_training(&f, ctx, r->options.features));
    s->train.rows.N = f->train->rows.N;
    s->rows = (f->test ? f->test->rows.N : 0) + (f->val ? f->val->rows.N : 0) + (f->out ? f->out->rows.N : 0);
    LLI_DO(lli_speed_head(&s->last[0], ctx, f->train->rows.D, f->train->K, batch_of(r)));
    for (int64_t layers = 2; layers <= r->layers; layers++)
        LLI_DO(time_network(&s->last[layers - 1], ctx, deep[layers - 1], f->train, batch_of(r)));
done:
    ll_encoded_free(f);
    return status;
}

static ll_status measure(ll_context *ctx, speeds *s, lli_reproduce *r) {
    *s = (speeds){0};
    if (r->options.features)
        return measure_features(ctx, s, r);
    LLI_TRY(lli_reproduce_images(ctx, r, LLI_TASK_SELECTIVE));
    const ll_dataset *train = ll_images_dataset(r->images[LLI_TASK_SELECTIVE], LL_IMAGES_TRAIN),
                     *test = ll_images_dataset(r->images[LLI_TASK_SELECTIVE], LL_IMAGES_TEST);
    if (!train || !test)
        return lli_fail(ctx, LL_ERR_DATA, "an experiment needs training images and test images");
    ll_network *given = NULL;
    ll_status status;
    if (r->options.network)
        LLI_DO(ll_network_read(&given, ctx, r->options.network));
    const char *net = given ? ll_network_text(given) : r->experiment.net;
    lli_network *shape = NULL;
    s->train.rows.N = train->rows.N;
    s->rows = test->rows.N + train->rows.N / 10;
    s->epochs = r->experiment.epochs ? r->experiment.epochs : ll_train_options_default(net).epochs;
    LLI_DO(lli_network_new(&shape, ctx, net, train->rows.height, train->rows.width, train->rows.channels, train->K));
    int64_t features = lli_network_model(shape)->features;
    lli_network_free(shape);
    LLI_DO(lli_speed_head(&s->last[0], ctx, features, train->K, batch_of(r)));
    LLI_DO(time_network(&s->network, ctx, net, train, batch_of(r)));
done:
    ll_network_free(given);
    return status;
}

static ll_status expect(ll_context *ctx, lli_stage *st, const lli_reproduce *r, const speeds *s) {
    double share = st->task == LLI_TASK_OOD ? 0.5 : 1; /* half of the classes */
    switch (st->kind) {
    case LLI_STAGE_FEATURES:
        st->seconds = r->options.network ? 1 : share * s->network * (double)(s->epochs * s->train.rows.N);
        return LL_OK;
    case LLI_STAGE_LAST:
        LLI_TRY(search_seconds(&st->seconds, ctx, r, &r->experiment.last, NULL, &s->train, s->rows, s->last[st->layers - 1]));
        st->seconds *= share / (st->layers > 1 ? 1 : ll_context_threads(ctx));
        return LL_OK;
    case LLI_STAGE_FULL:
        LLI_TRY(search_seconds(&st->seconds, ctx, r, &r->experiment.full, "sgd,sgld,bootstrap,dropout", &s->train, s->rows, s->network));
        st->seconds *= share;
        return LL_OK;
    }
    return LL_OK;
}

ll_status lli_stages_plan(lli_stage *stages, int64_t *count, ll_context *ctx, lli_reproduce *r) {
    speeds s;
    LLI_TRY(measure(ctx, &s, r));
    *count = 0;
    for (int64_t seed = 0; seed < r->seed_count; seed++)
        for (int task = 0; task < r->tasks; task++) {
            if (!r->options.features)
                stages[(*count)++] = (lli_stage){LLI_STAGE_FEATURES, seed, 1, task, 0};
            for (int64_t layers = 1; layers <= r->layers; layers++)
                stages[(*count)++] = (lli_stage){LLI_STAGE_LAST, seed, layers, task, 0};
            if (r->full)
                stages[(*count)++] = (lli_stage){LLI_STAGE_FULL, seed, 1, task, 0};
        }
    for (int64_t i = 0; i < *count; i++)
        LLI_TRY(expect(ctx, &stages[i], r, &s));
    return LL_OK;
}

/* "40 s", "12 min", "3.5 h" */
static void add_duration(lli_text *out, double seconds) {
    if (seconds < 100)
        lli_text_add(out, "%.0f s", fmax(1, seconds));
    else if (seconds < 5940)
        lli_text_add(out, "%.0f min", seconds / 60);
    else if (seconds < 72 * 3600)
        lli_text_add(out, "%.1f h", seconds / 3600);
    else
        lli_text_add(out, "%.0f days", seconds / 86400);
}

void lli_stages_tell(ll_context *ctx, const lli_reproduce *r, const lli_stage *st, int64_t number, int64_t count, double left) {
    static const char *const names[] = {"network and features", "search of the last layer", "search of the full network"};
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "stage %" PRId64 " of %" PRId64 ": %s", number, count, names[st->kind]);
    if (st->layers > 1)
        lli_text_add(&text, ", %" PRId64 " layers", st->layers);
    lli_text_add(&text, ", %s, seed %" PRIu64 "; about ", st->task == LLI_TASK_OOD ? "half of the classes" : "all classes",
                 r->seeds[st->seed]);
    add_duration(&text, left);
    lli_text_add(&text, number == 1 ? " in all" : " left");
    if (text.status == LL_OK)
        lli_log(ctx, LL_LOG_NOTE, "%s", text.data);
    lli_text_release(&text);
}
