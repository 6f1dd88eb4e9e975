/* SPDX-License-Identifier: MIT */
/* lastlayer evaluate: predictions and labels to metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "inputs.h"
#include "points.h"
#include "term.h"

typedef struct evaluate_args {
    points_args points;
    const char *costs, *by;
    bool json, csv;
    ll_evaluate_options options;
} evaluate_args;

#define AT(member) offsetof(evaluate_args, member)

/* clang-format off */
static const ll_option decision_table[] = {
    {.name = "costs", .type = LL_OPTION_TEXT, .offset = AT(costs), .arg = "FILE[:NAME]",
     .help = "[K,K] matrix, the cost of deciding column when row is true; decides the class of least expected cost"},
};
/* clang-format on */

/* clang-format off */
static const ll_option output_table[] = {
    {.name = "by", .type = LL_OPTION_CHOICE, .offset = AT(by), .arg = "CONFIDENCE", .choices = LL_CONFIDENCE_NAMES,
     .standard = "sr", .help = "of several PREDICTIONS: the confidence whose AURC, coverage and so on are compared"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
    {.name = "csv", .type = LL_OPTION_FLAG, .offset = AT(csv), .help = "print CSV"},
};
/* clang-format on */

static void defaults(void *args) {
    *(evaluate_args *)args = (evaluate_args){.by = "sr", .options = ll_evaluate_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = points_table, .count = points_count, .base = AT(points)};
    out[1] = (option_group){.title = "Decision", .table = decision_table, .count = COUNT(decision_table)};
    out[2] = (option_group){.title = "Rules", .base = AT(options)};
    out[2].table = ll_evaluate_options_table(&out[2].count);
    out[3] = (option_group){.title = "Output", .table = output_table, .count = COUNT(output_table)};
    return 4;
}

static ll_status check(const evaluate_args *args, const parsed *typed) {
    ll_status status = points_check(&args->points, typed->operand, "PREDICTIONS", "lastlayer evaluate pred.npz --labels labels.npy");
    if (status != LL_OK)
        return status;
    if (typed->operand_count < 2 && args_given(typed, &cmd_evaluate, "by"))
        return complain(LL_ERR_USAGE, "--by belongs to several PREDICTIONS; of one file all confidences are shown");
    if (args->json && args->csv)
        return complain(LL_ERR_USAGE, "--json and --csv exclude each other");
    return LL_OK;
}

static ll_text_form form_of(const evaluate_args *args) {
    return args->json ? LL_TEXT_JSON : args->csv ? LL_TEXT_CSV : LL_TEXT_PLAIN;
}

static ll_confidence confidence_of(const char *name) {
    ll_confidence by = LL_CONFIDENCE_SR;
    while (by < LL_CONFIDENCE_COUNT && strcmp(ll_confidence_name(by), name) != 0)
        by++;
    return by;
}

/* Several files: each against the first. */
static ll_status run_several(ll_context *ctx, const evaluate_args *args, const parsed *typed, const ll_evaluate_options *options) {
    ll_predictions *points[OPERANDS_MAX] = {0}, *out_points[OPERANDS_MAX] = {0};
    const ll_outcome *views[OPERANDS_MAX], *out_views[OPERANDS_MAX];
    size_t count = typed->operand_count;
    ll_contrast *contrast = NULL;
    char *text = NULL;
    inputs_list ood;
    ll_status status = inputs_split(&ood, "ood", args->points.ood, count, false);
    for (size_t i = 0; i < count && status == LL_OK; i++) {
        status = ll_predictions_read(&points[i], ctx, typed->operands[i], args->points.labels);
        if (status == LL_OK)
            status = inputs_require_truth(points[i], typed->operands[i]);
        if (status == LL_OK && ood.count)
            status = ll_predictions_read(&out_points[i], ctx, ood.item[i], NULL);
        views[i] = ll_predictions_view(points[i]);
        out_views[i] = ll_predictions_view(out_points[i] ? out_points[i] : ll_predictions_out(points[i]));
    }
    if (status == LL_OK)
        status = ll_contrast_new(&contrast, ctx, typed->operands, views, out_views, (int64_t)count, confidence_of(args->by), options);
    if (status == LL_OK)
        status = ll_contrast_text(&text, ctx, contrast, form_of(args));
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_contrast_free(contrast);
    for (size_t i = 0; i < count; i++) {
        ll_predictions_free(points[i]);
        ll_predictions_free(out_points[i]);
    }
    free(ood.text);
    return status;
}

static ll_status run_one(ll_context *ctx, const evaluate_args *args, const char *operand, const ll_evaluate_options *options) {
    ll_predictions *points = NULL, *out_points = NULL;
    ll_evaluation *evaluation = NULL;
    char *text = NULL;
    ll_status status = points_read_all(&points, &out_points, ctx, &args->points, operand);
    const ll_predictions *beside = out_points ? out_points : ll_predictions_out(points);
    if (status == LL_OK)
        status = ll_evaluate(&evaluation, ctx, ll_predictions_view(points), ll_predictions_view(beside), options);
    if (status == LL_OK)
        status = ll_evaluation_text(&text, ctx, evaluation, form_of(args));
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_evaluation_free(evaluation);
    ll_predictions_free(out_points);
    ll_predictions_free(points);
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const evaluate_args *args = arguments;
    ll_bundle *costs = NULL;
    ll_array matrix;
    ll_evaluate_options options = args->options;
    ll_status status = check(args, typed);
    if (status == LL_OK && args->costs) {
        status = ll_array_read(&costs, &matrix, ctx, args->costs, inputs_cost_names);
        options.costs = &matrix;
    }
    if (status == LL_OK)
        status = typed->operand_count > 1 ? run_several(ctx, args, typed, &options) : run_one(ctx, args, typed->operand, &options);
    ll_bundle_free(costs);
    return status;
}

static const char *const examples[] = {
    "lastlayer evaluate pred.npz --labels test_labels.npy",
    "lastlayer evaluate --probs probs.npy --labels test_labels.npy --json",
    "lastlayer evaluate pred.npz --labels test_labels.npy --ood pred_out.npz",
    "lastlayer evaluate point.npz pred.npz --labels test_labels.npy",
    NULL,
};

const command cmd_evaluate = {
    .name = "evaluate",
    .summary = "metrics of predictions: accuracy, NLL, Brier, ECE, AURC, OOD",
    .usage = "PREDICTIONS... [--labels FILE] [--ood PREDICTIONS] [OPTIONS]\n"
             "--probs FILE | --logits FILE --labels FILE [--ood FILE] [OPTIONS]",
    .operand = "PREDICTIONS",
    .operand_help = "a file of lastlayer predict; several are compared: each with the first, on the same rows",
    .several = true,
    .detail = "Prints every metric and how it is computed. A metric that is undefined (no errors, one member, no probabilities) is null. "
              "--ood adds AUROC, AUPR and FPR at 95 % TPR.\n\nSeveral files are compared with the first of them, on the same rows: "
              "differences with paired intervals and p-values, and whether each file is better, worse or within noise. --ood then takes "
              "one file for each, with commas between them.",
    .examples = examples,
    .args_size = sizeof(evaluate_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
