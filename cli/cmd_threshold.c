/* SPDX-License-Identifier: MIT */
/* lastlayer threshold: the cut of a confidence that reaches a risk or a coverage. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "inputs.h"
#include "points.h"
#include "term.h"

typedef struct threshold_args {
    points_args points;
    const char *by;
    double risk, coverage;
    bool json;
} threshold_args;

#define AT(member) offsetof(threshold_args, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "risk", .type = LL_OPTION_REAL, .offset = AT(risk), .arg = "R", .min = 0, .max = 1,
     .help = "the share of errors allowed among the answered points; the cut answers as many points as possible"},
    {.name = "coverage", .type = LL_OPTION_REAL, .offset = AT(coverage), .arg = "C", .min = 0, .open_min = true, .max = 1,
     .help = "the smallest share of points to answer"},
    {.name = "by", .type = LL_OPTION_CHOICE, .offset = AT(by), .arg = "CONFIDENCE", .choices = LL_CONFIDENCE_NAMES,
     .standard = "sr", .help = "the confidence to threshold"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON"},
};
/* clang-format on */

static void defaults(void *args) {
    *(threshold_args *)args = (threshold_args){.by = "sr", .risk = NAN, .coverage = NAN};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = points_table, .count = points_count, .base = AT(points), .without = "ood"};
    out[1] = (option_group){.title = "Options", .table = table, .count = COUNT(table)};
    return 2;
}

static const char honest[] = "chosen and measured on the same points: on new points expect somewhat worse "
                             "(lastlayer certify gives a cut with a promise)";

static void print_text(const threshold_args *args, const ll_threshold *t) {
    if (!t->found) {
        term_print(stdout,
                   "no threshold on %s reaches a risk of %g: %" PRId64 " of %" PRId64
                   " points are wrong, and the surest ones are among them\n",
                   args->by, args->risk, t->errors, t->n);
        return;
    }
    term_print(stdout, "answer when %s >= %.17g\n", args->by, t->cut);
    term_print(stdout, "coverage  %.4f  (%" PRId64 " of %" PRId64 " points answered, %" PRId64 " abstained)\n", t->coverage, t->accepted,
               t->n, t->n - t->accepted);
    term_print(stdout, "risk      %.4f  (%" PRId64 " errors among them; without a threshold %" PRId64 " errors, %.4f)\n", t->risk,
               t->accepted_errors, t->errors, (double)t->errors / (double)t->n);
    term_print(stdout, "%s\n", honest);
}

static void json_number(const char *key, double x) {
    term_print(stdout, ", \"%s\": ", key);
    term_print_json_number(x);
}

static void print_json(const threshold_args *args, const ll_threshold *t) {
    term_print(stdout, "{\"by\": ");
    term_print_json_string(args->by);
    json_number("asked_risk", args->risk);
    json_number("asked_coverage", args->coverage);
    term_print(stdout, ", \"found\": %s", t->found ? "true" : "false");
    json_number("cut", t->found ? t->cut : NAN);
    json_number("coverage", t->found ? t->coverage : NAN);
    json_number("risk", t->found ? t->risk : NAN);
    term_print(stdout, ", \"accepted\": %" PRId64 ", \"accepted_errors\": %" PRId64 ", \"n\": %" PRId64 ", \"errors\": %" PRId64,
               t->accepted, t->accepted_errors, t->n, t->errors);
    term_print(stdout, ", \"note\": ");
    term_print_json_string(honest);
    term_print(stdout, "}\n");
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const threshold_args *args = arguments;
    bool risk = !isnan(args->risk), coverage = !isnan(args->coverage);
    ll_status status = points_check(&args->points, typed->operand, "PREDICTIONS",
                                    "lastlayer threshold pred.npz --labels labels.npy --risk 0.01");
    if (status != LL_OK)
        return status;
    if (risk == coverage)
        return complain(LL_ERR_USAGE, "expected either --risk R or --coverage C; found %s", risk ? "both" : "none");
    const char *file = points_file(&args->points, typed->operand);
    ll_predictions *predictions = NULL;
    status = points_read(&predictions, ctx, &args->points, file, args->points.labels);
    if (status == LL_OK)
        status = inputs_require_truth(predictions, file);
    if (status == LL_OK) {
        const ll_outcome *points = ll_predictions_view(predictions);
        ll_threshold found;
        ll_confidence by = ll_confidence_find(args->by);
        status = risk ? ll_threshold_at_risk(&found, ctx, points, by, args->risk)
                      : ll_threshold_at_coverage(&found, ctx, points, by, args->coverage);
        if (status == LL_OK)
            (args->json ? print_json : print_text)(args, &found);
    }
    ll_predictions_free(predictions);
    return status;
}

static const char *const examples[] = {
    "lastlayer threshold pred.npz --labels test_labels.npy --risk 0.01",
    "lastlayer threshold pred.npz --labels test_labels.npy --coverage 0.9 --by std --json",
    "lastlayer threshold --probs probs.npy --labels test_labels.npy --risk 0.05",
    NULL,
};

const command cmd_threshold = {
    .name = "threshold",
    .summary = "choose the confidence below which to abstain",
    .usage = "PREDICTIONS [--labels FILE] --risk R | --coverage C [--by CONFIDENCE] [--json]\n"
             "--probs FILE | --logits FILE --labels FILE --risk R | --coverage C [--by CONFIDENCE] [--json]",
    .operand = "PREDICTIONS",
    .operand_help = "a file of lastlayer predict",
    .detail = "Prints the cut, and its coverage and risk on these points. Give the cut to lastlayer predict --threshold. It is chosen and "
              "measured on the same points, so choose it on points that the training did not see.",
    .examples = examples,
    .args_size = sizeof(threshold_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
