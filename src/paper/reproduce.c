/* SPDX-License-Identifier: MIT */
/* One experiment of the paper from end to end: train, encode, search, tables beside the paper's. Everything lies in FOLDER/NAME, and what
 * is there is not made again (NAME-quick in the short version, NAME-given on a given network or features):
 *
 *     seed-0/selective/network.safetensors  encoded.npz  last/ full/ (stores of searches)
 *     seed-0/ood/...                        the same on half of the classes
 *     tables.md  tables.tex  tables.csv  tables.json  figures/ */
#include "paper/reproduce.h"

#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/file.h"
#include "formats/number.h"
#include "interop/encoded.h"
#include "interop/trained.h"
#include "search/search.h"
#include "paper/stages.h"

void ll_reproduce_options_init(ll_reproduce_options *options, size_t struct_size) {
    const ll_reproduce_options defaults = {.results = "results", .seeds = "0"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_reproduce_options, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "quick", .type = LL_OPTION_FLAG, .offset = AT(quick),
     .help = "a short version: every step, with small grids and barely trained networks"},
    {.name = "full", .type = LL_OPTION_FLAG, .offset = AT(full), .help = "everything, also the methods on all layers of the network"},
    {.name = "seeds", .type = LL_OPTION_TEXT, .offset = AT(seeds), .arg = "LIST", .standard = "0",
     .help = "one run per seed; tables have mean and standard deviation"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "FOLDER", .standard = "found by NAME",
     .help = "where the images are"},
    {.name = "network", .type = LL_OPTION_TEXT, .offset = AT(network), .arg = "FILE",
     .help = "a trained network of these images, instead of training one"},
    {.name = "net", .type = LL_OPTION_TEXT, .offset = AT(net), .arg = "NET", .standard = "the paper's",
     .help = "what to train, like vgg16:width=0.25"},
    {.name = "epochs", .letter = 'E', .type = LL_OPTION_INT, .offset = AT(epochs), .arg = "E", .min = 1, .max = 1e6,
     .standard = "the paper's", .help = "epochs of that training", .unset = LL_OPTION_UNSET_ZERO},
    {.name = "full-lr", .type = LL_OPTION_TEXT, .offset = AT(full_lr), .arg = "LIST", .standard = "the paper's",
     .help = "learning rates on the full network"},
    {.name = "full-samples", .type = LL_OPTION_TEXT, .offset = AT(full_samples), .arg = "LIST", .standard = "100/bootstrap:20",
     .help = "members on the full network"},
    {.name = "full-epochs", .type = LL_OPTION_TEXT, .offset = AT(full_epochs), .arg = "LIST", .standard = "bootstrap:10/dropout:100",
     .help = "epochs of bootstrap and dropout on the full network"},
    {.name = "full-dropout", .type = LL_OPTION_TEXT, .offset = AT(full_dropout), .arg = "LIST", .standard = "0.1,0.3,0.5",
     .help = "rates of dropout on the full network"},
    {.name = "features", .type = LL_OPTION_TEXT, .offset = AT(features), .arg = "FILE",
     .help = "features of lastlayer encode (features_train, labels_train, features_test, ...), instead of images: the last layer only"},
    {.name = "results", .type = LL_OPTION_TEXT, .offset = AT(results), .arg = "FOLDER", .standard = "results",
     .help = "where NAME/ is made"},
    {.name = "latex", .type = LL_OPTION_FLAG, .offset = AT(latex), .help = "print the tables as LaTeX (booktabs) instead of Markdown"},
};
/* clang-format on */

const ll_option *ll_reproduce_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

/* ---- set-up ---- */

