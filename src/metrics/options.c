/* SPDX-License-Identifier: MIT */
/* The options of evaluate, and their table. */
#include <stddef.h>

#include "base/abi.h"
#include "base/status.h"

#define AT(member) offsetof(ll_evaluate_options, member)

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
    {.name = "costs", .type = LL_OPTION_TEXT, .offset = AT(costs), .arg = "FILE[:NAME]", .standard = NULL,
     .help = "[K,K] matrix, the cost of deciding column when row is true; decides the class of least expected cost"},
};

void ll_evaluate_options_init(ll_evaluate_options *options, size_t struct_size) {
    const ll_evaluate_options defaults = {.bins = 10, .edges = "left", .aupr = "step", .classifier = "mean", .compat = "none"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

const ll_option *ll_evaluate_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}
