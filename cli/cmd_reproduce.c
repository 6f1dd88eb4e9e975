/* SPDX-License-Identifier: MIT */
/* lastlayer reproduce: an experiment of the paper, our numbers beside its. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "inputs.h"
#include "lastlayer-paper.h"
#include "term.h"

typedef struct reproduce_args {
    ll_reproduce_options options;
    int64_t threads;
} reproduce_args;

#define AT(member) offsetof(reproduce_args, member)

/* clang-format off */
static const ll_option run_table[] = {
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the numbers do not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(reproduce_args *)args = (reproduce_args){.options = ll_reproduce_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Experiment", .base = AT(options)};
    out[0].table = ll_reproduce_options_table(&out[0].count);
    out[1] = (option_group){.title = "Run", .table = run_table, .count = COUNT(run_table)};
    return 2;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const reproduce_args *args = arguments;
    char *text = NULL;
    ll_status status = typed->operand ? LL_OK
                                      : complain(LL_ERR_USAGE, "the experiment is missing (for example: lastlayer reproduce mnist)");
    if (status == LL_OK)
        status = ll_reproduce(&text, ctx, typed->operand, &args->options);
    if (status == LL_OK) {
        term_print_text(text);
        term_note("the tables are in %s/%s%s%s: tables.md, tables.tex, tables.csv, tables.json, and the figures", args->options.results,
                  typed->operand, args->options.quick ? "-quick" : "", args->options.network || args->options.features ? "-given" : "");
    }
    ll_text_free(text);
    return status;
}

static const char *const examples[] = {
    "lastlayer reproduce mnist --quick",
    NULL,
};

const command cmd_reproduce = {
    .name = "reproduce",
    .summary = "repeat an experiment of the paper, our numbers next to the paper's",
    .usage = "mnist | fashion | quickdraw | cifar10 [--quick | --full] [--seeds LIST] [--data FOLDER] [--network FILE] [OPTIONS]\n"
             "cifar100 --data FOLDER [OPTIONS]\n"
             "imagenet | clinc150 | mnist | ... --features FILE [OPTIONS]",
    .operand = "NAME",
    .operand_help = "mnist, fashion, quickdraw, cifar10, cifar100, imagenet or clinc150",
    .detail = "Trains the network of the paper, encodes its images, searches the paper's grids on the last layer (with --full also on all "
              "layers), does the same on half of the classes for out-of-distribution detection, and writes the paper's tables with our "
              "numbers next to the paper's, as Markdown, LaTeX, CSV and JSON, and the paper's figures as SVG. Each table comes twice: "
              "chosen on validation rows, and chosen on "
              "the test rows, as in the paper. What is already in the results folder is not computed again: after a kill, run the same "
              "command to continue.",
    .examples = examples,
    .args_size = sizeof(reproduce_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
