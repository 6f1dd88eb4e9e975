/* SPDX-License-Identifier: MIT */
/* One experiment of the paper from end to end: train, encode, search, tables beside the paper's. Everything lies in FOLDER/NAME, and what is
 * there is not made again:
 *
 *     seed-0/selective/network.safetensors  encoded.npz  last/ full/ (stores of searches)
 *     seed-0/ood/...                        the same on half of the classes
 *     tables.md  tables.csv  tables.json */
#include "pipeline/reproduce.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/number.h"
#include "pipeline/grid.h"
#include "pipeline/network.h"
#include "pipeline/speed.h"

ll_reproduce_options ll_reproduce_options_default(void) {
    return (ll_reproduce_options){.struct_size = sizeof(ll_reproduce_options), .folder = "results", .seeds = "0"};
}

#define AT(member) offsetof(ll_reproduce_options, member)

static const ll_option table[] = {
    {.name = "quick", .type = LL_OPTION_FLAG, .offset = AT(quick), .help = "a short version: every step, on small grids and hardly trained networks"},
    {.name = "full", .type = LL_OPTION_FLAG, .offset = AT(full), .help = "everything, also the methods on all layers of the network"},
    {.name = "seeds", .type = LL_OPTION_TEXT, .offset = AT(seeds), .arg = "LIST", .standard = "0", .help = "one run per seed; tables have mean and standard deviation"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "FOLDER", .standard = "found by NAME", .help = "where the images are"},
    {.name = "network", .type = LL_OPTION_TEXT, .offset = AT(network), .arg = "FILE", .help = "a trained network of these images, instead of training one"},
    {.name = "features", .type = LL_OPTION_TEXT, .offset = AT(features), .arg = "FILE",
     .help = "features of lastlayer encode (features_train, labels_train, features_test, ...), instead of images: the last layer only"},
    {.name = "results", .type = LL_OPTION_TEXT, .offset = AT(folder), .arg = "FOLDER", .standard = "results", .help = "where NAME/ is made"},
};

const ll_option *ll_reproduce_options_table(size_t *count) {
    *count = LLI_COUNT(table);
    return table;
}

/* ---- set-up ---- */

static ll_status read_seeds(ll_context *ctx, lli_reproduce *r, const char *text) {
    for (const char *p = text; p;) {
        size_t length = strcspn(p, ",");
        lli_number x;
        if (!lli_number_parse(&x, p, length) || !x.is_integer || x.integer < 0)
            return lli_fail(ctx, LL_ERR_USAGE, "--seeds is %.60s; expected whole numbers with commas between them", text);
        if (r->seed_count == LLI_SEEDS_MAX)
            return lli_fail(ctx, LL_ERR_USAGE, "--seeds has more than %d entries", LLI_SEEDS_MAX);
        r->seeds[r->seed_count++] = (uint64_t)x.integer;
        p = p[length] ? p + length + 1 : NULL;
    }
    return LL_OK;
}

static ll_status check(ll_context *ctx, lli_reproduce *r, const char *name, const ll_reproduce_options *o) {
    if (o->struct_size != sizeof *o)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_reproduce_options has %zu bytes where %zu were expected: start from ll_reproduce_options_default()", o->struct_size,
                        sizeof *o);
    LLI_TRY(lli_experiment_find(&r->experiment, ctx, name, o->quick));
    if (o->quick && o->full)
        return lli_fail(ctx, LL_ERR_USAGE, "--quick and --full exclude each other");
    if (o->features && (o->network || o->data || o->full))
        return lli_fail(ctx, LL_ERR_USAGE, "--features stands for images and network, and allows the last layer only; leave --%s out",
                        o->network ? "network" : o->data ? "data" : "full");
    if (!r->experiment.net && !o->features)
        return lli_fail(ctx, LL_ERR_USAGE, "%s needs %s", name, r->experiment.files);
    LLI_TRY(read_seeds(ctx, r, o->seeds));
    if (o->network && r->seed_count > 1)
        return lli_fail(ctx, LL_ERR_USAGE, "--network is one network; give one seed");
    r->full = !o->features && (o->quick || o->full) && r->experiment.full.lr;
    r->tasks = o->features || o->network || !r->experiment.half ? 1 : LLI_TASKS;
    r->layers = o->features ? r->experiment.layers : 1;
    return LL_OK;
}

