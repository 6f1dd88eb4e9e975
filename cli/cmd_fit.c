/* SPDX-License-Identifier: MIT */
/* lastlayer fit: features and labels to an ensemble of last layers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "inputs.h"
#include "ranks.h"
#include "term.h"

typedef struct fit_args {
    training_args training;
    network_args network;
    val_args val;
    ll_fit_options options;
    const char *output, *part, *members_out;
    int64_t threads;
    bool resume;
} fit_args;

/* clang-format off */
static const ll_option val_table[] = {
    {.name = "val-features", .type = LL_OPTION_TEXT, .offset = offsetof(val_args, val_features), .arg = "FILE",
     .standard = "those of a file of lastlayer encode", .help = "rows that training has not seen, for --prior-precision validation"},
    {.name = "val-labels", .type = LL_OPTION_TEXT, .offset = offsetof(val_args, val_labels), .arg = "FILE", .help = "their labels"},
};

static const ll_option run_table[] = {
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = offsetof(fit_args, output), .arg = "FILE",
     .help = "the ensemble to write, .safetensors"},
    {.name = "resume", .type = LL_OPTION_FLAG, .offset = offsetof(fit_args, resume),
     .help = "continue an interrupted run from FILE.partial; the result is the same to the bit"},
    {.name = "part", .type = LL_OPTION_TEXT, .offset = offsetof(fit_args, part), .arg = "I/N", .standard = "all of it",
     .help = "do share I of N, whole members or chains, into FILE.part-I-of-N; lastlayer merge puts the parts together"},
    {.name = "members-out", .type = LL_OPTION_TEXT, .offset = offsetof(fit_args, members_out), .arg = "FILE", .standard = "not drawn",
     .help = "with --method laplace: also draw the S members from the Gaussian and write them as an ordinary ensemble, .safetensors"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = offsetof(fit_args, threads), .arg = "T", .min = 1, .max = 1024,
     .standard = "all processors", .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(fit_args *)args = (fit_args){.training = training_defaults(), .options = ll_fit_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = training_table, .count = training_count, .base = offsetof(fit_args, training)};
    out[1] = (option_group){.title = "Weights", .table = weight_table, .count = weight_count, .base = offsetof(fit_args, training.weight)};
    out[2] = (option_group){.title = "Whole network", .table = network_table, .count = network_count, .base = offsetof(fit_args, network)};
    out[3] = (option_group){.title = "Method", .base = offsetof(fit_args, options)};
    out[3].table = ll_fit_options_table(&out[3].count);
    out[4] = (option_group){.title = "Validation", .table = val_table, .count = COUNT(val_table), .base = offsetof(fit_args, val)};
    out[5] = (option_group){.title = "Run", .table = run_table, .count = COUNT(run_table)};
    return 6;
}

/* Does finding theta* read this option? */
static bool start_uses(const fit_args *args, const char *option) {
    bool adam = args->options.layers > 1 || (args->training.init && strcmp(args->training.init, "adam") == 0);
    bool read = strcmp(option, "batch-size") == 0 || strcmp(option, "seed") == 0 || strcmp(option, "shuffle") == 0;
    return strcmp(option, "method") == 0 || strcmp(option, "layers") == 0 || strcmp(option, "scores") == 0 || (adam && read);
}

static void note_unused(const fit_args *args, const parsed *typed) {
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    const char *method = args->options.method;
    for (size_t i = 0; i < count; i++)
        if (args_given(typed, &cmd_fit, table[i].name) && !start_uses(args, table[i].name) && !ll_method_uses(method, table[i].name))
            term_note("--%s is not used by the method %s", table[i].name, method);
    if (args->val.val_features && args->options.prior_precision != LL_PRIOR_VALIDATION)
        term_note("--val-features is not used without --prior-precision validation");
}

