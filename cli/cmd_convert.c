/* SPDX-License-Identifier: MIT */
/* lastlayer convert: between the formats we read and write. */
#include "command.h"
#include "inputs.h"
#include "term.h"

typedef struct convert_args {
    const char *output;
    ll_convert_options options;
} convert_args;

/* clang-format off */
static const ll_option output_table[] = {
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = offsetof(convert_args, output), .arg = "FILE",
     .help = "the file to write; its extension chooses the format"},
};
/* clang-format on */

static void defaults(void *args) {
    *(convert_args *)args = (convert_args){.options = ll_convert_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Output", .table = output_table, .count = COUNT(output_table)};
    out[1] = (option_group){.title = "Conversion", .base = offsetof(convert_args, options)};
    out[1].table = ll_convert_options_table(&out[1].count);
    return 2;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const convert_args *args = arguments;
    const char *example = "lastlayer convert features.npy -o features.safetensors";
    ll_status status = inputs_require("the file to convert", typed->operand, example);
    if (status == LL_OK)
        status = inputs_require("--output", args->output, example);
    const char *const inputs[] = {typed->operand, args->options.labels};
    if (status == LL_OK)
        status = inputs_check_output(args->output, inputs, COUNT(inputs));
    if (status != LL_OK)
        return status;
    return ll_convert(ctx, args->output, typed->operand, &args->options);
}

static const char *const examples[] = {
    "lastlayer convert features.npy -o features.safetensors",
    "lastlayer convert features.npy --dtype f16 -o features16.npy",
    NULL,
};

const command cmd_convert = {
    .name = "convert",
    .summary = "convert between the formats we read and write",
    .usage = "FILE[:NAME] [--dtype TYPE] [--divide X] [--flatten] [--labels FILE] -o FILE",
    .operand = "FILE",
    .operand_help = "the file to convert; FILE:NAME takes one of its arrays",
    .detail = "Reads arrays and writes them in the format that the output's extension names. On request it changes their type, divides "
              "them by a number, or flattens them to one row per point.",
    .examples = examples,
    .args_size = sizeof(convert_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
