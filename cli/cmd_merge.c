/* SPDX-License-Identifier: MIT */
/* lastlayer merge: the parts of an output, made by several processes, to the whole. */
#include <stdio.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct merge_args {
    int64_t threads;
} merge_args;

static void defaults(void *args) {
    *(merge_args *)args = (merge_args){0};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    (void)out;
    return 0;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    (void)arguments;
    double start = term_seconds();
    ll_status status = inputs_require("the output", typed->operand, "lastlayer merge ens.safetensors");
    if (status == LL_OK)
        status = ll_merge(ctx, typed->operand);
    if (status == LL_OK)
        term_print(stdout, "its parts merged, %.1f s -> %s\n", term_seconds() - start, typed->operand);
    return status;
}

static const char *const examples[] = {
    "lastlayer merge ens.safetensors",
    NULL,
};

const command cmd_merge = {
    .name = "merge",
    .summary = "put the parts of --part together",
    .usage = "OUTPUT",
    .operand = "OUTPUT",
    .operand_help =
        "the -o or --store of the commands that made the parts; OUTPUT.part-1-of-N to OUTPUT.part-N-of-N are in the same folder",
    .detail = "fit, predict and search with --part I/N do one share of their work, each in a process of its own, on any machine. When all "
              "parts lie beside each other, this makes the file that one process would have written, byte for byte; of a search, the "
              "store with all trials. Parts of different "
              "data, options or versions are refused, and missing ones are named. The parts stay.",
    .examples = examples,
    .args_size = sizeof(merge_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
