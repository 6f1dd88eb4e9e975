/* SPDX-License-Identifier: MIT */
/* lastlayer import: a network of Keras or PyTorch to ours. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct import_args {
    const char *data, *output;
    ll_images_options images;
    ll_import_options options;
    int64_t threads;
} import_args;

#define AT(member) offsetof(import_args, member)

/* clang-format off */
static const ll_option data_table[] = {
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "NAME",
     .help = "the images it was trained on: they give its input shape, shift, scale and classes, and the test accuracy is printed"},
};
/* clang-format on */

/* clang-format off */
static const ll_option run_table[] = {
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .help = "the network to write, .safetensors"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(import_args *)args = (import_args){.images = ll_images_options_default(), .options = ll_import_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){.title = "Classes", .base = AT(images), .without = "out-data"};
    out[1].table = ll_images_options_table(&out[1].count);
    out[2] = (option_group){.title = "Network", .base = AT(options)};
    out[2].table = ll_import_options_table(&out[2].count);
    out[3] = (option_group){.title = "Run", .table = run_table, .count = COUNT(run_table)};
    return 4;
}

static ll_status check(const import_args *args, const parsed *typed) {
    const char *example = "lastlayer import model.h5 --data cifar10 -o net.safetensors";
    const char *inputs[] = {typed->operand, args->data};
    ll_status status = inputs_require("the file", typed->operand, example);
    if (status == LL_OK)
        status = inputs_require("--output", args->output, example);
    if (status == LL_OK)
        status = inputs_check_output(args->output, inputs, COUNT(inputs));
    if (status == LL_OK && !args->data && args_given(typed, &cmd_import, "classes"))
        status = complain(LL_ERR_USAGE, "--classes belongs to --data, which is missing");
    return status == LL_OK ? inputs_check_safetensors(args->output, "a network") : status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const import_args *args = arguments;
    ll_network *network = NULL;
    ll_images *images = NULL;
    ll_network_score score = {0};
    ll_status status = check(args, typed);
    if (status == LL_OK && args->data) {
        ll_images_options reading = args->images;
        if (!isnan(args->options.shift) && args->options.scale > 0) {
            reading.shift = args->options.shift;
            reading.scale = args->options.scale;
        }
        status = ll_images_read(&images, ctx, args->data, &reading);
    }
    if (status == LL_OK)
        status = ll_network_import(&network, ctx, typed->operand, images, &args->options);
    const ll_dataset *test = images ? ll_images_dataset(images, LL_IMAGES_TEST) : NULL;
    if (status == LL_OK && test && ll_dataset_labels(test))
        status = ll_network_evaluate(&score, ctx, network, test);
    if (status == LL_OK)
        status = ll_network_write(ctx, args->output, network);
    if (status == LL_OK) {
        FILE *to = inputs_written(args->output);
        term_print(to, "%s: %" PRId64 " classes, %" PRId64 " features -> %s\n", ll_network_text(network), ll_network_classes(network),
                   ll_network_features(network), args->output);
        if (score.n)
            term_print(to, "test accuracy %.4f (%" PRId64 " rows), NLL %.4f\n", score.accuracy, score.n, score.nll);
    }
    ll_images_free(images);
    ll_network_free(network);
    return status;
}

static const char *const examples[] = {
    "lastlayer import model.safetensors --data mnist -o imported.safetensors",
    NULL,
};

const command cmd_import = {
    .name = "import",
    .summary = "import a network trained by Keras or PyTorch",
    .usage = "FILE [--data NAME] [OPTIONS] -o FILE",
    .operand = "FILE",
    .operand_help = "weights of Keras, .keras or .h5, or tensors of PyTorch, .safetensors or .npz",
    .detail = "Finds the dense layers, convolutions and batch norms of an MLP or a VGG-16, brings them into the shapes of lastlayer's own "
              "networks and writes such a network. lastlayer inspect shows which layer became which. With --data the test accuracy is "
              "printed: if it is the same as before, the import is right.",
    .examples = examples,
    .args_size = sizeof(import_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