static ll_status place(char **out, ll_context *ctx, const lli_reproduce *r, int64_t seed, int task, const char *name) {
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "%s/%s/seed-%" PRIu64 "/%s/%s", r->options.folder, r->experiment.name, r->seeds[seed], lli_tasks[task], name);
    return lli_text_take(&text, out);
}

static ll_status make_folders(ll_context *ctx, const lli_reproduce *r) {
    for (int64_t seed = 0; seed < r->seed_count; seed++)
        for (int task = 0; task < r->tasks; task++) {
            char *path;
            ll_status status = LL_OK;
            LLI_TRY(place(&path, ctx, r, seed, task, ""));
            for (char *p = path + 1; *p && status == LL_OK; p++)
                if (*p == '/') {
                    *p = 0;
                    status = lli_folder_make(ctx, path);
                    *p = '/';
                }
            lli_memory_free(path);
            LLI_TRY(status);
        }
    return LL_OK;
}

/* ---- images, network, features ---- */

static ll_status open_images(ll_context *ctx, lli_reproduce *r, int task) {
    if (r->images[task] || r->options.features)
        return LL_OK;
    ll_images_options o = ll_images_options_default();
    if (task == LLI_TASK_OOD)
        o.classes = r->experiment.half;
    ll_status status = ll_images_read(&r->images[task], ctx, r->options.data ? r->options.data : r->experiment.name, &o);
    if (status == LL_ERR_READ && r->experiment.files) {
        char why[LLI_MESSAGE_MAX];
        memcpy(why, ctx->message, sizeof why);
        return lli_fail(ctx, status, "%.400s\n%s needs %s", why, r->experiment.name, r->experiment.files);
    }
    return status;
}

static ll_status open_network(ll_network **out, ll_context *ctx, lli_reproduce *r, int64_t seed, int task, bool train) {
    char *path = NULL;
    ll_status status;
    if (r->options.network)
        return ll_network_read(out, ctx, r->options.network);
    LLI_DO(place(&path, ctx, r, seed, task, "network.safetensors"));
    if (!train || lli_file_exists(path)) {
        LLI_DO(ll_network_read(out, ctx, path));
        goto done;
    }
    ll_train_options o = ll_train_options_default(r->experiment.net);
    int64_t K;
    o.net = r->experiment.net;
    o.classes = ll_images_classes(r->images[task], &K);
    o.seed = r->seeds[seed];
    if (r->experiment.epochs)
        o.epochs = r->experiment.epochs;
    LLI_DO(ll_train_write(out, ctx, path, ll_images_dataset(r->images[task], LL_IMAGES_TRAIN), &o, true));
done:
    lli_memory_free(path);
    return status;
}

static ll_status encode(ll_context *ctx, lli_reproduce *r, int64_t seed, int task) {
    char *path = NULL;
    ll_network *network = NULL;
    ll_status status;
    LLI_DO(place(&path, ctx, r, seed, task, "encoded.npz"));
    if (lli_file_exists(path))
        goto done;
    LLI_DO(open_images(ctx, r, task));
    LLI_DO(open_network(&network, ctx, r, seed, task, true));
    const ll_images *images = r->images[task];
    const ll_encode_data data = {ll_images_dataset(images, LL_IMAGES_TRAIN), ll_images_dataset(images, LL_IMAGES_TEST),
                                 task == LLI_TASK_OOD ? ll_images_dataset(images, LL_IMAGES_OUT) : NULL};
    LLI_DO(ll_encode_write(ctx, path, network, &data, NULL));
done:
    ll_network_free(network);
    lli_memory_free(path);
    return status;
}

/* ---- searches ---- */

static ll_search_options search_options(const lli_reproduce *r, int64_t seed, int task, const lli_experiment_grid *grid) {
    ll_search_options o = ll_search_options_default();
    o.lr = grid->lr;
    o.samples = grid->samples;
    o.epochs = grid->epochs;
    o.dropout = grid->dropout;
    o.batch_size = r->experiment.batch_size;
    o.seed = r->seeds[seed];
    (void)task;
    return o;
}

