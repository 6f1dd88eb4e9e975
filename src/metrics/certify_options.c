/* SPDX-License-Identifier: MIT */
/* The options of certify, and their table. */
#include <math.h>
#include <stddef.h>

#include "base/abi.h"
#include "base/option.h"
#include "metrics/certificate.h"

#define AT(member) offsetof(ll_certify_options, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "risk", .type = LL_OPTION_REAL, .offset = AT(risk), .arg = "R", .min = -INFINITY, .max = INFINITY,
     .unset = LL_OPTION_UNSET_NAN, .standard = "no promise",
     .help = "promise: at most this share of the answered points is wrong; with `costs`: they cost at most this on average"},
    {.name = "coverage", .type = LL_OPTION_REAL, .offset = AT(coverage), .arg = "C", .min = 0, .max = 1, .open_min = true, .open_max = true,
     .unset = LL_OPTION_UNSET_NAN, .standard = "no promise", .help = "promise: at least this share of the points is answered"},
    {.name = "out-rate", .type = LL_OPTION_REAL, .offset = AT(out_rate), .arg = "Q", .min = 0, .max = 1, .open_min = true, .open_max = true,
     .unset = LL_OPTION_UNSET_NAN, .standard = "no promise",
     .help = "promise: at most this share of out-of-distribution points is answered"},
    {.name = "confidence", .type = LL_OPTION_REAL, .offset = AT(confidence), .arg = "P", .min = 0, .max = 1, .open_min = true,
     .open_max = true, .standard = "0.95", .help = "the probability, over calibration rows, that all promises hold"},
    {.name = "per-class", .type = LL_OPTION_FLAG, .offset = AT(per_class),
     .help = "a cut for each decided class, and the risk is promised for each; a class whose rows certify no cut is never answered"},
    {.name = "by", .type = LL_OPTION_CHOICE, .offset = AT(by), .arg = "CONFIDENCE", .choices = LL_CONFIDENCE_NAMES,
     .standard = "sr", .help = "the confidence that is cut"},
    {.name = "rule", .type = LL_OPTION_CHOICE, .offset = AT(rule), .arg = "RULE", .choices = "sequence|bonferroni", .standard = "sequence",
     .help = "how cuts are tested: in an order learnt on other rows until one fails, or all of them at a divided level"},
    {.name = "seed", .type = LL_OPTION_SEED, .offset = AT(seed), .arg = "SEED", .standard = "0",
     .help = "which third of the rows proposes the cuts"},
};
/* clang-format on */

void ll_certify_options_init(ll_certify_options *options, size_t struct_size) {
    const ll_certify_options defaults = {.risk = NAN, .coverage = NAN, .out_rate = NAN, .confidence = 0.95, .by = "sr", .rule = "sequence"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

const ll_option *ll_certify_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

ll_status lli_certify_options_take(ll_context *ctx, ll_certify_options *out, const ll_certify_options *given) {
    *out = ll_certify_options_default();
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_certify_options, out, given, table, LLI_COUNT(table)));
    if (isnan(out->risk) && isnan(out->coverage) && isnan(out->out_rate))
        return lli_fail(ctx, LL_ERR_USAGE, "nothing is promised; expected `risk`, `coverage` or `out-rate`");
    if (isnan(out->risk) && (out->costs || out->per_class))
        return lli_fail(ctx, LL_ERR_USAGE, "%s says how a risk is meant, and none is promised; give `risk` too",
                        lli_option_name(ctx, out->costs ? "costs" : "per-class").text);
    if (out->per_class && !(isnan(out->coverage) && isnan(out->out_rate)))
        return lli_fail(ctx, LL_ERR_USAGE, "`per-class` has a cut for each class, and %s is a promise about one cut; give one of them",
                        lli_option_name(ctx, isnan(out->coverage) ? "out-rate" : "coverage").text);
    return LL_OK;
}
