/* SPDX-License-Identifier: MIT */
/* lastlayer predict: an ensemble and features to labels and confidences. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct predict_args {
    const char *features, *labels, *data, *out_data, *costs, *class_names, *output, *part;
    int64_t threads;
    bool no_calibration;
    ll_predict_options options;
} predict_args;

#define AT(member) offsetof(predict_args, member)

/* clang-format off */
static const ll_option data_table[] = {
    {.name = "features", .type = LL_OPTION_TEXT, .offset = AT(features), .arg = "FILE", 
     .help = "features [N,D]: FILE or FILE:NAME, or many: 'emb/part-*.npy', @list.txt, a folder; a whole file of lastlayer encode means "
             "its test part with labels and, under out_ names, its out-of-distribution part"},
    {.name = "labels", .type = LL_OPTION_TEXT, .offset = AT(labels), .arg = "FILE",
     .help = "true labels [N], stored as truth; the scores of the first 1, 2, ... members are then stored too, as running"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "DATA",
     .help = "for an ensemble of networks: the images whose test part is predicted: " INPUTS_IMAGES ", a folder or a file"},
    {.name = "out-data", .type = LL_OPTION_TEXT, .offset = AT(out_data), .arg = "DATA",
     .standard = "test images of classes the networks do not know",
     .help = "other images, as out-of-distribution points under out_ names"},
    {.name = "costs", .type = LL_OPTION_TEXT, .offset = AT(costs), .arg = "FILE[:NAME]",
     .help = "[K,K] matrix, the cost of deciding column when row is true; label is then the class of least expected cost"},
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .standard = "a table on the terminal", .help = "the predictions to write, .npz or .csv"},
    {.name = "part", .type = LL_OPTION_TEXT, .offset = AT(part), .arg = "I/N", .standard = "all of it",
     .help = "predict share I of N of the rows, into FILE.part-I-of-N; lastlayer merge puts the parts together"},
    {.name = "class-names", .type = LL_OPTION_TEXT, .offset = AT(class_names), .arg = "FILE", .standard = "those of the ensemble",
     .help = "without `output`: a text file, one name per class and line"},
    {.name = "no-calibration", .type = LL_OPTION_FLAG, .offset = AT(no_calibration),
     .help = "the probabilities as the members give them, though the ensemble is calibrated"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(predict_args *)args = (predict_args){.options = ll_predict_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){.title = "Prediction", .base = AT(options)};
    out[1].table = ll_predict_options_table(&out[1].count);
    return 2;
}

static ll_status check(const predict_args *args, const parsed *typed) {
    const char *example = "lastlayer predict ens.safetensors --features features.npy -o pred.npz";
    const char *inputs[] = {typed->operand, args->features, args->labels, args->data, args->out_data, args->costs, args->class_names};
    ll_status status = inputs_require("the ensemble", typed->operand, example);
    if (status == LL_OK && args->data && (args->features || args->labels))
        status = complain(LL_ERR_USAGE, "--data and --%s exclude each other", args->features ? "features" : "labels");
    if (status == LL_OK && args->out_data && !args->data)
        status = complain(LL_ERR_USAGE, "--out-data belongs to --data, which is missing");
    if (status == LL_OK && !args->data)
        status = inputs_require("--features", args->features, example);
    if (status == LL_OK && args->output && args->class_names)
        status = complain(LL_ERR_USAGE, "--class-names belongs to the table without --output; a file has the numbers of classes");
    if (status == LL_OK && args->output)
        status = inputs_check_output(args->output, inputs, COUNT(inputs));
    int64_t part, parts;
    if (status == LL_OK)
        status = inputs_part(&part, &parts, args->part);
    if (status == LL_OK && parts && !args->output)
        status = complain(LL_ERR_USAGE, "--part needs --output FILE: the parts get its name");
    if (status == LL_OK && args_given(typed, &cmd_predict, "by") && isnan(args->options.threshold))
        term_note("--by is not used without --threshold");
    return status;
}

/* The points to predict, and those of a whole encoded file that are out of distribution (*out, else NULL). */
static ll_status read_points(ll_dataset **data, ll_dataset **out, ll_context *ctx, inputs_files *files, const predict_args *args,
                             int64_t K) {
    inputs_parts parts;
    const char *features = args->features, *labels = args->labels;
    ll_status status = inputs_find_parts(&parts, ctx, files, features);
    if (status == LL_OK && parts.whole && !*parts.test)
        return complain(LL_ERR_USAGE, "%s has no features_test; name the array to predict, like %s:features_val", features, features);
    if (status == LL_OK && parts.whole) {
        features = parts.test;
        labels = labels ? labels : *parts.test_labels ? parts.test_labels : NULL;
        term_note("points from %s%s%s", features, *parts.out ? ", out-of-distribution points from " : "", parts.out);
    }
    if (status == LL_OK)
        status = inputs_read(data, ctx, files, features, labels, labels ? K : 0);
    if (status == LL_OK && *parts.out)
        status = inputs_read(out, ctx, files, parts.out, NULL, 0);
    return status;
}

/* The images for an ensemble of networks, by the classes and the scaling of these. */
static ll_status read_images(ll_images **images, ll_context *ctx, const predict_args *args, const ll_ensemble *ensemble) {
    ll_images_options options = ll_ensemble_images(ensemble);
    options.out_data = args->out_data;
    ll_status status = ll_images_read(images, ctx, args->data, &options);
    if (status == LL_OK && !ll_images_dataset(*images, LL_IMAGES_TEST))
        return complain(LL_ERR_DATA, "%s has no test images", args->data);
    return status;
}