/* One part of the encoded features, NULL if the file has none. */
static ll_status read_part(ll_dataset **out, ll_context *ctx, const ll_bundle *bundle, const char *path, const char *part, int64_t K) {
    lli_text features, labels;
    ll_status status = LL_OK;
    lli_text_init(&features, ctx);
    lli_text_init(&labels, ctx);
    lli_text_add(&features, "%s:features_%s", path, part);
    lli_text_add(&labels, "%s:labels_%s", path, part);
    LLI_DO(features.status);
    LLI_DO(labels.status);
    const char *name = features.data + strlen(path) + 1, *truth = labels.data + strlen(path) + 1;
    bool labelled = ll_bundle_find(bundle, truth) >= 0;
    if (ll_bundle_find(bundle, name) >= 0)
        LLI_DO(ll_dataset_read(out, ctx, features.data, labelled ? labels.data : NULL, labelled ? K : 0));
done:
    lli_text_release(&features);
    lli_text_release(&labels);
    return status;
}

typedef struct features {
    ll_dataset *train, *val, *test, *out;
    ll_head *head;
} features;

static void features_release(features *f) {
    ll_dataset *sets[] = {f->train, f->val, f->test, f->out};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        ll_dataset_free(sets[i]);
    ll_head_free(f->head);
}

static ll_status read_features(features *f, ll_context *ctx, const char *path) {
    ll_bundle *bundle;
    ll_status status;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    LLI_DO(read_part(&f->train, ctx, bundle, path, "train", 0));
    if (!f->train || !f->train->labels)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "%s has no features_train with labels_train", path));
    if (ll_bundle_find(bundle, "W") >= 0) {
        ll_array W = ll_bundle_array(bundle, ll_bundle_find(bundle, "W")), b = {0};
        bool bias = ll_bundle_find(bundle, "b") >= 0;
        if (bias)
            b = ll_bundle_array(bundle, ll_bundle_find(bundle, "b"));
        LLI_DO(ll_head_new(&f->head, ctx, W, bias ? &b : NULL, f->train->rows.D, LL_HEAD_LAYOUT_KD));
    }
    int64_t K = f->head ? ll_head_classes(f->head) : f->train->K;
    LLI_DO(read_part(&f->val, ctx, bundle, path, "val", K));
    LLI_DO(read_part(&f->test, ctx, bundle, path, "test", K));
    LLI_DO(read_part(&f->out, ctx, bundle, path, "out", K));
done:
    ll_bundle_free(bundle);
    return status;
}

static ll_status search_last(ll_context *ctx, lli_reproduce *r, int64_t seed, int task, int64_t layers) {
    char *path = NULL, *store = NULL;
    features f = {0};
    ll_status status;
    if (r->options.features)
        LLI_DO(lli_memory_text(ctx, &path, r->options.features));
    else
        LLI_DO(place(&path, ctx, r, seed, task, "encoded.npz"));
    LLI_DO(place(&store, ctx, r, seed, task, lli_scope_name(r, layers, false)));
    LLI_DO(read_features(&f, ctx, path));
    const ll_search_data data = {.train = f.train, .val = f.val, .test = f.test, .out = f.out, .head = layers == 1 ? f.head : NULL};
    ll_search_options o = search_options(r, seed, task, &r->experiment.last);
    o.layers = layers;
    LLI_DO(ll_search(ctx, store, &data, &o));
done:
    features_release(&f);
    lli_memory_free(path);
    lli_memory_free(store);
    return status;
}

static ll_status search_full(ll_context *ctx, lli_reproduce *r, int64_t seed, int task) {
    char *store = NULL;
    ll_network *network = NULL;
    ll_status status;
    LLI_DO(open_images(ctx, r, task));
    LLI_DO(open_network(&network, ctx, r, seed, task, false));
    LLI_DO(place(&store, ctx, r, seed, task, lli_scope_name(r, 1, true)));
    const ll_images *images = r->images[task];
    const ll_search_data data = {.train = ll_images_dataset(images, LL_IMAGES_TRAIN),
                                 .test = ll_images_dataset(images, LL_IMAGES_TEST),
                                 .out = task == LLI_TASK_OOD ? ll_images_dataset(images, LL_IMAGES_OUT) : NULL,
                                 .network = network};
    ll_search_options o = search_options(r, seed, task, &r->experiment.full);
    o.method = "sgd,sgld,bootstrap,dropout"; /* point is the network itself, and is in the search of the last layer */
    LLI_DO(ll_search(ctx, store, &data, &o));
done:
    ll_network_free(network);
    lli_memory_free(store);
    return status;
}

/* ---- stages and how long they take ---- */

typedef enum stage_kind { STAGE_FEATURES, STAGE_LAST, STAGE_FULL } stage_kind;

