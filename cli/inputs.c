/* SPDX-License-Identifier: MIT */
/* Files named on the command line: which are there, which are the same, and the training set they make. */
#include "inputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "term.h"

const char *const inputs_cost_names[] = {"costs", NULL};

#define AT(member) offsetof(training_args, member)

/* clang-format off */
const ll_option training_table[] = {
    {.name = "features", .type = LL_OPTION_TEXT, .offset = AT(features), .arg = "FILE",
     .help = "features [N,D]: FILE or FILE:NAME, or many: 'emb/part-*.npy', @list.txt, a folder; a whole file of lastlayer encode means "
             "its training part and its head"},
    {.name = "labels", .type = LL_OPTION_TEXT, .offset = AT(labels), .arg = "FILE",
     .help = "labels [N], whole numbers from 0; may be left out when the features file also has them (labels_train with features_train)"},
    {.name = "head", .type = LL_OPTION_TEXT, .offset = AT(head), .arg = "FILE",
     .help = "the trained last layer: a file with W and b (or weight and bias, kernel and bias, ...), or W alone"},
    {.name = "bias", .type = LL_OPTION_TEXT, .offset = AT(bias), .arg = "FILE", .help = "b [K] of --head, when it is not in that file"},
    {.name = "head-layout", .type = LL_OPTION_CHOICE, .offset = AT(head_layout), .arg = "LAYOUT", .choices = "kd|dk",
     .help = "W is [K,D] (PyTorch) or [D,K] (Keras); only needed when K = D"},
    {.name = "init", .type = LL_OPTION_CHOICE, .offset = AT(init), .arg = "START", .choices = "head|map|adam",
     .standard = "head if --head is given, else map; adam with --layers 2 or 3",
     .help = "where the methods start: the given head, the MAP solution found by L-BFGS, or layers trained by 20 epochs of Adam"},
    {.name = "classes", .type = LL_OPTION_INT, .offset = AT(classes), .arg = "K", .min = 2, .max = 2147483647,
     .standard = "1 + the largest label", .help = "number of classes"},
};
/* clang-format on */
const size_t training_count = sizeof training_table / sizeof training_table[0];

/* clang-format off */
const ll_option weight_table[] = {
    {.name = "weights", .type = LL_OPTION_TEXT, .offset = offsetof(weight_args, weights), .arg = "FILE", .standard = "1 each",
     .help = "weights [N] of the training rows, each at least 0: how much a row counts; rows of weight 0 are left out"},
    {.name = "class-weight", .type = LL_OPTION_TEXT, .offset = offsetof(weight_args, class_weight), .arg = "balanced|FILE",
     .standard = "1 each",
     .help = "weights [K] of the classes, times those of the rows; balanced is N/(K n_k), so that all classes count equally"},
};
/* clang-format on */
const size_t weight_count = sizeof weight_table / sizeof weight_table[0];

ll_status weight_read(ll_context *ctx, ll_dataset *data, const weight_args *args) {
    return ll_dataset_weigh_read(ctx, data, args->weights, args->class_weight);
}

/* clang-format off */
const ll_option network_table[] = {
    {.name = "network", .type = LL_OPTION_TEXT, .offset = offsetof(network_args, network), .arg = "FILE",
     .help = "instead of features: a network of lastlayer train, all of whose parameters the method works on"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = offsetof(network_args, data), .arg = "DATA",
     .help = "the images it was trained on: " INPUTS_IMAGES ", a folder or a file; rows it held out stay held out"},
};
/* clang-format on */
const size_t network_count = sizeof network_table / sizeof network_table[0];

ll_status network_check(const network_args *args, const command *cmd, const parsed *typed) {
    static const char *const of_features[] = {"features", "labels",  "head",   "bias",          "head-layout",
                                              "init",     "classes", "layers", "test-features", "test-labels"};
    if (!args->network)
        return args->data ? complain(LL_ERR_USAGE, "--data belongs to --network, which is missing") : LL_OK;
    for (size_t i = 0; i < sizeof of_features / sizeof of_features[0]; i++)
        if (args_given(typed, cmd, of_features[i]))
            return complain(LL_ERR_USAGE, "--network and --%s exclude each other: a network is fitted on images, with --data",
                            of_features[i]);
    return args->data ? LL_OK : complain(LL_ERR_USAGE, "--data is missing (for example: --network net.safetensors --data mnist)");
}

