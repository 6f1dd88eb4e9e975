/* SPDX-License-Identifier: MIT */
/* lastlayer search: a grid of options, a store of finished trials, the sorted table. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct search_args {
    training_args training;
    const char *val_features, *val_labels, *test_features, *test_labels, *out_features, *store, *part;
    network_args network;
    bool show, json, csv, markdown;
    int64_t threads;
    ll_search_options options;
    ll_fit_options fit;
} search_args;

#define AT(member) offsetof(search_args, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "val-features", .type = LL_OPTION_TEXT, .offset = AT(val_features), .arg = "FILE",
     .standard = "half of the test rows, by the seed",
     .help = "rows that choose; the network that made the features must not have seen them"},
    {.name = "val-labels", .type = LL_OPTION_TEXT, .offset = AT(val_labels), .arg = "FILE", .help = "their labels"},
    {.name = "test-features", .type = LL_OPTION_TEXT, .offset = AT(test_features), .arg = "FILE",
     .help = "rows that report: FILE or FILE:NAME"},
    {.name = "test-labels", .type = LL_OPTION_TEXT, .offset = AT(test_labels), .arg = "FILE", .help = "their labels"},
    {.name = "out-features", .type = LL_OPTION_TEXT, .offset = AT(out_features), .arg = "FILE",
     .help = "out-of-distribution rows, for AUROC and AUPR"},
    {.name = "network", .type = LL_OPTION_TEXT, .offset = AT(network.network), .arg = "FILE",
     .help = "instead of features: a network of lastlayer train, all of whose layers the methods work on"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(network.data), .arg = "DATA",
     .help = "its images: " INPUTS_IMAGES ", a folder or a file; the rows it held out choose"},
    {.name = "store", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(store), .arg = "FOLDER",
     .help = "where finished trials are kept; the same command continues an interrupted search"},
    {.name = "part", .type = LL_OPTION_TEXT, .offset = AT(part), .arg = "I/N", .standard = "all of it",
     .help = "do share I of N of the trials, in the store FOLDER.part-I-of-N; lastlayer merge puts the parts together"},
    {.name = "show", .type = LL_OPTION_FLAG, .offset = AT(show), .help = "only print what the store holds"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
    {.name = "csv", .type = LL_OPTION_FLAG, .offset = AT(csv), .help = "print CSV"},
    {.name = "markdown", .type = LL_OPTION_FLAG, .offset = AT(markdown), .help = "print a Markdown table"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the numbers do not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(search_args *)args = (search_args){
        .training = training_defaults(), .options = ll_search_options_default(), .fit = ll_fit_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Training data", .table = training_table, .count = training_count, .base = AT(training)};
    out[1] = (option_group){.title = "Weights", .table = weight_table, .count = weight_count, .base = AT(training.weight)};
    out[2] = (option_group){.title = "Validation and test rows, output", .table = table, .count = COUNT(table)};
    out[3] = (option_group){.title = "Grid and choice", .base = AT(options)};
    out[3].table = ll_search_options_table(&out[3].count);
    out[4] = (option_group){.title = "Options of all trials", .base = AT(fit)};
    out[4].table = ll_fit_options_table(&out[4].count);
    return 5;
}

/* ---- inputs ---- */

typedef struct inputs {
    inputs_files files; /* that the rest lies in */
    ll_dataset *train, *val, *test, *out;
    ll_head *head;
    ll_network *network;
    ll_images *images;
    ll_search_data data; /* views of the above */
} inputs;

/* --features FILE, where FILE holds the parts of lastlayer encode, stands for all of them. What a flag names is not looked for. */
static ll_status use_whole(search_args *args, inputs_parts *p, ll_context *ctx, inputs_files *files) {
    ll_status status = inputs_find_parts(p, ctx, files, args->training.features);
    if (status != LL_OK || !*p->train || !*p->test || args->test_features)
        return status;
    args->test_features = p->test;
    if (!args->test_labels && *p->test_labels)
        args->test_labels = p->test_labels;
    if (!args->out_features && *p->out)
        args->out_features = p->out;
    if (!args->val_features && *p->val) {
        args->val_features = p->val;
        args->val_labels = *p->val_labels ? p->val_labels : NULL;
    }
    return LL_OK;
}

