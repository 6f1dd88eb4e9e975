/* SPDX-License-Identifier: MIT */
/* lastlayer compare: all methods side by side. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct compare_args {
    training_args training;
    network_args network;
    const char *test_features, *test_labels, *out_data;
    val_args val;
    ll_compare_options options;
    int64_t threads;
    bool json, markdown;
    ll_fit_options fit;
} compare_args;

#define AT(member) offsetof(compare_args, member)
#define EXAMPLE \
    "lastlayer compare --features features.npy --labels labels.npy --test-features test_features.npy --test-labels test_labels.npy"

/* clang-format off */
static const ll_option test_table[] = {
    {.name = "test-features", .type = LL_OPTION_TEXT, .offset = AT(test_features), .arg = "FILE",
     .help = "features that training has not seen: FILE or FILE:NAME; may be left out when --features is a file of lastlayer encode"},
    {.name = "test-labels", .type = LL_OPTION_TEXT, .offset = AT(test_labels), .arg = "FILE", .help = "their labels"},
    {.name = "out-data", .type = LL_OPTION_TEXT, .offset = AT(out_data), .arg = "DATA",
     .standard = "test images of classes the network does not know",
     .help = "with --data: other images, as out-of-distribution points"},
    {.name = "val-features", .type = LL_OPTION_TEXT, .offset = AT(val.val_features), .arg = "FILE",
     .standard = "those of a file of lastlayer encode, else a half of the test rows",
     .help = "features of the rows that choose: temperature, cut and recommended method"},
    {.name = "val-labels", .type = LL_OPTION_TEXT, .offset = AT(val.val_labels), .arg = "FILE", .help = "their labels"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the numbers do not depend on it"},
    {.name = "predictions", .type = LL_OPTION_TEXT, .offset = AT(options.predictions), .arg = "FOLDER",
     .help = "also write the predictions of each method, FOLDER/METHOD.npz, for lastlayer report"},
    {.name = "members", .type = LL_OPTION_TEXT, .offset = AT(options.members), .arg = "ROWS", .standard = "none",
     .help = "test rows, like 0,5,10:20, for which these files keep the answer of each member"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
    {.name = "markdown", .type = LL_OPTION_FLAG, .offset = AT(markdown), .help = "print a Markdown table"},
};
/* clang-format on */

static void defaults(void *args) {
    *(compare_args *)args = (compare_args){
        .training = training_defaults(), .options = ll_compare_options_default(), .fit = ll_fit_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Training data", .table = training_table, .count = training_count, .base = AT(training)};
    out[1] = (option_group){.title = "Weights", .table = weight_table, .count = weight_count, .base = AT(training.weight)};
    out[2] = (option_group){.title = "Whole network", .table = network_table, .count = network_count, .base = AT(network)};
    out[3] = (option_group){.title = "Test and output", .table = test_table, .count = COUNT(test_table)};
    out[4] = (option_group){.title = "Comparison", .base = AT(options)};
    out[4].table = ll_compare_options_table(&out[4].count);
    out[5] = (option_group){.title = "Method", .base = AT(fit), .without = "method"};
    out[5].table = ll_fit_options_table(&out[5].count);
    return 6;
}

/* No FOLDER/NAME.npz is one of the inputs. */
static ll_status check_predictions(const compare_args *args) {
    const training_args *t = &args->training;
    const char *inputs[] = {t->features,
                            t->labels,
                            t->head,
                            t->bias,
                            t->weight.weights,
                            t->weight.class_weight,
                            args->network.network,
                            args->network.data,
                            args->test_features,
                            args->test_labels,
                            args->out_data};
    ll_status status = LL_OK;
    for (size_t i = 0; ll_compare_name(i / 2) && status == LL_OK; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s%s.npz", args->options.predictions, ll_compare_name(i / 2), i % 2 ? "+T" : "");
        status = length < (int)sizeof path ? inputs_check_output(path, inputs, COUNT(inputs))
                                           : complain(LL_ERR_USAGE, "the folder name of --predictions is too long");
    }
    return status;
}

static ll_status check(const compare_args *args, const parsed *typed) {
    ll_status status = network_check(&args->network, &cmd_compare, typed);
    if (status == LL_OK && args->out_data && !args->network.data)
        status = complain(LL_ERR_USAGE, "--out-data belongs to --data, which is missing");
    if (status == LL_OK && !args->network.network)
        status = inputs_require("--features", args->training.features, EXAMPLE);
    if (status == LL_OK && args->json && args->markdown)
        status = complain(LL_ERR_USAGE, "--json and --markdown exclude each other");
    if (status == LL_OK && args->options.members && !args->options.predictions)
        status = complain(LL_ERR_USAGE, "--members belongs to --predictions, which is missing");
    if (status == LL_OK && args->options.predictions && mkdir(args->options.predictions, 0777) != 0 && errno != EEXIST)
        status = complain(LL_ERR_WRITE, "the folder %s cannot be made: %s", args->options.predictions, strerror(errno));
    if (status == LL_OK && args->options.predictions)
        status = check_predictions(args);
    return status;
}

/* The test rows, and the out-of-distribution rows of a whole encoded file (*out, else NULL). */
static ll_status read_test(ll_dataset **test, ll_dataset **out, ll_context *ctx, inputs_files *files, const compare_args *args, int64_t K) {
    char found[INPUTS_WHERE];
    inputs_parts parts;
    const char *features = args->test_features ? args->test_features : args->training.features, *labels = args->test_labels;
    ll_status status = inputs_find_parts(&parts, ctx, files, features);
    if (status == LL_OK && !args->test_features && !*parts.test)
        status = inputs_require("--test-features", NULL, EXAMPLE);
    if (status != LL_OK)
        return status;
    if (*parts.test) {
        features = parts.test;
        term_note("test points from %s%s%s", features, *parts.out ? ", out-of-distribution points from " : "", parts.out);
    }
    status = labels ? LL_OK : inputs_find_labels(found, ctx, files, features);
    if (status != LL_OK)
        return status;
    if (!labels && *found) {
        labels = found;
        term_note("test labels from %s", labels);
    }
    if (!labels)
        return complain(LL_ERR_USAGE, "--test-labels is missing");
    status = inputs_read(test, ctx, files, features, labels, K);
    if (status == LL_OK && *parts.test && *parts.out)
        status = inputs_read(out, ctx, files, parts.out, NULL, 0);
    return status;
}

static ll_status compare_features(ll_comparison **out, ll_context *ctx, const compare_args *args) {
    ll_dataset *train = NULL, *test = NULL, *outside = NULL, *val = NULL;
    ll_head *head = NULL;
    inputs_files files = {.count = 0};
    ll_fit_options fit = args->fit;
    ll_compare_options options = args->options;
    options.fit = &fit;
    ll_status status = training_read(&train, &head, &fit, ctx, &files, &args->training);
    if (status == LL_OK)
        status = read_test(&test, &outside, ctx, &files, args, head ? ll_head_classes(head) : ll_dataset_classes(train));
    if (status == LL_OK && strcmp(args->options.protocol, "honest") == 0)
        status = val_read(&val, ctx, &files, &args->val, args->test_features ? NULL : args->training.features,
                          head ? ll_head_classes(head) : ll_dataset_classes(train));
    options.out = outside;
    options.choose = val;
    if (status == LL_OK)
        status = ll_compare(out, ctx, train, test, head, &options);
    ll_head_free(head);
    ll_dataset_free(test);
    ll_dataset_free(outside);
    ll_dataset_free(val);
    ll_dataset_free(train);
    inputs_files_close(&files);
    return status;
}

static ll_status compare_network(ll_comparison **out, ll_context *ctx, const compare_args *args) {
    ll_network *network;
    ll_images *images;
    ll_compare_options options = args->options;
    options.fit = &args->fit;
    ll_status status = network_read(&network, &images, ctx, &args->network, &args->training.weight, args->out_data);
    const ll_dataset *test = status == LL_OK ? ll_images_dataset(images, LL_IMAGES_TEST) : NULL;
    if (status == LL_OK && !test)
        status = complain(LL_ERR_DATA, "%s has no test images", args->network.data);
    if (status == LL_OK) {
        options.out = ll_images_dataset(images, LL_IMAGES_OUT);
        status = ll_compare_network(out, ctx, ll_images_dataset(images, LL_IMAGES_TRAIN), test, network, &options);
    }
    ll_images_free(images);
    ll_network_free(network);
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const compare_args *args = arguments;
    ll_comparison *comparison = NULL;
    char *text = NULL;
    ll_status status = check(args, typed);
    if (status == LL_OK)
        status = (args->network.network ? compare_network : compare_features)(&comparison, ctx, args);
    if (status == LL_OK)
        status = ll_comparison_text(&text, ctx, comparison, args->json ? LL_TEXT_JSON : args->markdown ? LL_TEXT_MARKDOWN : LL_TEXT_PLAIN);
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_comparison_free(comparison);
    return status;
}

static const char *const examples[] = {
    "lastlayer compare --features features.npy --labels labels.npy --test-features test_features.npy --test-labels test_labels.npy",
    "lastlayer compare --features features.npy --labels labels.npy --test-features test_features.npy --test-labels test_labels.npy "
    "--head head.npz --samples 20 --markdown",
    "lastlayer compare --features features.npy --labels labels.npy --test-features test_features.npy --test-labels test_labels.npy "
    "--samples 10 --predictions predictions",
    "lastlayer compare --features features.npy --labels labels.npy --test-features test_features.npy --test-labels test_labels.npy "
    "--methods all --samples 20 --epochs 2",
    "lastlayer compare --network net.safetensors --data mnist --samples 2 --epochs 2",
    NULL,
};

const command cmd_compare = {
    .name = "compare",
    .summary = "methods with their defaults side by side, one table, a recommendation",
    .usage = "--features FILE --labels FILE --test-features FILE --test-labels FILE [--head FILE] [--layers L] [OPTIONS]\n"
             "--network FILE --data DATA [--out-data DATA] [OPTIONS]",
    .detail = "Fits the methods on the training data, evaluates each on the test data with intervals, and recommends the simplest that "
              "is within noise of the best. The rows that choose it are not those of the table. "
              "An option of the methods applies to every method that uses it.",
    .examples = examples,
    .args_size = sizeof(compare_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