static ll_status read_seeds(ll_context *ctx, lli_reproduce *r, const char *text) {
    for (const char *p = text; p;) {
        size_t length = strcspn(p, ",");
        lli_number x;
        if (!lli_number_parse(&x, p, length) || !x.is_integer || x.integer < 0)
            return lli_fail(ctx, LL_ERR_USAGE, "`seeds` is %.60s; expected whole numbers with commas between them", text);
        if (r->seed_count == LLI_SEEDS_MAX)
            return lli_fail(ctx, LL_ERR_USAGE, "`seeds` has more than %d entries", LLI_SEEDS_MAX);
        for (int64_t i = 0; i < r->seed_count; i++)
            if (r->seeds[i] == (uint64_t)x.integer)
                return lli_fail(ctx, LL_ERR_USAGE, "`seeds` has %" PRIu64 " twice; give each seed once", r->seeds[i]);
        r->seeds[r->seed_count++] = (uint64_t)x.integer;
        p = p[length] ? p + length + 1 : NULL;
    }
    return LL_OK;
}

static void override(lli_experiment *e, const ll_reproduce_options *o) {
    const char *const given[] = {o->net, o->full_lr, o->full_samples, o->full_epochs, o->full_dropout};
    const char **const place[] = {&e->net, &e->full.lr, &e->full.samples, &e->full.epochs, &e->full.dropout};
    for (size_t i = 0; i < LLI_COUNT(given); i++)
        if (given[i])
            *place[i] = given[i];
    if (o->epochs)
        e->epochs = o->epochs;
}

/* What would change nothing is refused. */
static ll_status check_idle(ll_context *ctx, const ll_reproduce_options *o) {
    const char *given = o->features ? "features" : "network";
    if ((o->features || o->network) && (o->net || o->epochs))
        return lli_fail(ctx, LL_ERR_USAGE, "%s says what to train, and with %s nothing is trained; leave one out",
                        lli_option_name(ctx, o->net ? "net" : "epochs").text, lli_option_name(ctx, given).text);
    const char *const lists[] = {o->full_lr, o->full_samples, o->full_epochs, o->full_dropout};
    static const char *const flags[] = {"full-lr", "full-samples", "full-epochs", "full-dropout"};
    for (size_t i = 0; i < LLI_COUNT(lists); i++)
        if (lists[i] && (o->features || !(o->full || o->quick)))
            return lli_fail(ctx, LL_ERR_USAGE,
                            o->features ? "%s belongs to the grid of the full network, which features do not have"
                                        : "%s belongs to the grid of the full network, which only `full` and `quick` search",
                            lli_option_name(ctx, flags[i]).text);
    return LL_OK;
}

typedef struct sentence_part {
    char text[500];
} sentence_part;

static sentence_part files_of(const ll_context *ctx, const lli_reproduce *r) {
    sentence_part part;
    ll_option_words(part.text, sizeof part.text, r->experiment.files, lli_option_style(ctx));
    return part;
}

static ll_status check(ll_context *ctx, lli_reproduce *r, const char *name, const ll_reproduce_options *o) {
    LLI_TRY(lli_experiment_find(&r->experiment, ctx, name, o->quick));
    if (o->quick && o->full)
        return lli_fail(ctx, LL_ERR_USAGE, "`quick` and `full` exclude each other");
    if (o->features && (o->network || o->data || o->full))
        return lli_fail(ctx, LL_ERR_USAGE, "`features` replaces images and network, and allows the last layer only; leave %s out",
                        lli_option_name(ctx, o->network ? "network"
                                             : o->data  ? "data"
                                                        : "full")
                            .text);
    if (!r->experiment.net && !o->features)
        return lli_fail(ctx, LL_ERR_USAGE, "%s needs %s", name, files_of(ctx, r).text);
    LLI_TRY(check_idle(ctx, o));
    LLI_TRY(read_seeds(ctx, r, o->seeds));
    override(&r->experiment, o);
    if (o->network && r->seed_count > 1)
        return lli_fail(ctx, LL_ERR_USAGE, "`network` is one network; give one seed");
    r->full = !o->features && (o->quick || o->full) && r->experiment.full.lr;
    r->tasks = o->features || o->network || !r->experiment.half ? 1 : LLI_TASKS;
    r->layers = o->features ? r->experiment.layers : 1;
    return LL_OK;
}

static ll_status place_of(char **out, ll_context *ctx, const lli_reproduce *r, int64_t seed, int task, const char *name) {
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "%s/%s%s/seed-%" PRIu64 "/%s/%s", r->options.results, r->experiment.name, lli_reproduce_suffix(r), r->seeds[seed],
                 lli_tasks[task], name);
    return lli_text_take(&text, out);
}