ll_status network_read(ll_network **network, ll_images **images, ll_context *ctx, const network_args *args, const weight_args *weight,
                       const char *out_data) {
    *network = NULL;
    *images = NULL;
    ll_status status = ll_network_read(network, ctx, args->network);
    if (status != LL_OK)
        return status;
    ll_images_options options = ll_network_images(*network);
    options.out_data = out_data;
    status = ll_images_read(images, ctx, args->data, &options);
    if (status == LL_OK && !ll_images_dataset(*images, LL_IMAGES_TRAIN))
        return complain(LL_ERR_DATA, "%s has no images to train on", args->data);
    if (status == LL_OK)
        status = weight_read(ctx, ll_images_dataset(*images, LL_IMAGES_TRAIN), weight);
    return status;
}

training_args training_defaults(void) {
    return (training_args){0};
}

ll_status inputs_require(const char *flag, const char *value, const char *example) {
    return value ? LL_OK : complain(LL_ERR_USAGE, "%s is missing (for example: %s)", flag, example);
}

ll_status inputs_require_truth(const ll_predictions *predictions, const char *path) {
    return ll_predictions_view(predictions)->truth ? LL_OK : complain(LL_ERR_USAGE, "%s holds no true labels; give --labels FILE", path);
}

bool inputs_ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

ll_status inputs_check_safetensors(const char *output, const char *what) {
    struct stat found;
    bool plain = stat(output, &found) != 0 || S_ISREG(found.st_mode);
    if (inputs_ends_with(output, ".safetensors") || !plain || inputs_is_stdout(output))
        return LL_OK;
    return complain(LL_ERR_USAGE, "the output is %s; %s is a file whose name ends in .safetensors", output, what);
}

ll_status inputs_split(inputs_list *out, const char *flag, const char *text, size_t expected, bool one_for_all) {
    *out = (inputs_list){0};
    if (!text)
        return LL_OK;
    size_t size = strlen(text) + 1;
    if (!(out->text = malloc(size)))
        return complain(LL_ERR_MEMORY, "memory ran out");
    memcpy(out->text, text, size);
    for (char *p = out->text; p && out->count < OPERANDS_MAX;) {
        out->item[out->count++] = p;
        p = strchr(p, ',');
        if (p)
            *p++ = 0;
    }
    if (out->count != expected && !(one_for_all && out->count == 1))
        return complain(LL_ERR_USAGE, "--%s has %zu entries; expected %zu, one per method", flag, out->count, expected);
    return LL_OK;
}

