/* SPDX-License-Identifier: MIT */
/* lastlayer certify: a cut of a confidence with a promise. */
#include "args.h"
#include "inputs.h"
#include "points.h"
#include "term.h"

typedef struct certify_args {
    points_args points;
    const char *costs, *output, *save, *class_names;
    bool json;
    ll_certify_options options;
} certify_args;

#define AT(member) offsetof(certify_args, member)

/* clang-format off */
static const ll_option output_table[] = {
    {.name = "costs", .type = LL_OPTION_TEXT, .offset = AT(costs), .arg = "FILE[:NAME]",
     .help = "[K,K] matrix, the cost of deciding column when row is true; the answer is the class of least expected cost, and `risk` a "
             "mean cost"},
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .help = "the certificate to write, .json"},
    {.name = "save", .type = LL_OPTION_TEXT, .offset = AT(save), .arg = "ENSEMBLE",
     .help = "the ensemble that made PREDICTIONS: the certificate is stored in it, and lastlayer predict answers by it"},
    {.name = "class-names", .type = LL_OPTION_TEXT, .offset = AT(class_names), .arg = "FILE",
     .help = "with `save`: a text file, one name per class and line, which is stored too"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print JSON: the certificate"},
};
/* clang-format on */

static void defaults(void *args) {
    *(certify_args *)args = (certify_args){.options = ll_certify_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = points_table, .count = points_count, .base = AT(points)};
    out[1] = (option_group){.title = "Promise", .base = AT(options)};
    out[1].table = ll_certify_options_table(&out[1].count);
    out[2] = (option_group){.title = "Costs and output", .table = output_table, .count = COUNT(output_table)};
    return 3;
}

static ll_status check(const certify_args *args, const char *operand) {
    const points_args *points = &args->points;
    ll_status status = points_check(points, operand, "PREDICTIONS", "lastlayer certify pred.npz --labels labels.npy --risk 0.01");
    if (status != LL_OK)
        return status;
    if (!operand && args->save)
        return complain(LL_ERR_USAGE, "--save needs PREDICTIONS of the ensemble; of --%s it is not known who made them",
                        points_flag(points));
    if (args->save && args->costs)
        return complain(LL_ERR_USAGE,
                        "--save is for labels by the mean probability, and --costs decides others; keep the certificate with -o "
                        "and answer with lastlayer predict --costs --threshold");
    if (args->class_names && !args->save)
        return complain(LL_ERR_USAGE, "--class-names belongs to --save, which is missing");
    const char *inputs[] = {operand,     points->labels, points->probs, points->logits,
                            points->ood, args->costs,    args->save,    args->class_names};
    status = args->output ? inputs_check_output(args->output, inputs, COUNT(inputs)) : LL_OK;
    if (status == LL_OK && args->output && !inputs_ends_with(args->output, ".json") && !inputs_is_stdout(args->output))
        return complain(LL_ERR_USAGE, "%s: a certificate is JSON; expected a name that ends in .json", args->output);
    const char *others[] = {operand, points->labels, points->ood, args->costs, args->class_names};
    return status == LL_OK && args->save ? inputs_check_output(args->save, others, COUNT(others)) : status;
}

/* The ensemble is replaced by one with the certificate, in one step. */
static ll_status save(ll_context *ctx, const certify_args *args, ll_certificate *certificate) {
    ll_ensemble *ensemble = NULL;
    ll_status status = ll_ensemble_read(&ensemble, ctx, args->save);
    if (status == LL_OK)
        status = ll_ensemble_set_certificate(ctx, ensemble, certificate);
    if (status == LL_OK && args->class_names)
        status = ll_ensemble_set_class_names(ctx, ensemble, args->class_names);
    if (status == LL_OK)
        status = ll_ensemble_write(ctx, args->save, ensemble);
    if (status == LL_OK && ll_certificate_view(certificate)->certified)
        term_note("%s has the certificate: lastlayer predict answers by it", args->save);
    else if (status == LL_OK)
        term_note("%s has counted the use of these rows; it has no new certificate", args->save);
    ll_ensemble_free(ensemble);
    return status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const certify_args *args = arguments;
    ll_predictions *points = NULL, *others = NULL;
    ll_certificate *certificate = NULL;
    ll_bundle *costs = NULL;
    ll_array matrix;
    ll_certify_options options = args->options;
    char *text = NULL;
    ll_status status = check(args, typed->operand);
    if (status == LL_OK && args->costs) {
        status = ll_array_read(&costs, &matrix, ctx, args->costs, inputs_cost_names);
        options.costs = &matrix;
    }
    if (status == LL_OK)
        status = points_read_all(&points, &others, ctx, &args->points, typed->operand);
    if (status == LL_OK) {
        const ll_predictions *out = others ? others : ll_predictions_out(points);
        status = ll_certify_predictions(&certificate, ctx, points, out, &options);
    }
    if (status == LL_OK && args->save)
        status = save(ctx, args, certificate);
    if (status == LL_OK && args->output)
        status = ll_certificate_write(ctx, args->output, certificate);
    if (status == LL_OK && !(args->output && inputs_is_stdout(args->output)))
        status = ll_certificate_text(&text, ctx, certificate, args->json ? LL_TEXT_JSON : LL_TEXT_PLAIN);
    if (status == LL_OK && text)
        term_print_text(text);
    ll_text_free(text);
    ll_certificate_free(certificate);
    ll_bundle_free(costs);
    ll_predictions_free(others);
    ll_predictions_free(points);
    return status;
}

static const char *const examples[] = {
    "lastlayer certify pred.npz --labels test_labels.npy --risk 0.01",
    "lastlayer certify pred.npz --risk 0.2 --save ens.safetensors -o cert.json",
    "lastlayer certify --probs probs.npy --labels test_labels.npy --risk 0.05 --confidence 0.9 --json",
    "lastlayer certify pred.npz --labels test_labels.npy --risk 0.1 --per-class",
    NULL,
};

const command cmd_certify = {
    .name = "certify",
    .summary = "a cut with a promise: how often answers to new points are wrong at most",
    .usage = "PREDICTIONS [--labels FILE] --risk R [--confidence P] [OPTIONS]\n"
             "PREDICTIONS --risk R --save ENSEMBLE [--class-names FILE] [-o FILE] [OPTIONS]\n"
             "--probs FILE | --logits FILE --labels FILE --risk R [OPTIONS]",
    .operand = "PREDICTIONS",
    .operand_help = "a file of lastlayer predict, of rows that training and calibration did not see",
    .detail = "A third of the rows proposes cuts, the others test them with exact binomial tests (costs: Hoeffding-Bentkus). Where none "
              "passes it says how many rows are needed. With --per-class each decided class has a cut of its own. With --save the ensemble "
              "keeps the certificate, and lastlayer predict answers by it; with outputs of other programs, "
              "apply the cut there. The cut of lastlayer threshold promises nothing.",
    .examples = examples,
    .args_size = sizeof(certify_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