typedef struct stage {
    stage_kind kind;
    int64_t seed, layers;
    int task;
    double seconds; /* expected */
} stage;

enum { STAGES_MAX = LLI_SEEDS_MAX * LLI_TASKS * 5 };

/* Seconds that a search takes, when a row of a training step takes `row` seconds. */
static ll_status search_seconds(double *out, ll_context *ctx, const lli_reproduce *r, const lli_experiment_grid *grid, const char *methods, const ll_dataset *train,
                                int64_t rows, double row) {
    ll_search_options o = search_options(r, 0, 0, grid);
    lli_grid runs;
    if (methods)
        o.method = methods;
    LLI_TRY(lli_grid_init(&runs, ctx, &o, train, false));
    double cost = 0;
    for (int64_t i = 0; i < runs.count; i++)
        cost += (double)lli_run_cost(&runs.runs[i], train, NULL, rows);
    lli_grid_release(&runs);
    *out = cost / LLI_TRAIN_COST * row;
    return LL_OK;
}

typedef struct speeds {
    double head, network; /* seconds per row of training */
    ll_dataset train;     /* as many rows as there are, for counting steps */
    int64_t rows;         /* that are evaluated */
    int64_t epochs;       /* of the network's training */
} speeds;

static int64_t batch_of(const lli_reproduce *r) {
    lli_number x;
    return lli_number_parse(&x, r->experiment.batch_size, strlen(r->experiment.batch_size)) ? x.integer : 128;
}

static ll_status measure_features(ll_context *ctx, speeds *s, const lli_reproduce *r) {
    features f = {0};
    ll_status status;
    LLI_DO(read_features(&f, ctx, r->options.features));
    s->train.rows.N = f.train->rows.N;
    s->rows = (f.test ? f.test->rows.N : 0) + (f.val ? f.val->rows.N : 0) + (f.out ? f.out->rows.N : 0);
    LLI_DO(lli_speed_head(&s->head, ctx, f.train->rows.D, f.train->K, batch_of(r)));
done:
    features_release(&f);
    return status;
}

static ll_status measure(ll_context *ctx, speeds *s, lli_reproduce *r) {
    *s = (speeds){0};
    if (r->options.features)
        return measure_features(ctx, s, r);
    LLI_TRY(open_images(ctx, r, LLI_TASK_SELECTIVE));
    const ll_dataset *train = ll_images_dataset(r->images[LLI_TASK_SELECTIVE], LL_IMAGES_TRAIN), *test = ll_images_dataset(r->images[LLI_TASK_SELECTIVE], LL_IMAGES_TEST);
    if (!train || !test)
        return lli_fail(ctx, LL_ERR_DATA, "an experiment needs training images and test images");
    ll_network *network;
    LLI_TRY(lli_network_make(&network, ctx, r->experiment.net, train->rows.height, train->rows.width, train->rows.channels, train->K));
    ll_status status;
    s->train.rows.N = train->rows.N;
    s->rows = test->rows.N + train->rows.N / 10;
    s->epochs = r->experiment.epochs ? r->experiment.epochs : ll_train_options_default(r->experiment.net).epochs;
    LLI_DO(lli_speed_head(&s->head, ctx, network->model->features, train->K, batch_of(r)));
    lli_network_start(network->net, network->theta, 0, 0);
    LLI_DO(lli_speed_model(&s->network, ctx, network->model, network->theta, train, batch_of(r)));
done:
    ll_network_free(network);
    return status;
}

static ll_status expect(ll_context *ctx, stage *st, const lli_reproduce *r, const speeds *s) {
    double share = st->task == LLI_TASK_OOD ? 0.5 : 1; /* half of the classes */
    switch (st->kind) {
    case STAGE_FEATURES: st->seconds = r->options.network ? 1 : share * s->network * (double)(s->epochs * s->train.rows.N); return LL_OK;
    case STAGE_LAST:
        LLI_TRY(search_seconds(&st->seconds, ctx, r, &r->experiment.last, NULL, &s->train, s->rows, s->head));
        st->seconds *= share / ll_context_threads(ctx) * (double)(st->layers > 1 ? 500 * st->layers : 1);
        return LL_OK;
    case STAGE_FULL:
        LLI_TRY(search_seconds(&st->seconds, ctx, r, &r->experiment.full, "sgd,sgld,bootstrap,dropout", &s->train, s->rows, s->network));
        st->seconds *= share;
        return LL_OK;
    }
    return LL_OK;
}

