/* SPDX-License-Identifier: MIT */
/* lastlayer evaluate: predictions and labels to metrics. */
#include <stdio.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct evaluate_args {
    const char *labels, *ood, *probs, *logits;
    bool json, csv;
    ll_evaluate_options options;
} evaluate_args;

#define AT(member) offsetof(evaluate_args, member)

static const ll_option data_table[] = {
    {.name = "labels", .type = LL_OPTION_TEXT, .offset = AT(labels), .arg = "FILE",
     .help = "true labels [N]; may be left out when the predictions hold them"},
    {.name = "probs", .type = LL_OPTION_TEXT, .offset = AT(probs), .arg = "FILE",
     .help = "instead of PREDICTIONS: probabilities of any classifier, [N,K], or of members, [S,N,K]"},
    {.name = "logits", .type = LL_OPTION_TEXT, .offset = AT(logits), .arg = "FILE", .help = "the same before the softmax"},
    {.name = "ood", .type = LL_OPTION_TEXT, .offset = AT(ood), .arg = "FILE",
     .standard = "the out_ arrays of PREDICTIONS, if any",
     .help = "predictions (or --probs, --logits) of out-of-distribution points: adds AUROC, AUPR and FPR at 95 % TPR"},
};

static const ll_option output_table[] = {
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
    {.name = "csv", .type = LL_OPTION_FLAG, .offset = AT(csv), .help = "print CSV"},
};

static void defaults(void *args) {
    *(evaluate_args *)args = (evaluate_args){.options = ll_evaluate_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){.title = "Rules", .base = AT(options)};
    out[1].table = ll_evaluate_options_table(&out[1].count);
    out[2] = (option_group){.title = "Output", .table = output_table, .count = COUNT(output_table)};
    return 3;
}

static ll_status check(const evaluate_args *args, const char *operand) {
    int sources = (operand != NULL) + (args->probs != NULL) + (args->logits != NULL);
    if (sources == 0)
        return complain(LL_ERR_USAGE, "nothing to evaluate (for example: lastlayer evaluate pred.npz --labels labels.npy)");
    if (sources > 1)
        return complain(LL_ERR_USAGE, "expected one of PREDICTIONS, --probs and --logits; found %d of them", sources);
    if (!operand && !args->labels)
        return complain(LL_ERR_USAGE, "--%s needs --labels FILE", args->probs ? "probs" : "logits");
    if (args->json && args->csv)
        return complain(LL_ERR_USAGE, "--json and --csv exclude each other");
    return LL_OK;
}

/* `file` is of the kind the command was asked for: predictions, probabilities or logits. */
static ll_status read_points(ll_predictions **out, ll_context *ctx, const evaluate_args *args, const char *file, const char *labels) {
    return args->probs || args->logits ? ll_predictions_from(out, ctx, file, args->logits != NULL, labels)
                                       : ll_predictions_read(out, ctx, file, labels);
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const evaluate_args *args = arguments;
    ll_predictions *points = NULL, *out_points = NULL;
    ll_evaluation *evaluation = NULL;
    char *text = NULL;
    ll_status status = check(args, typed->operand);
    if (status == LL_OK)
        status = read_points(&points, ctx, args, args->probs ? args->probs : args->logits ? args->logits : typed->operand, args->labels);
    if (status == LL_OK && typed->operand)
        status = inputs_require_truth(points, typed->operand);
    if (status == LL_OK && args->ood)
        status = read_points(&out_points, ctx, args, args->ood, NULL);
    else if (status == LL_OK && typed->operand)
        status = ll_predictions_read_out(&out_points, ctx, typed->operand);
    if (status == LL_OK)
        status = ll_evaluate(&evaluation, ctx, ll_predictions_view(points), ll_predictions_view(out_points), &args->options);
    if (status == LL_OK)
        status = ll_evaluation_text(&text, ctx, evaluation, args->json ? LL_TEXT_JSON : args->csv ? LL_TEXT_CSV : LL_TEXT_PLAIN);
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_evaluation_free(evaluation);
    ll_predictions_free(out_points);
    ll_predictions_free(points);
    return status;
}

static const char *const examples[] = {
    "lastlayer evaluate pred.npz --labels test_labels.npy",
    "lastlayer evaluate --probs probs.npy --labels test_labels.npy --json",
    "lastlayer evaluate pred.npz --labels test_labels.npy --ood pred_out.npz",
    NULL,
};

const command cmd_evaluate = {
    .name = "evaluate",
    .summary = "metrics of predictions: accuracy, NLL, Brier, ECE, AURC, OOD",
    .usage = "PREDICTIONS [--labels FILE] [--ood PREDICTIONS] [OPTIONS]\n"
             "--probs FILE | --logits FILE --labels FILE [--ood FILE] [OPTIONS]",
    .operand = "PREDICTIONS",
    .operand_help = "a file of lastlayer predict",
    .detail = "Prints every metric with the rule that made it. What is undefined (no errors, one member, no probabilities) is null.",
    .examples = examples,
    .args_size = sizeof(evaluate_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