static ll_status make_folders(ll_context *ctx, const lli_reproduce *r) {
    for (int64_t seed = 0; seed < r->seed_count; seed++)
        for (int task = 0; task < r->tasks; task++) {
            char *path;
            ll_status status = LL_OK;
            LLI_TRY(place_of(&path, ctx, r, seed, task, ""));
            for (char *p = path + 1; *p && status == LL_OK; p++)
                if (*p == '/') {
                    *p = 0;
                    status = lli_file_make_folder(ctx, path);
                    *p = '/';
                }
            lli_memory_free(path);
            LLI_TRY(status);
        }
    return LL_OK;
}

/* ---- images, network, features ---- */

ll_status lli_reproduce_images(ll_context *ctx, lli_reproduce *r, int task) {
    if (r->images[task] || r->options.features)
        return LL_OK;
    ll_images_options o = ll_images_options_default();
    if (task == LLI_TASK_OOD)
        o.classes = r->experiment.half;
    ll_status status = ll_images_read(&r->images[task], ctx, r->options.data ? r->options.data : r->experiment.name, &o);
    if (status == LL_ERR_READ && r->experiment.files) {
        char why[LLI_MESSAGE_MAX];
        memcpy(why, ctx->message, sizeof why);
        return lli_fail(ctx, status, "%.400s; %s needs %s", why, r->experiment.name, files_of(ctx, r).text);
    }
    return status;
}

static int64_t epochs_of(const lli_reproduce *r) {
    return r->experiment.epochs ? r->experiment.epochs : ll_train_options_default(r->experiment.net).epochs;
}

/* One that an earlier call left must be what this one would train. */
static ll_status check_network(ll_context *ctx, const lli_reproduce *r, const ll_network *network, const ll_dataset *train,
                               const char *path) {
    int64_t epochs;
    ll_network_epochs(network, &epochs);
    const char *rows = lli_provenance_get(&network->provenance, "features_sha256");
    if (rows && strcmp(rows, train->features_hash) != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "%s was trained on other images than this call has; choose another `results`", path);
    if (strcmp(ll_network_text(network), r->experiment.net) == 0 && epochs == epochs_of(r))
        return LL_OK;
    return lli_fail(ctx, LL_ERR_USAGE,
                    "%s is %s after %" PRId64 " epochs, where %s after %" PRId64 " was asked for; choose another `results`", path,
                    ll_network_text(network), epochs, r->experiment.net, epochs_of(r));
}

static ll_status open_network(ll_network **out, ll_context *ctx, lli_reproduce *r, int64_t seed, int task, bool train) {
    char *path = NULL;
    ll_status status;
    if (r->options.network)
        return ll_network_read(out, ctx, r->options.network);
    LLI_DO(place_of(&path, ctx, r, seed, task, "network.safetensors"));
    if (!train || lli_file_exists(path)) {
        LLI_DO(ll_network_read(out, ctx, path));
        LLI_DO(check_network(ctx, r, *out, ll_images_dataset(r->images[task], LL_IMAGES_TRAIN), path));
        goto done;
    }
    ll_train_options o = ll_train_options_default(r->experiment.net);
    int64_t K;
    o.net = r->experiment.net;
    o.classes = ll_images_classes(r->images[task], &K);
    o.seed = r->seeds[seed];
    o.epochs = epochs_of(r);
    LLI_DO(ll_train_write(out, ctx, path, ll_images_dataset(r->images[task], LL_IMAGES_TRAIN), &o, true));
done:
    lli_memory_free(path);
    return status;
}

