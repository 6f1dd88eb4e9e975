/* SPDX-License-Identifier: MIT */
/* lastlayer calibrate: probabilities that mean what they say, of an ensemble or of anybody's outputs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "inputs.h"
#include "points.h"
#include "term.h"

typedef struct calibrate_args {
    points_args points;
    const char *features, *data, *apply, *output;
    bool json;
    int64_t threads;
    ll_calibrate_options options;
} calibrate_args;

#define AT(member) offsetof(calibrate_args, member)

/* clang-format off */
static const ll_option data_table[] = {
    {.name = "features", .type = LL_OPTION_TEXT, .offset = AT(features), .arg = "FILE",
     .help = "features [N,D] of rows that training did not see; a whole file of lastlayer encode means its held-out rows"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "DATA",
     .help = "for an ensemble of networks: images, whose test part is used"},
    {.name = "apply", .type = LL_OPTION_TEXT, .offset = AT(apply), .arg = "FILE", .standard = "the rows it was fitted on",
     .help = "with `probs` or `logits`: other rows of the same kind, which are calibrated and written"},
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .help = "the calibrated ensemble, .safetensors; of outputs the calibrated logits, .npy or .npz"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(calibrate_args *)args = (calibrate_args){.options = ll_calibrate_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){
        .title = "Labels and outputs", .table = points_table, .count = points_count, .base = AT(points), .without = "ood"};
    out[2] = (option_group){.title = "Calibration", .base = AT(options)};
    out[2].table = ll_calibrate_options_table(&out[2].count);
    return 3;
}

static ll_status check(const calibrate_args *args, const parsed *typed) {
    const char *example = "lastlayer calibrate ens.safetensors --features val.npy --labels val_labels.npy -o calibrated.safetensors";
    const points_args *points = &args->points;
    const char *inputs[] = {typed->operand, args->features, points->labels, args->data, points->probs, points->logits, args->apply};
    const char *outputs = points_flag(points);
    ll_status status = points_check(points, typed->operand, "ENSEMBLE", example);
    if (status != LL_OK)
        return status;
    if (outputs && (args->features || args->data))
        return complain(LL_ERR_USAGE, "--%s belongs to an ensemble, and --%s needs none", args->features ? "features" : "data", outputs);
    if (!outputs && args->apply)
        return complain(LL_ERR_USAGE, "--apply belongs to --probs or --logits; lastlayer predict applies the calibration of an ensemble");
    if (!outputs && args->data && (args->features || points->labels))
        return complain(LL_ERR_USAGE, "--data and --%s exclude each other", args->features ? "features" : "labels");
    if (!outputs && !args->data)
        status = inputs_require("--features", args->features, example);
    if (status == LL_OK)
        status = inputs_require("--output", args->output, example);
    if (status == LL_OK && !outputs)
        status = inputs_check_safetensors(args->output, "an ensemble");
    return status == LL_OK ? inputs_check_output(args->output, inputs, COUNT(inputs)) : status;
}

static ll_status read_rows(ll_dataset **data, ll_context *ctx, inputs_files *files, const calibrate_args *args, int64_t K) {
    inputs_parts parts;
    char beside[INPUTS_WHERE] = "";
    const char *features = args->features, *labels = args->points.labels;
    ll_status status = inputs_find_parts(&parts, ctx, files, features);
    if (status == LL_OK && parts.whole) {
        if (!*parts.val)
            return complain(LL_ERR_USAGE, "%s has no features_val; name the rows to calibrate on, like %s:features_test", features,
                            features);
        features = parts.val;
        labels = labels ? labels : *parts.val_labels ? parts.val_labels : NULL;
        term_note("rows from %s", features);
    } else if (status == LL_OK && !labels) {
        status = inputs_find_labels(beside, ctx, files, features);
        labels = *beside ? beside : NULL;
    }
    if (status == LL_OK)
        status = inputs_require("--labels", labels,
                                "lastlayer calibrate ens.safetensors --features val.npy --labels val_labels.npy -o FILE");
    return status == LL_OK ? inputs_read(data, ctx, files, features, labels, K) : status;
}

static ll_status print(ll_context *ctx, const ll_calibration *c, const calibrate_args *args) {
    char *text = NULL;
    ll_status status = ll_calibration_text(&text, ctx, c, args->json ? LL_TEXT_JSON : LL_TEXT_PLAIN);
    if (status != LL_OK)
        return status;
    FILE *to = inputs_written(args->output);
    if (to == stdout)
        term_print_text(text);
    if (!args->json)
        term_print(to, "-> %s\n", args->output);
    ll_text_free(text);
    return LL_OK;
}