static int64_t samples_of(const ll_fit_options *options) {
    for (size_t i = 0; i < ll_method_count(); i++) {
        const ll_method_info *info = ll_method_get(i);
        if (strcmp(info->name, options->method) == 0)
            return info->samples <= 1 || !options->samples ? info->samples : options->samples;
    }
    return options->samples;
}

static void summary(const fit_args *args, int64_t K, int64_t D, double seconds) {
    char path[INPUTS_WHERE];
    inputs_part_path(path, args->output, args->part);
    FILE *to = inputs_written(path);
    int64_t S = samples_of(&args->options);
    if (args->part) {
        term_print(to, "%s: part %s, %" PRId64 " classes, %" PRId64 " features, %.1f s -> %s\n", args->options.method, args->part, K, D,
                   seconds, path);
        return;
    }
    term_print(to, "%s: %" PRId64 " member%s, %" PRId64 " classes, %" PRId64 " features, %.1f s -> %s\n", args->options.method, S,
               S == 1 ? "" : "s", K, D, seconds, args->output);
}

static ll_status check_members_out(const fit_args *args) {
    if (!ll_method_uses(args->options.method, "structure"))
        return complain(LL_ERR_USAGE,
                        "--members-out draws from a Gaussian, which --method laplace has; the members of %s are in --output already",
                        args->options.method);
    if (args->part)
        return complain(LL_ERR_USAGE, "--members-out and --part do not go together; one process draws the members of the merged ensemble");
    if (strcmp(args->members_out, args->output) == 0)
        return complain(LL_ERR_USAGE, "--members-out and --output are both %s; give them different names", args->output);
    const char *inputs[] = {args->training.features, args->training.labels, args->training.head, args->training.bias};
    ll_status status = inputs_check_output(args->members_out, inputs, COUNT(inputs));
    return status == LL_OK ? inputs_check_safetensors(args->members_out, "an ensemble") : status;
}

static ll_status check(const fit_args *args, const parsed *typed) {
    const char *example = "lastlayer fit --features features.npy --labels labels.npy -o ens.safetensors";
    const training_args *t = &args->training;
    const char *inputs[] = {t->features,           t->labels,          t->weight.weights,      t->weight.class_weight, t->head, t->bias,
                            args->network.network, args->network.data, args->val.val_features, args->val.val_labels};
    ll_status status = network_check(&args->network, &cmd_fit, typed);
    if (status == LL_OK && !args->network.network)
        status = inputs_require("--features", args->training.features, example);
    if (status == LL_OK)
        status = inputs_require("--output", args->output, example);
    if (status == LL_OK)
        status = inputs_check_output(args->output, inputs, COUNT(inputs));
    int64_t part, parts;
    if (status == LL_OK)
        status = inputs_part(&part, &parts, args->part);
    if (status == LL_OK)
        status = inputs_check_safetensors(args->output, "an ensemble");
    return status == LL_OK && args->members_out ? check_members_out(args) : status;
}

/* All of it, or one part. */
static ll_status write_members(ll_context *ctx, const fit_args *args, const ll_dataset *data, const ll_head *head,
                               const ll_network *network, const ll_fit_options *options) {
    int64_t part, parts;
    ll_status status = inputs_part(&part, &parts, args->part);
    if (status != LL_OK)
        return status;
    if (parts)
        return ll_fit_part_write(ctx, args->output, data, head, network, options, part, parts, args->resume);
    return network ? ll_fit_network_write(NULL, ctx, args->output, data, network, options, args->resume)
                   : ll_fit_write(NULL, ctx, args->output, data, head, options, args->resume);
}

/* From the ensemble as it was written. */
static ll_status draw_members(ll_context *ctx, const fit_args *args) {
    ll_ensemble *ensemble = NULL, *drawn = NULL;
    ll_status status = ll_ensemble_read(&ensemble, ctx, args->output);
    if (status == LL_OK)
        status = ll_ensemble_draw(&drawn, ctx, ensemble);
    if (status == LL_OK)
        status = ll_ensemble_write(ctx, args->members_out, drawn);
    if (status == LL_OK)
        term_note("%" PRId64 " members drawn from the Gaussian -> %s", ll_ensemble_samples(drawn), args->members_out);
    ll_ensemble_free(drawn);
    ll_ensemble_free(ensemble);
    return status;
}