static ll_status plan(ll_context *ctx, stage *stages, int64_t *count, double *total, lli_reproduce *r) {
    speeds s;
    LLI_TRY(measure(ctx, &s, r));
    *count = 0;
    *total = 0;
    for (int64_t seed = 0; seed < r->seed_count; seed++)
        for (int task = 0; task < r->tasks; task++) {
            if (!r->options.features)
                stages[(*count)++] = (stage){STAGE_FEATURES, seed, 1, task, 0};
            for (int64_t layers = 1; layers <= r->layers; layers++)
                stages[(*count)++] = (stage){STAGE_LAST, seed, layers, task, 0};
            if (r->full)
                stages[(*count)++] = (stage){STAGE_FULL, seed, 1, task, 0};
        }
    for (int64_t i = 0; i < *count; i++) {
        LLI_TRY(expect(ctx, &stages[i], r, &s));
        *total += stages[i].seconds;
    }
    return LL_OK;
}

static ll_status run_stage(ll_context *ctx, lli_reproduce *r, const stage *st) {
    switch (st->kind) {
    case STAGE_FEATURES: return encode(ctx, r, st->seed, st->task);
    case STAGE_LAST: return search_last(ctx, r, st->seed, st->task, st->layers);
    case STAGE_FULL: return search_full(ctx, r, st->seed, st->task);
    }
    return LL_OK;
}

/* "40 s", "12 min", "3.5 h" */
static void add_duration(lli_text *out, double seconds) {
    if (seconds < 100)
        lli_text_add(out, "%.0f s", fmax(1, seconds));
    else if (seconds < 5940)
        lli_text_add(out, "%.0f min", seconds / 60);
    else
        lli_text_add(out, "%.1f h", seconds / 3600);
}

static void tell(ll_context *ctx, const lli_reproduce *r, const stage *st, int64_t number, int64_t count, double left) {
    static const char *const names[] = {"network and features", "search of the last layer", "search of the full network"};
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "stage %" PRId64 " of %" PRId64 ": %s", number, count, names[st->kind]);
    if (st->layers > 1)
        lli_text_add(&text, ", %" PRId64 " layers", st->layers);
    lli_text_add(&text, ", %s, seed %" PRIu64 "; about ", st->task == LLI_TASK_OOD ? "half of the classes" : "all classes", r->seeds[st->seed]);
    add_duration(&text, left);
    lli_text_add(&text, number == 1 ? " in all" : " left");
    if (text.status == LL_OK)
        lli_log(ctx, LL_LOG_NOTE, "%s", text.data);
    lli_text_release(&text);
}

static ll_status run_all(ll_context *ctx, lli_reproduce *r) {
    stage stages[STAGES_MAX];
    int64_t count;
    double total, expected = 0, begin = lli_clock_seconds();
    LLI_TRY(plan(ctx, stages, &count, &total, r));
    for (int64_t i = 0; i < count; i++) {
        double spent = lli_clock_seconds() - begin, pace = expected > 5 ? spent / expected : 1; /* what the past says about the estimates */
        tell(ctx, r, &stages[i], i + 1, count, (total - expected) * pace);
        LLI_TRY(run_stage(ctx, r, &stages[i]));
        expected += stages[i].seconds;
        bool last_of_task = i + 1 == count || stages[i + 1].task != stages[i].task;
        if (last_of_task) { /* one set of images at a time */
            ll_images_free(r->images[stages[i].task]);
            r->images[stages[i].task] = NULL;
        }
    }
    return LL_OK;
}

ll_status ll_reproduce(char **out, ll_context *ctx, const char *name, const ll_reproduce_options *options) {
    *out = NULL;
    lli_reproduce *r;
    LLI_TRY(lli_memory_new(ctx, &r, 1, sizeof *r));
    r->options = options ? *options : ll_reproduce_options_default();
    ll_status status;
    LLI_DO(check(ctx, r, name, &r->options));
    LLI_DO(open_images(ctx, r, LLI_TASK_SELECTIVE)); /* what is missing is told before anything is made */
    LLI_DO(make_folders(ctx, r));
    LLI_DO(run_all(ctx, r));
    LLI_DO(lli_reproduce_tables(out, ctx, r));
done:
    for (int task = 0; task < LLI_TASKS; task++)
        ll_images_free(r->images[task]);
    lli_memory_free(r);
    return status;
}