static ll_status encode(ll_context *ctx, lli_reproduce *r, int64_t seed, int task) {
    char *path = NULL;
    ll_network *network = NULL;
    ll_status status;
    LLI_DO(place_of(&path, ctx, r, seed, task, "encoded.npz"));
    LLI_DO(lli_reproduce_images(ctx, r, task));
    LLI_DO(open_network(&network, ctx, r, seed, task, true));
    const ll_images *images = r->images[task];
    const ll_encode_data data = {.train = ll_images_dataset(images, LL_IMAGES_TRAIN),
                                 .test = ll_images_dataset(images, LL_IMAGES_TEST),
                                 .out = task == LLI_TASK_OOD ? ll_images_dataset(images, LL_IMAGES_OUT) : NULL};
    if (lli_file_exists(path))
        LLI_DO(lli_encoded_check(ctx, path, network, &data));
    else
        LLI_DO(ll_encode_write(ctx, path, network, &data, NULL));
done:
    ll_network_free(network);
    lli_memory_free(path);
    return status;
}

/* A given network must know the classes of the images, in their order. */
static ll_status check_given(ll_context *ctx, lli_reproduce *r) {
    if (!r->options.network)
        return LL_OK;
    const ll_images *images = r->images[LLI_TASK_SELECTIVE];
    const ll_dataset *train = ll_images_dataset(images, LL_IMAGES_TRAIN);
    ll_network *network;
    int64_t K;
    ll_images_classes(images, &K);
    LLI_TRY(ll_network_read(&network, ctx, r->options.network));
    bool same = network->model->K == K;
    for (int64_t k = 0; same && k < K; k++)
        same = network->classes[k] == k;
    ll_status status = train ? lli_trained_check_rows(ctx, network, &train->rows, "the images") : LL_OK;
    if (!same)
        status = lli_fail(ctx, LL_ERR_DATA, "%s: the network must know the classes 0 to %" PRId64 " of %s, in that order; its are %.60s",
                          r->options.network, K - 1, r->experiment.name, lli_provenance_get(&network->provenance, "classes"));
    ll_network_free(network);
    return status;
}

/* ---- searches ---- */

ll_search_options lli_reproduce_search(ll_fit_options *fit, const lli_reproduce *r, int64_t seed, const lli_experiment_grid *grid) {
    ll_search_options o = ll_search_options_default();
    *fit = ll_fit_options_default();
    fit->seed = r->seeds[seed];
    o.fit = fit;
    o.lr = grid->lr;
    o.samples = grid->samples;
    o.epochs = grid->epochs;
    o.dropout = grid->dropout;
    o.batch_size = r->experiment.batch_size;
    return o;
}

static ll_status search(ll_context *ctx, const char *store, const ll_search_data *data, const ll_search_options *o, lli_text *names) {
    lli_text_init(names, ctx);
    return lli_search_named(ctx, store, data, o, names, &(lli_share){0});
}

static ll_status search_last(ll_context *ctx, lli_reproduce *r, int64_t seed, int task, int64_t layers) {
    char *path = NULL, *store = NULL;
    ll_encoded *f = NULL;
    ll_status status;
    if (r->options.features)
        LLI_DO(lli_memory_text(ctx, &path, r->options.features));
    else
        LLI_DO(place_of(&path, ctx, r, seed, task, "encoded.npz"));
    LLI_DO(place_of(&store, ctx, r, seed, task, lli_reproduce_scope(r, layers, false)));
    LLI_DO(lli_encoded_read_training(&f, ctx, path));
    const ll_search_data data = {.train = f->train, .val = f->val, .test = f->test, .out = f->out, .head = layers == 1 ? f->head : NULL};
    ll_fit_options fit;
    const ll_search_options o = lli_reproduce_search(&fit, r, seed, &r->experiment.last);
    fit.layers = layers;
    r->unknown = r->options.features && f->out;
    LLI_DO(search(ctx, store, &data, &o, &r->trials[seed][task][layers - 1]));
done:
    ll_encoded_free(f);
    lli_memory_free(path);
    lli_memory_free(store);
    return status;
}