static ll_status run_ensemble(ll_context *ctx, const calibrate_args *args, const char *path) {
    ll_ensemble *ensemble = NULL;
    ll_dataset *data = NULL;
    ll_images *images = NULL;
    inputs_files files = {.count = 0};
    ll_calibration *c = NULL;
    const ll_dataset *rows = NULL;
    ll_status status = ll_ensemble_read(&ensemble, ctx, path);
    if (status == LL_OK && args->data) {
        ll_images_options options = ll_ensemble_images(ensemble);
        status = ll_images_read(&images, ctx, args->data, &options);
        rows = images ? ll_images_dataset(images, LL_IMAGES_TEST) : NULL;
        if (status == LL_OK && !rows)
            status = complain(LL_ERR_DATA, "%s has no test images", args->data);
    } else if (status == LL_OK) {
        status = read_rows(&data, ctx, &files, args, ll_ensemble_classes(ensemble));
        rows = data;
    }
    if (status == LL_OK)
        status = ll_calibrate(&c, ctx, ensemble, rows, &args->options);
    if (status == LL_OK)
        status = ll_ensemble_set_calibration(ctx, ensemble, c);
    if (status == LL_OK)
        status = ll_ensemble_write(ctx, args->output, ensemble);
    if (status == LL_OK)
        status = print(ctx, c, args);
    ll_calibration_free(c);
    ll_dataset_free(data);
    inputs_files_close(&files);
    ll_images_free(images);
    ll_ensemble_free(ensemble);
    return status;
}

/* Writes the calibrated logits [N,K] of `outputs`. */
static ll_status write_outputs(ll_context *ctx, const calibrate_args *args, const ll_calibration *c, ll_array outputs) {
    int64_t N = outputs.shape[outputs.rank == 3], K = outputs.shape[outputs.rank - 1];
    double *logits = outputs.rank >= 2 && N > 0 && K > 0 ? malloc((size_t)N * (size_t)K * sizeof *logits) : NULL;
    if (!logits)
        return complain(LL_ERR_MEMORY, "memory ran out for the calibrated logits");
    ll_status status = ll_calibration_apply(logits, ctx, c, outputs, args->points.logits != NULL);
    const ll_named_array array = {"logits", ll_array_view(logits, LL_DTYPE_F64, 2, (int64_t[]){N, K})};
    if (status == LL_OK)
        status = ll_bundle_write(ctx, args->output, &array, 1, NULL, 0);
    free(logits);
    return status;
}

static ll_status run_outputs(ll_context *ctx, const calibrate_args *args) {
    static const char *const names[] = {"probs", "logits", NULL}, *const label_names[] = {"labels", "truth", "y", NULL};
    ll_bundle *files[3] = {NULL, NULL, NULL};
    ll_array outputs, labels, others;
    ll_calibration *c = NULL;
    ll_status status = ll_array_read(&files[0], &outputs, ctx, points_file(&args->points, NULL), names);
    if (status == LL_OK)
        status = ll_array_read(&files[1], &labels, ctx, args->points.labels, label_names);
    if (status == LL_OK)
        status = ll_calibrate_outputs(&c, ctx, outputs, args->points.logits != NULL, &labels, &args->options);
    if (status == LL_OK && args->apply)
        status = ll_array_read(&files[2], &others, ctx, args->apply, names);
    if (status == LL_OK)
        status = write_outputs(ctx, args, c, args->apply ? others : outputs);
    if (status == LL_OK)
        status = print(ctx, c, args);
    ll_calibration_free(c);
    for (size_t i = 0; i < COUNT(files); i++)
        ll_bundle_free(files[i]);
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const calibrate_args *args = arguments;
    ll_status status = check(args, typed);
    if (status != LL_OK)
        return status;
    return typed->operand ? run_ensemble(ctx, args, typed->operand) : run_outputs(ctx, args);
}

static const char *const examples[] = {
    "lastlayer calibrate ens.safetensors --features val_features.npy --labels val_labels.npy -o calibrated.safetensors",
    "lastlayer calibrate --logits val_logits.npy --labels val_labels.npy --apply test_logits.npy -o calibrated.npz",
    NULL,
};

const command cmd_calibrate = {
    .name = "calibrate",
    .summary = "a temperature, so that probabilities mean what they say",
    .usage = "ENSEMBLE --features FILE --labels FILE [OPTIONS] -o FILE\n"
             "ENSEMBLE --data DATA [OPTIONS] -o FILE\n"
             "--probs FILE | --logits FILE --labels FILE [--apply FILE] [OPTIONS] -o FILE",
    .operand = "ENSEMBLE",
    .operand_help = "a file of lastlayer fit",
    .detail = "Fits a temperature to labelled rows that training did not see, and stores it in a copy of the ensemble: lastlayer predict "
              "then gives calibrated probabilities. A temperature changes no label. Members are pooled first, then calibrated.",
    .examples = examples,
    .args_size = sizeof(calibrate_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
