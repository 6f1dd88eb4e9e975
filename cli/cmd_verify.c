/* SPDX-License-Identifier: MIT */
/* lastlayer verify: a certificate against the rows it was made of. */
#include "args.h"
#include "inputs.h"
#include "points.h"
#include "term.h"

typedef struct verify_args {
    points_args points;
} verify_args;

#define AT(member) offsetof(verify_args, member)

static void defaults(void *args) {
    *(verify_args *)args = (verify_args){0};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Options", .table = points_table, .count = points_count, .base = AT(points)};
    return 1;
}

static ll_status check(const verify_args *args, const parsed *typed) {
    const char *example = "lastlayer verify cert.json pred.npz --labels labels.npy";
    ll_status status = inputs_require("the certificate", typed->operand, example);
    if (status == LL_OK && typed->operand_count > 2)
        return complain(LL_ERR_USAGE, "expected a certificate and one file of predictions (for example: %s)", example);
    return status == LL_OK ? points_check(&args->points, typed->operands[1], "PREDICTIONS", example) : status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const verify_args *args = arguments;
    ll_predictions *points = NULL, *others = NULL;
    char *text = NULL;
    bool holds = false;
    ll_status status = check(args, typed);
    const char *file = points_file(&args->points, typed->operands[1]);
    if (status == LL_OK)
        status = points_read_all(&points, &others, ctx, &args->points, typed->operands[1]);
    if (status == LL_OK)
        status = ll_certificate_verify(&text, &holds, ctx, typed->operand, points, others ? others : ll_predictions_out(points));
    if (status == LL_OK)
        term_print_text(text);
    if (status == LL_OK && !holds)
        status = complain(LL_ERR_DATA, "%s does not hold for %s", typed->operand, file);
    ll_text_free(text);
    ll_predictions_free(others);
    ll_predictions_free(points);
    return status;
}

static const char *const examples[] = {
    "lastlayer verify cert.json pred.npz --labels test_labels.npy",
    NULL,
};

const command cmd_verify = {
    .name = "verify",
    .summary = "check a certificate against the rows it was made of",
    .usage = "CERTIFICATE PREDICTIONS [--labels FILE] [--ood FILE]\n"
             "CERTIFICATE --probs FILE | --logits FILE --labels FILE [--ood FILE]",
    .operand = "CERTIFICATE [PREDICTIONS]",
    .operand_help = "a file of lastlayer certify -o, and the file of lastlayer predict it was made of",
    .several = true,
    .detail = "Makes the certificate again and compares: the hashes of rows, labels and ensemble, the counts, the cut, the p-value and the "
              "bound. Says what matches and what does not; exit code 5 where it does not hold.",
    .examples = examples,
    .args_size = sizeof(verify_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