static ll_status fit_features(ll_context *ctx, const fit_args *args, double start) {
    ll_dataset *data = NULL, *val = NULL;
    ll_head *head = NULL;
    inputs_files files = {.count = 0};
    ll_fit_options options = args->options;
    ll_status status = training_read(&data, &head, &options, ctx, &files, &args->training);
    if (status == LL_OK && options.prior_precision == LL_PRIOR_VALIDATION)
        status = val_read(&val, ctx, &files, &args->val, args->training.features, head ? ll_head_classes(head) : ll_dataset_classes(data));
    options.validation = val;
    if (status == LL_OK)
        status = write_members(ctx, args, data, head, NULL, &options);
    if (status == LL_OK)
        summary(args, head ? ll_head_classes(head) : ll_dataset_classes(data), ll_dataset_features(data), term_seconds() - start);
    if (status == LL_OK && args->members_out && ranks_first())
        status = draw_members(ctx, args);
    ll_head_free(head);
    ll_dataset_free(val);
    ll_dataset_free(data);
    inputs_files_close(&files);
    return status;
}

static ll_status fit_network(ll_context *ctx, const fit_args *args, double start) {
    ll_network *network = NULL;
    ll_images *images = NULL;
    ll_status status = network_read(&network, &images, ctx, &args->network, &args->training.weight, NULL);
    const ll_dataset *data = status == LL_OK ? ll_images_dataset(images, LL_IMAGES_TRAIN) : NULL;
    if (status == LL_OK)
        status = write_members(ctx, args, data, NULL, network, &args->options);
    if (status == LL_OK)
        summary(args, ll_network_classes(network), ll_dataset_features(data), term_seconds() - start);
    ll_images_free(images);
    ll_network_free(network);
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const fit_args *args = arguments;
    double start = term_seconds();
    ll_status status = check(args, typed);
    if (status != LL_OK)
        return status;
    note_unused(args, typed);
    return args->network.network ? fit_network(ctx, args, start) : fit_features(ctx, args, start);
}

static const char *const examples[] = {
    "lastlayer fit --features features.npy --labels labels.npy -o ens.safetensors",
    "lastlayer fit --features features.npy --labels labels.npy --head head.npz --method sgld --samples 50 --seed 1 -o sgld.safetensors",
    "lastlayer fit --features features.npy --labels labels.npy --method dropout --dropout 0.3 --epochs 20 -o dropout.safetensors",
    "lastlayer fit --features features.npy --labels labels.npy --layers 2 --samples 20 --lr 0.01 -o deep.safetensors",
    "lastlayer fit --network net.safetensors --data mnist --method sgd --samples 2 -o full.safetensors",
    NULL,
};

const command cmd_fit = {
    .name = "fit",
    .summary = "sample an ensemble of last layers, deep heads or whole networks",
    .usage = "--features FILE --labels FILE [--head FILE] [--layers L] [--method METHOD] [OPTIONS] -o FILE\n"
             "--network FILE --data DATA [--method METHOD] [OPTIONS] -o FILE",
    .detail = "Starts at the trained last layer (--head), or at the MAP solution when none is given, and samples S last layers. The same "
              "inputs, options and seed give the same file, for any number of threads.\n\nWith --layers 2 or 3 the members are that many "
              "dense layers on the features, with --network whole networks on images; the method ensemble trains each member from its own "
              "random start.\n\nWhile it runs, finished members are kept in FILE.partial. After an interruption the same command with "
              "--resume continues from there.",
    .examples = examples,
    .together = true,
    .args_size = sizeof(fit_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
