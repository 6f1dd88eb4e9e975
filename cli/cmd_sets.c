/* SPDX-License-Identifier: MIT */
/* lastlayer sets: in place of one label, a set of classes that holds the true one as often as promised. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "inputs.h"
#include "points.h"
#include "term.h"

typedef struct sets_args {
    points_args points;
    const char *apply, *apply_labels, *output;
    bool json;
    int64_t threads;
    ll_sets_options options;
} sets_args;

#define AT(member) offsetof(sets_args, member)

/* clang-format off */
static const ll_option new_table[] = {
    {.name = "apply", .type = LL_OPTION_TEXT, .offset = AT(apply), .arg = "FILE",
     .help = "the new rows, which get sets: a file of the same kind as that of the calibration rows"},
    {.name = "apply-labels", .type = LL_OPTION_TEXT, .offset = AT(apply_labels), .arg = "FILE",
     .standard = "those of the predictions, if any", .help = "true labels of the new rows: coverage is measured"},
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .help = "the sets to write, .npz (bits), .safetensors or .csv (lists of classes)"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(sets_args *)args = (sets_args){.options = ll_sets_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){
        .title = "Calibration rows", .table = points_table, .count = points_count, .base = AT(points), .without = "ood"};
    out[1] = (option_group){.title = "New rows", .table = new_table, .count = COUNT(new_table)};
    out[2] = (option_group){.title = "Sets", .base = AT(options)};
    out[2].table = ll_sets_options_table(&out[2].count);
    return 3;
}

static ll_status check(const sets_args *args, const char *operand) {
    const char *example = "lastlayer sets pred_val.npz --labels val_labels.npy --apply pred.npz -o sets.npz";
    const points_args *points = &args->points;
    const char *inputs[] = {operand, points->labels, points->probs, points->logits, args->apply, args->apply_labels};
    ll_status status = points_check(points, operand, "PREDICTIONS", example);
    if (status == LL_OK)
        status = inputs_require("--apply", args->apply, example);
    return status == LL_OK && args->output ? inputs_check_output(args->output, inputs, COUNT(inputs)) : status;
}

static const char *ensemble_of(const ll_predictions *p) {
    for (int64_t i = 0; i < ll_predictions_meta_count(p); i++)
        if (strcmp(ll_predictions_meta_key(p, i), "ensemble_sha256") == 0)
            return ll_predictions_meta_value(p, i);
    return NULL;
}

/* The promise is about one classifier. */
static void note_other_ensemble(const ll_predictions *a, const ll_predictions *b) {
    const char *first = ensemble_of(a), *second = ensemble_of(b);
    if (first && second && strcmp(first, second) != 0)
        term_note("calibration rows and new rows were predicted by different ensembles; the promise is for new rows of the first");
}

static ll_status print(ll_context *ctx, const sets_args *args, const ll_set_rule *rule, const ll_sets *sets) {
    char *text = NULL;
    ll_status status = ll_sets_text(&text, ctx, rule, sets, args->json ? LL_TEXT_JSON : LL_TEXT_PLAIN);
    if (status != LL_OK)
        return status;
    FILE *to = args->output ? inputs_written(args->output) : stdout;
    if (to == stdout)
        term_print_text(text);
    if (args->output && !args->json)
        term_print(to, "-> %s\n", args->output);
    ll_text_free(text);
    return LL_OK;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const sets_args *args = arguments;
    const char *file = points_file(&args->points, typed->operand);
    ll_predictions *calibration = NULL, *points = NULL;
    ll_set_rule *rule = NULL;
    ll_sets *sets = NULL;
    ll_status status = check(args, typed->operand);
    if (status == LL_OK)
        status = points_read(&calibration, ctx, &args->points, file, args->points.labels);
    if (status == LL_OK)
        status = inputs_require_truth(calibration, file);
    if (status == LL_OK)
        status = points_read(&points, ctx, &args->points, args->apply, args->apply_labels);
    if (status == LL_OK)
        note_other_ensemble(calibration, points);
    if (status == LL_OK)
        status = ll_set_rule_fit(&rule, ctx, ll_predictions_view(calibration), &args->options);
    if (status == LL_OK)
        status = ll_sets_new(&sets, ctx, rule, ll_predictions_view(points), 0);
    if (status == LL_OK && args->output)
        status = ll_sets_write(ctx, args->output, rule, sets);
    if (status == LL_OK)
        status = print(ctx, args, rule, sets);
    ll_sets_free(sets);
    ll_set_rule_free(rule);
    ll_predictions_free(points);
    ll_predictions_free(calibration);
    return status;
}

static const char *const examples[] = {
    "lastlayer sets pred_val.npz --labels val_labels.npy --apply pred.npz --alpha 0.1 -o sets.npz",
    "lastlayer sets --probs val_probs.npy --labels val_labels.npy --apply test_probs.npy --apply-labels test_labels.npy",
    "lastlayer sets --logits val_logits.npy --labels val_labels.npy --apply test_logits.npy --alpha 0.05 --confidence 0.9 -o sets.npz",
    "lastlayer sets --probs val_probs.npy --labels val_labels.npy --apply test_probs.npy --score aps --by-class --json -o sets.csv",
    NULL,
};

const command cmd_sets = {
    .name = "sets",
    .summary = "sets of classes that hold the true one as often as promised",
    .usage = "PREDICTIONS [--labels FILE] --apply PREDICTIONS [--apply-labels FILE] [OPTIONS] [-o FILE]\n"
             "--probs FILE | --logits FILE --labels FILE --apply FILE [--apply-labels FILE] [OPTIONS] [-o FILE]",
    .operand = "PREDICTIONS",
    .operand_help = "a file of lastlayer predict, of calibration rows: labelled, and not seen by training",
    .detail = "Split conformal prediction: how strange the true classes of the calibration rows were decides which classes are in the set "
              "of a new row. The promise holds whatever the classifier is; a better one gives smaller sets. Where labels of the new rows "
              "are known it prints coverage, over all rows, by size of the set and by class.",
    .examples = examples,
    .args_size = sizeof(sets_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