bool inputs_is_stdout(const char *path) {
    struct stat a, b;
    return stat(path, &a) == 0 && fstat(STDOUT_FILENO, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

FILE *inputs_written(const char *output) {
    term_written(output);
    return inputs_is_stdout(output) ? stderr : stdout;
}

/* ---- files that stay open ---- */

static ll_status open_once(const ll_bundle **out, ll_context *ctx, inputs_files *files, const char *path) {
    *out = NULL;
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(ll_bundle_path(files->bundle[i]), path) == 0) {
            *out = files->bundle[i];
            return LL_OK;
        }
    if (files->count == INPUTS_FILES)
        return complain(LL_ERR_USAGE, "the features lie in more than %d files", INPUTS_FILES);
    ll_status status = ll_bundle_read(&files->bundle[files->count], ctx, path);
    if (status == LL_OK)
        *out = files->bundle[files->count++];
    return status;
}

void inputs_files_close(inputs_files *files) {
    for (size_t i = 0; i < files->count; i++)
        ll_bundle_free(files->bundle[i]);
    files->count = 0;
}

/* The open file of FILE or FILE:NAME, or NULL; *name is NULL without one. A table is not taken from: its labels may be one of its columns,
 * which ll_dataset_read leaves out. */
static const ll_bundle *find_open(const inputs_files *files, const char *where, const char **name) {
    for (size_t i = 0; where && i < files->count; i++) {
        const char *path = ll_bundle_path(files->bundle[i]);
        size_t length = strlen(path);
        bool here = strncmp(where, path, length) == 0 && (!where[length] || (where[length] == ':' && access(where, F_OK) != 0));
        *name = here && where[length] ? where + length + 1 : NULL;
        if (here && strcmp(ll_bundle_format(files->bundle[i]), "csv") != 0)
            return files->bundle[i];
    }
    return NULL;
}

ll_status inputs_read(ll_dataset **data, ll_context *ctx, const inputs_files *files, const char *features, const char *labels,
                      int64_t classes) {
    const char *name, *label_name;
    const ll_bundle *bundle = find_open(files, features, &name), *truth = find_open(files, labels, &label_name);
    if (!bundle)
        return ll_dataset_read(data, ctx, features, labels, classes);
    return ll_dataset_from_bundle(data, ctx, bundle, name, truth, truth ? label_name : labels, classes);
}

ll_status inputs_find_labels(char out[INPUTS_WHERE], ll_context *ctx, inputs_files *files, const char *features) {
    static const char *const pairs[][2] = {
        {"features_train", "labels_train"},
        {"features_val", "labels_val"},
        {"features_test", "labels_test"},
        {"x_train", "y_train"},
        {"x_test", "y_test"},
        {"features", "labels"},
        {"x", "y"},
        {"X", "y"},
    };
    char path[4096];
    const char *name = NULL;
    ll_files *set;
    *out = 0;
    ll_status status = ll_files_find(&set, ctx, features);
    if (status != LL_OK)
        return status;
    bool fits = snprintf(path, sizeof path, "%s", ll_files_at(set, 0)) < (int)sizeof path; /* the first of many stands for all */
    ll_files_free(set);
    if (fits && access(path, F_OK) != 0) {
        char *colon = strrchr(path, ':');
        fits = colon != NULL;
        if (colon)
            *colon = 0;
        name = colon ? colon + 1 : NULL;
    }
    if (!fits)
        return LL_OK;
    const ll_bundle *bundle;
    status = open_once(&bundle, ctx, files, path);
    bool found = false;
    for (size_t i = 0; status == LL_OK && i < sizeof pairs / sizeof pairs[0] && !found; i++) {
        bool both = ll_bundle_find(bundle, pairs[i][0]) >= 0 && ll_bundle_find(bundle, pairs[i][1]) >= 0;
        found = both && (!name || strcmp(name, pairs[i][0]) == 0);
        if (found)
            snprintf(out, INPUTS_WHERE, "%.*s:%s", (int)(strlen(features) - (name ? strlen(name) + 1 : 0)), features, pairs[i][1]);
    }
    return status;
}

/* FILE:NAME, or "" where the bundle has no such array. */
static void find_array(char out[INPUTS_WHERE], const ll_bundle *bundle, const char *path, const char *name) {
    *out = 0;
    if (ll_bundle_find(bundle, name) >= 0 && snprintf(out, INPUTS_WHERE, "%s:%s", path, name) >= INPUTS_WHERE)
        *out = 0;
}

ll_status inputs_find_parts(inputs_parts *parts, ll_context *ctx, inputs_files *files, const char *where) {
    *parts = (inputs_parts){.whole = false};
    struct stat found;
    if (!where || stat(where, &found) != 0 || !S_ISREG(found.st_mode))
        return LL_OK;
    const ll_bundle *bundle;
    ll_status status = open_once(&bundle, ctx, files, where);
    if (status != LL_OK)
        return status;
    find_array(parts->train, bundle, where, "features_train");
    find_array(parts->val, bundle, where, "features_val");
    find_array(parts->val_labels, bundle, where, "labels_val");
    find_array(parts->test, bundle, where, "features_test");
    find_array(parts->test_labels, bundle, where, "labels_test");
    find_array(parts->out, bundle, where, "features_out");
    find_array(parts->head, bundle, where, "W");
    find_array(parts->bias, bundle, where, "b");
    parts->whole = *parts->train || *parts->test;
    return LL_OK;
}

/* ---- the training set ---- */

/* The array FILE:NAME of a file that is open; rank -1 for others. */
static ll_array open_array(const inputs_files *files, const char *where) {
    const char *name;
    const ll_bundle *bundle = find_open(files, where, &name);
    return ll_bundle_array(bundle, ll_bundle_find(bundle, name));
}

static ll_status read_head(ll_head **head, ll_context *ctx, const inputs_files *files, const training_args *args, int64_t D) {
    ll_head_layout layout = LL_HEAD_LAYOUT_AUTO;
    if (args->head_layout)
        layout = strcmp(args->head_layout, "kd") == 0 ? LL_HEAD_LAYOUT_KD : LL_HEAD_LAYOUT_DK;
    ll_array W = open_array(files, args->head), b = open_array(files, args->bias);
    ll_status status = W.rank != -1 && b.rank != -1 ? ll_head_new(head, ctx, W, &b, D, layout)
                                                    : ll_head_read(head, ctx, args->head, args->bias, D, layout);
    if (status == LL_OK && args->classes && args->classes != ll_head_classes(*head))
        return complain(LL_ERR_DATA, "--classes is %lld, but the head %s has %lld classes; leave --classes out", (long long)args->classes,
                        args->head, (long long)ll_head_classes(*head));
    return status;
}

/* A whole encoded file stands for its training part and, unless the flags say otherwise, its head. */
static ll_status resolve_whole(training_args *args, inputs_parts *parts, ll_context *ctx, inputs_files *files, bool one_layer) {
    ll_status status = inputs_find_parts(parts, ctx, files, args->features);
    if (status != LL_OK || !*parts->train)
        return status;
    args->features = parts->train;
    if (args->head || !*parts->head || !one_layer || (args->init && strcmp(args->init, "head") != 0))
        return LL_OK;
    args->head = parts->head;
    args->bias = args->bias ? args->bias : *parts->bias ? parts->bias : NULL;
    args->head_layout = args->head_layout ? args->head_layout : "kd";
    term_note("head from %s", args->head);
    return LL_OK;
}

ll_status training_read(ll_dataset **data, ll_head **head, ll_fit_options *options, ll_context *ctx, inputs_files *files,
                        const training_args *given) {
    char found[INPUTS_WHERE];
    inputs_parts parts;
    training_args resolved = *given;
    const training_args *args = &resolved;
    const char *labels = args->labels;
    *data = NULL;
    *head = NULL;
    ll_status status = resolve_whole(&resolved, &parts, ctx, files, options->layers == 1);
    if (status != LL_OK)
        return status;
    if (!args->head && (args->bias || args->head_layout))
        return complain(LL_ERR_USAGE, "--%s belongs to --head, which is missing", args->bias ? "bias" : "head-layout");
    if (!args->head && args->init && strcmp(args->init, "head") == 0)
        return complain(LL_ERR_USAGE, "--init head needs the head: --head FILE");
    status = labels ? LL_OK : inputs_find_labels(found, ctx, files, args->features);
    if (status != LL_OK)
        return status;
    if (!labels && *found) {
        labels = found;
        term_note("labels from %s", labels);
    }
    if (!labels && access(given->features, F_OK) == 0)
        return complain(LL_ERR_USAGE, "--labels is missing, and %s has no labels next to its features", given->features);
    options->init = args->init && strcmp(args->init, "head") != 0 ? args->init : NULL;
    status = inputs_read(data, ctx, files, args->features, labels, args->classes);
    if (status == LL_OK)
        status = weight_read(ctx, *data, &args->weight);
    if (status != LL_OK || !args->head)
        return status;
    if (options->init) {
        term_note("--head is not used with --init %s", options->init);
        return LL_OK;
    }
    return read_head(head, ctx, files, args, ll_dataset_features(*data));
}

ll_status val_read(ll_dataset **val, ll_context *ctx, inputs_files *files, const val_args *args, const char *training, int64_t classes) {
    char found[INPUTS_WHERE];
    inputs_parts parts;
    const char *features = args->val_features, *labels = args->val_labels;
    ll_status status = LL_OK;
    bool whole = !features && training;
    *val = NULL;
    if (whole)
        status = inputs_find_parts(&parts, ctx, files, training);
    if (status == LL_OK && whole && *parts.val && *parts.val_labels) {
        features = parts.val;
        labels = labels ? labels : parts.val_labels;
    }
    if (status != LL_OK || !features)
        return status == LL_OK && labels ? complain(LL_ERR_USAGE, "--val-labels belongs to --val-features, which is missing") : status;
    status = labels ? LL_OK : inputs_find_labels(found, ctx, files, features);
    if (status == LL_OK && !labels && !*found)
        return complain(LL_ERR_USAGE, "--val-labels is missing");
    return status == LL_OK ? inputs_read(val, ctx, files, features, labels ? labels : found, classes) : status;
}
