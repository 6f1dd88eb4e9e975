/* SPDX-License-Identifier: MIT */
/* The options of evaluate, and their table. */
#include <stddef.h>

#include "base/abi.h"
#include "base/status.h"

#define AT(member) offsetof(ll_evaluate_options, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "bins", .type = LL_OPTION_INT, .offset = AT(bins), .arg = "M", .min = 1, .max = LL_BINS_MAX, .standard = "10",
     .help = "number of bins of ECE, MCE and the reliability diagram"},
    {.name = "edges", .type = LL_OPTION_CHOICE, .offset = AT(edges), .arg = "RULE", .choices = "left|right|mass", .standard = "left",
     .help = "bins: left [a,b) or right (a,b] of equal width, or mass: of equal numbers of points, ties kept together"},
    {.name = "aupr", .type = LL_OPTION_CHOICE, .offset = AT(aupr), .arg = "RULE", .choices = "step|trapezoid", .standard = "step",
     .help = "AUPR between thresholds: step (average precision) or trapezoid from recall 0, precision 1"},
    {.name = "classifier", .type = LL_OPTION_CHOICE, .offset = AT(classifier), .arg = "RULE", .choices = "mean|votes", .standard = "mean",
     .help = "decided class: argmax of the mean probability, or of the members' votes"},
    {.name = "compat", .type = LL_OPTION_CHOICE, .offset = AT(compat), .arg = "WHOSE", .choices = "none|brosse", .standard = "none",
     .help = "brosse: the conventions of the paper's own code, for comparing numbers"},
    {.name = "interval", .type = LL_OPTION_REAL, .offset = AT(interval), .arg = "LEVEL", .min = 0, .max = 1, .open_max = true,
     .standard = "0.95", .help = "how often an interval should hold the true value; 0 leaves intervals and tests out"},
    {.name = "risk", .type = LL_OPTION_REAL, .offset = AT(risk), .arg = "R", .min = 0, .max = 1, .standard = "0.01",
     .help = "error rate among the answered points, for the coverage at a risk and the cut of the classes"},
    {.name = "seed", .type = LL_OPTION_SEED, .offset = AT(seed), .arg = "SEED", .standard = "0",
     .help = "seed of the bootstrap draws for the intervals"},
    {.name = "per-class", .type = LL_OPTION_FLAG, .offset = AT(per_class),
     .help = "precision and recall of each class, and its coverage and risk at the cut of sr that keeps the risk"},
};
/* clang-format on */

void ll_evaluate_options_init(ll_evaluate_options *options, size_t struct_size) {
    const ll_evaluate_options defaults = {
        .bins = 10, .edges = "left", .aupr = "step", .classifier = "mean", .compat = "none", .interval = 0.95, .risk = 0.01};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

const ll_option *ll_evaluate_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}