/* Without a file: labels, names, confidence and answers, as a table. */
static ll_status print_answers(ll_context *ctx, const predict_args *args, ll_ensemble *ensemble, const ll_dataset *points,
                               const ll_predict_options *options) {
    ll_predictions *predictions = NULL;
    char *text = NULL;
    ll_confidence by = isnan(options->threshold) ? LL_CONFIDENCE_COUNT : ll_confidence_find(options->by);
    ll_status status = args->class_names ? ll_ensemble_set_class_names(ctx, ensemble, args->class_names) : LL_OK;
    if (status == LL_OK)
        status = ll_predict(&predictions, ctx, ensemble, points, options);
    if (status == LL_OK)
        status = ll_answers_text(&text, ctx, ensemble, predictions, by);
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_predictions_free(predictions);
    return status;
}

static ll_status write_file(ll_context *ctx, const predict_args *args, const ll_ensemble *ensemble, const ll_dataset *points,
                            const ll_predict_options *options, double start) {
    int64_t part, parts;
    ll_status status = inputs_part(&part, &parts, args->part);
    if (status == LL_OK)
        status = parts ? ll_predict_part_write(ctx, args->output, ensemble, points, options, part, parts)
                       : ll_predict_write(ctx, args->output, ensemble, points, options);
    if (status != LL_OK)
        return status;
    char path[INPUTS_WHERE];
    inputs_part_path(path, args->output, args->part);
    FILE *to = inputs_written(path);
    if (parts) {
        term_print(to, "part %s of %" PRId64 " points, %.1f s -> %s\n", args->part, ll_dataset_rows(points), term_seconds() - start, path);
        return LL_OK;
    }
    int64_t S = ll_ensemble_samples(ensemble);
    term_print(to, "%" PRId64 " points by %" PRId64 " member%s of %s, %.1f s -> %s\n", ll_dataset_rows(points), S, S == 1 ? "" : "s",
               ll_ensemble_method(ensemble), term_seconds() - start, args->output);
    return LL_OK;
}

/* Whether probabilities and answers are those of the members alone. */
static ll_status use_promises(ll_context *ctx, const predict_args *args, ll_ensemble *ensemble) {
    ll_status status = LL_OK;
    if (args->no_calibration && ll_ensemble_calibration(ensemble))
        status = ll_ensemble_set_calibration(ctx, ensemble, NULL);
    if (status == LL_OK && ll_ensemble_calibration(ensemble))
        term_note("probabilities are calibrated (%s); --no-calibration leaves it out", ll_ensemble_calibration(ensemble));
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const predict_args *args = arguments;
    double start = term_seconds();
    ll_ensemble *ensemble = NULL;
    ll_dataset *data = NULL, *out = NULL;
    ll_images *images = NULL;
    inputs_files files = {.count = 0};
    ll_bundle *costs = NULL;
    ll_array matrix;
    const ll_dataset *points = NULL;
    ll_predict_options options = args->options;
    ll_status status = check(args, typed);
    if (status == LL_OK)
        status = ll_ensemble_read(&ensemble, ctx, typed->operand);
    if (status == LL_OK && args->data) {
        status = read_images(&images, ctx, args, ensemble);
        points = images ? ll_images_dataset(images, LL_IMAGES_TEST) : NULL;
        options.out = images ? ll_images_dataset(images, LL_IMAGES_OUT) : NULL;
    } else if (status == LL_OK) {
        status = read_points(&data, &out, ctx, &files, args, ll_ensemble_classes(ensemble));
        points = data;
        options.out = out;
    }
    if (status == LL_OK && args->costs) {
        status = ll_array_read(&costs, &matrix, ctx, args->costs, inputs_cost_names);
        options.costs = &matrix;
    }
    if (status == LL_OK)
        status = use_promises(ctx, args, ensemble);
    if (status == LL_OK)
        status = args->output ? write_file(ctx, args, ensemble, points, &options, start)
                              : print_answers(ctx, args, ensemble, points, &options);
    ll_dataset_free(data);
    ll_dataset_free(out);
    inputs_files_close(&files);
    ll_images_free(images);
    ll_bundle_free(costs);
    ll_ensemble_free(ensemble);
    return status;
}

static const char *const examples[] = {
    "lastlayer predict ens.safetensors --features test_features.npy --labels test_labels.npy -o pred.npz",
    "lastlayer predict ens.safetensors --features test_features.npy --threshold 0.9 --by sr -o pred.csv",
    "lastlayer predict ens.safetensors --features test_features.npy",
    "lastlayer predict full.safetensors --data mnist -o full.npz",
    NULL,
};

const command cmd_predict = {
    .name = "predict",
    .summary = "label points, with confidences, by an ensemble",
    .usage = "ENSEMBLE --features FILE [--labels FILE] [--threshold C --by CONFIDENCE] [OPTIONS] [-o FILE]\n"
             "ENSEMBLE --data DATA [--out-data DATA] [OPTIONS] [-o FILE]",
    .operand = "ENSEMBLE",
    .operand_help = "a file of lastlayer fit",
    .detail = "Writes per point the label (argmax of the mean probability), the vote (argmax of the members' votes), the confidences sr "
              "std hq maxmin entropy mi margin (higher always means more sure), and the mean probabilities. With --threshold it also "
              "writes abstain: true where the confidence --by is below the threshold. An ensemble with a certificate "
              "(lastlayer certify --save) abstains by its cut, and the promise is printed. "
              "Without -o it prints a table: label, name of the class, confidence, answer.",
    .examples = examples,
    .together = true,
    .args_size = sizeof(predict_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