static ll_status check(const search_args *args, const parsed *typed) {
    const char *example = "lastlayer search --features features.npy --labels labels.npy --test-features test_features.npy "
                          "--test-labels test_labels.npy --store trials";
    ll_status status = inputs_require("--store", args->store, example);
    if (status == LL_OK && args->json + args->csv + args->markdown > 1)
        status = complain(LL_ERR_USAGE, "--json, --csv and --markdown exclude each other");
    int64_t part, parts;
    if (status == LL_OK)
        status = inputs_part(&part, &parts, args->part);
    if (status == LL_OK && !args->show && !args->network.network)
        status = inputs_require("--features", args->training.features, example);
    if (status == LL_OK)
        status = network_check(&args->network, &cmd_search, typed);
    static const char *const of_features[] = {"val-features", "val-labels", "out-features"};
    for (size_t i = 0; status == LL_OK && args->network.network && i < COUNT(of_features); i++)
        if (args_given(typed, &cmd_search, of_features[i]))
            status = complain(LL_ERR_USAGE, "--network and --%s exclude each other: a network is searched on images, with --data",
                              of_features[i]);
    if (status == LL_OK && args->val_labels && !args->val_features)
        status = complain(LL_ERR_USAGE, "--val-labels belongs to --val-features, which is missing");
    return status;
}

static ll_status read_rows(ll_dataset **out, ll_context *ctx, inputs_files *files, const char *what, const char *features,
                           const char *labels, int64_t K) {
    char found[INPUTS_WHERE];
    *out = NULL;
    if (!features)
        return LL_OK;
    ll_status status = labels ? LL_OK : inputs_find_labels(found, ctx, files, features);
    if (status != LL_OK)
        return status;
    if (!labels && !*found)
        return complain(LL_ERR_USAGE, "--%s-labels is missing", what);
    if (!labels)
        term_note("%s labels from %s", what, found);
    return inputs_read(out, ctx, files, features, labels ? labels : found, K);
}

static ll_status read_features(inputs *in, ll_context *ctx, search_args *args, inputs_parts *p) {
    ll_status status = use_whole(args, p, ctx, &in->files);
    if (status == LL_OK)
        status = inputs_require("--test-features", args->test_features, "--test-features test_features.npy --test-labels test_labels.npy");
    if (status == LL_OK)
        status = training_read(&in->train, &in->head, &args->fit, ctx, &in->files, &args->training);
    if (status == LL_OK && args->fit.layers == 1 && args->fit.init && strcmp(args->fit.init, "adam") == 0)
        status = complain(LL_ERR_USAGE, "a search of one layer starts at a head or at the MAP; leave out --init adam");
    int64_t K = status != LL_OK ? 0 : in->head ? ll_head_classes(in->head) : ll_dataset_classes(in->train);
    if (status == LL_OK)
        status = read_rows(&in->val, ctx, &in->files, "val", args->val_features, args->val_labels, K);
    if (status == LL_OK)
        status = read_rows(&in->test, ctx, &in->files, "test", args->test_features, args->test_labels, K);
    if (status == LL_OK && args->out_features)
        status = inputs_read(&in->out, ctx, &in->files, args->out_features, NULL, 0);
    in->data = (ll_search_data){.train = in->train, .val = in->val, .test = in->test, .out = in->out, .head = in->head};
    return status;
}

static ll_status read_network(inputs *in, ll_context *ctx, const search_args *args) {
    ll_status status = network_read(&in->network, &in->images, ctx, &args->network, &args->training.weight, NULL);
    if (status == LL_OK && !ll_images_dataset(in->images, LL_IMAGES_TEST))
        status = complain(LL_ERR_DATA, "%s has no test images", args->network.data);
    if (status != LL_OK)
        return status;
    in->data = (ll_search_data){.train = ll_images_dataset(in->images, LL_IMAGES_TRAIN),
                                .test = ll_images_dataset(in->images, LL_IMAGES_TEST),
                                .out = ll_images_dataset(in->images, LL_IMAGES_OUT),
                                .network = in->network};
    return LL_OK;
}

