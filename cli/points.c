/* SPDX-License-Identifier: MIT */
#include "points.h"

#include "inputs.h"
#include "term.h"

#define AT(member) offsetof(points_args, member)

/* clang-format off */
const ll_option points_table[] = {
    {.name = "labels", .type = LL_OPTION_TEXT, .offset = AT(labels), .arg = "FILE",
     .help = "true labels [N]; may be left out when the file of the rows holds them"},
    {.name = "probs", .type = LL_OPTION_TEXT, .offset = AT(probs), .arg = "FILE",
     .help = "instead of a file of lastlayer: probabilities of any classifier, [N,K], or of members, [S,N,K]"},
    {.name = "logits", .type = LL_OPTION_TEXT, .offset = AT(logits), .arg = "FILE", .help = "the same before the softmax"},
    {.name = "ood", .type = LL_OPTION_TEXT, .offset = AT(ood), .arg = "FILE", .standard = "the out_ arrays of PREDICTIONS, if any",
     .help = "out-of-distribution points: a file of the same kind, without labels"},
};
/* clang-format on */
const size_t points_count = COUNT(points_table);

const char *points_flag(const points_args *args) {
    return args->probs ? "probs" : args->logits ? "logits" : NULL;
}

const char *points_file(const points_args *args, const char *operand) {
    return args->probs ? args->probs : args->logits ? args->logits : operand;
}

ll_status points_check(const points_args *args, const char *operand, const char *name, const char *example) {
    int sources = (operand != NULL) + (args->probs != NULL) + (args->logits != NULL);
    if (sources != 1)
        return complain(LL_ERR_USAGE, "expected one of %s, --probs and --logits; found %d of them (for example: %s)", name, sources,
                        example);
    if (!operand && !args->labels)
        return complain(LL_ERR_USAGE, "--%s needs --labels FILE", points_flag(args));
    return LL_OK;
}

ll_status points_read(ll_predictions **out, ll_context *ctx, const points_args *args, const char *file, const char *labels) {
    return points_flag(args) ? ll_predictions_from(out, ctx, file, args->logits != NULL, labels)
                             : ll_predictions_read(out, ctx, file, labels);
}

ll_status points_read_all(ll_predictions **points, ll_predictions **others, ll_context *ctx, const points_args *args, const char *operand) {
    const char *file = points_file(args, operand);
    *others = NULL;
    ll_status status = points_read(points, ctx, args, file, args->labels);
    if (status == LL_OK)
        status = inputs_require_truth(*points, file);
    return status == LL_OK && args->ood ? points_read(others, ctx, args, args->ood, NULL) : status;
}