static ll_status search_full(ll_context *ctx, lli_reproduce *r, int64_t seed, int task) {
    char *store = NULL;
    ll_network *network = NULL;
    ll_status status;
    LLI_DO(lli_reproduce_images(ctx, r, task));
    LLI_DO(open_network(&network, ctx, r, seed, task, false));
    LLI_DO(place_of(&store, ctx, r, seed, task, lli_reproduce_scope(r, 1, true)));
    const ll_images *images = r->images[task];
    const ll_search_data data = {.train = ll_images_dataset(images, LL_IMAGES_TRAIN),
                                 .test = ll_images_dataset(images, LL_IMAGES_TEST),
                                 .out = task == LLI_TASK_OOD ? ll_images_dataset(images, LL_IMAGES_OUT) : NULL,
                                 .network = network};
    ll_fit_options fit;
    ll_search_options o = lli_reproduce_search(&fit, r, seed, &r->experiment.full);
    o.method = "sgd,sgld,bootstrap,dropout"; /* point is the network itself, and is in the search of the last layer */
    LLI_DO(search(ctx, store, &data, &o, &r->trials[seed][task][r->layers]));
done:
    ll_network_free(network);
    lli_memory_free(store);
    return status;
}

static ll_status run_stage(ll_context *ctx, lli_reproduce *r, const lli_stage *st) {
    switch (st->kind) {
    case LLI_STAGE_FEATURES: return encode(ctx, r, st->seed, st->task);
    case LLI_STAGE_LAST: return search_last(ctx, r, st->seed, st->task, st->layers);
    case LLI_STAGE_FULL: return search_full(ctx, r, st->seed, st->task);
    }
    return LL_OK;
}

static ll_status run_all(ll_context *ctx, lli_reproduce *r) {
    lli_stage stages[LLI_STAGES_MAX];
    int64_t count;
    double left = 0, took = 0, expected = 0; /* seconds: of the stages to come; of those behind, without what an earlier call had made */
    LLI_TRY(lli_stages_plan(stages, &count, ctx, r));
    for (int64_t i = 0; i < count; i++)
        left += stages[i].seconds;
    for (int64_t i = 0; i < count; i++) {
        lli_stages_tell(ctx, r, &stages[i], i + 1, count, left * (expected > 5 ? took / expected : 1));
        double begin = lli_clock_seconds();
        LLI_TRY(run_stage(ctx, r, &stages[i]));
        double seconds = lli_clock_seconds() - begin;
        left -= stages[i].seconds;
        if (seconds > 0.2 * stages[i].seconds) {
            took += seconds;
            expected += stages[i].seconds;
        }
        bool last_of_task = i + 1 == count || stages[i + 1].task != stages[i].task;
        if (last_of_task) { /* one set of images at a time */
            ll_images_free(r->images[stages[i].task]);
            r->images[stages[i].task] = NULL;
        }
    }
    return LL_OK;
}

ll_status ll_reproduce(char **out, ll_context *ctx, const char *name, const ll_reproduce_options *options) {
    LLI_NEED(ctx, out, name);
    *out = NULL;
    lli_reproduce *r;
    LLI_TRY(lli_memory_new(ctx, &r, 1, sizeof *r));
    r->options = ll_reproduce_options_default();
    ll_status status;
    LLI_DO(LLI_OPTION_TAKE(ctx, ll_reproduce_options, &r->options, options, table, LLI_COUNT(table)));
    if (!r->options.results || !r->options.seeds)
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE,
                        "results and seeds of ll_reproduce_options must not be NULL: start from ll_reproduce_options_default()"));
    LLI_DO(check(ctx, r, name, &r->options));
    LLI_DO(lli_reproduce_images(ctx, r, LLI_TASK_SELECTIVE)); /* reports what is missing before anything is made */
    LLI_DO(check_given(ctx, r));
    LLI_DO(make_folders(ctx, r));
    LLI_DO(run_all(ctx, r));
    LLI_DO(lli_reproduce_tables(out, ctx, r));
done:
    for (int task = 0; task < LLI_TASKS; task++)
        ll_images_free(r->images[task]);
    for (int64_t seed = 0; seed < LLI_SEEDS_MAX; seed++)
        for (int task = 0; task < LLI_TASKS; task++)
            for (int scope = 0; scope < LLI_SCOPES_MAX; scope++)
                lli_text_release(&r->trials[seed][task][scope]);
    lli_memory_free(r);
    return status;
}