/* ---- the command ---- */

static ll_status print(ll_context *ctx, const search_args *args) {
    ll_results *results = NULL;
    char *text = NULL;
    ll_text_form form = args->json ? LL_TEXT_JSON : args->csv ? LL_TEXT_CSV : args->markdown ? LL_TEXT_MARKDOWN : LL_TEXT_PLAIN;
    ll_status status = ll_results_read(&results, ctx, args->store);
    if (status == LL_OK)
        status = ll_results_text(&text, ctx, results, args->options.protocol, args->options.by, form);
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_results_free(results);
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    static inputs_parts room;
    char folder[INPUTS_WHERE];
    search_args args = *(const search_args *)arguments;
    inputs in = {.train = NULL};
    ll_status status = check(&args, typed);
    if (status == LL_OK && !args.show) {
        status = args.network.network ? read_network(&in, ctx, &args) : read_features(&in, ctx, &args, &room);
        if (status == LL_OK && !in.val && !in.network && strcmp(args.options.protocol, "honest") == 0)
            term_note("no validation rows: half of the test rows, drawn by the seed, choose and the other half report");
        args.options.fit = &args.fit;
        int64_t part = 0, parts = 0;
        if (status == LL_OK)
            status = inputs_part(&part, &parts, args.part);
        if (status == LL_OK)
            status = parts ? ll_search_part(ctx, args.store, &in.data, &args.options, part, parts)
                           : ll_search(ctx, args.store, &in.data, &args.options);
    }
    if (status == LL_OK) {
        inputs_part_path(folder, args.store, args.part);
        args.store = folder;
        status = print(ctx, &args);
    }
    ll_dataset_free(in.train);
    ll_dataset_free(in.val);
    ll_dataset_free(in.test);
    ll_dataset_free(in.out);
    ll_head_free(in.head);
    inputs_files_close(&in.files);
    ll_images_free(in.images);
    ll_network_free(in.network);
    return status;
}

static const char *const examples[] = {
    "lastlayer search --features features.npy --labels labels.npy --test-features test_features.npy --test-labels test_labels.npy "
    "--lr 0.05,0.01 --samples 5,20 --epochs 5 --store trials",
    "lastlayer search --features features.npy --labels labels.npy --head head.npz --test-features test_features.npy "
    "--test-labels test_labels.npy --out-features out_features.npy --method point,sgd,sgld --lr auto,0.01 --samples 10 --store ood-trials",
    "lastlayer search --store trials --show --protocol paper",
    NULL,
};

const command cmd_search = {
    .name = "search",
    .summary = "try a grid of options; the best trial is chosen on separate rows",
    .usage = "--features FILE --labels FILE --test-features FILE --test-labels FILE [--val-features FILE --val-labels FILE] [--head FILE] "
             "[--out-features FILE] [--layers L] [LISTS] --store FOLDER\n"
             "--network FILE --data DATA [LISTS] --store FOLDER\n"
             "--store FOLDER --show [--protocol P] [--by RULE] [--json | --csv | --markdown]",
    .detail = "Fits and evaluates every combination of the lists: --lr 0.1,0.01 --samples 10,100. What follows a slash applies to one "
              "method: --samples 10,100,1000/bootstrap:10,100. Trials that differ in --samples only share one run. Each finished trial, "
              "even one that diverged, is stored at once: after a kill, run the same command to continue. Trials are chosen on validation "
              "rows; without them, half of the test rows choose and the other half report; --protocol paper chooses on the test rows, as "
              "the paper did. A file that holds features_train, labels_train, features_test, labels_test (and features_val, labels_val, "
              "features_out, W, b) may be given as --features. One layer starts at a head or at the MAP: --init adam is for --layers 2 "
              "and 3.",
    .examples = examples,
    .together = true,
    .args_size = sizeof(search_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
