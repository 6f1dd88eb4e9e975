/* SPDX-License-Identifier: MIT */
/* lastlayer encode: a network and images to the features of its last layer. */
#include <inttypes.h>
#include <stdio.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct encode_args {
    const char *data, *out_data, *output;
    ll_encode_options options;
    int64_t threads;
} encode_args;

#define AT(member) offsetof(encode_args, member)

/* clang-format off */
static const ll_option data_table[] = {
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "NAME",
     .help = "images: " INPUTS_IMAGES " (in $LASTLAYER_DATA or ./data), or a folder with the files of one of them"},
    {.name = "out-data", .type = LL_OPTION_TEXT, .offset = AT(out_data), .arg = "SOURCE",
     .standard = "test images of the classes that the network was not trained on",
     .help = "other images that become features_out: a name, a folder or a file"},
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .help = "the features to write, .npz or .safetensors"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(encode_args *)args = (encode_args){.options = ll_encode_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){.title = "Encoding", .base = AT(options)};
    out[1].table = ll_encode_options_table(&out[1].count);
    return 2;
}

static ll_status check(const encode_args *args, const parsed *typed) {
    const char *example = "lastlayer encode net.safetensors --data mnist -o features.npz";
    const char *inputs[] = {typed->operand, args->data, args->out_data};
    ll_status status = inputs_require("the network", typed->operand, example);
    if (status == LL_OK)
        status = inputs_require("--data", args->data, example);
    if (status == LL_OK)
        status = inputs_require("--output", args->output, example);
    return status == LL_OK ? inputs_check_output(args->output, inputs, COUNT(inputs)) : status;
}

static void summary(const encode_args *args, const ll_network *network, const ll_encode_data *data, double seconds) {
    int64_t held = data->train ? ll_network_held(network, data->train) : 0;
    const int64_t rows[] = {data->train ? ll_dataset_rows(data->train) - held : 0, held, data->test ? ll_dataset_rows(data->test) : 0,
                            data->out ? ll_dataset_rows(data->out) : 0};
    static const char *const names[] = {"training", "validation", "test", "out"};
    FILE *to = inputs_written(args->output);
    const char *mark = "";
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i]) {
            term_print(to, "%s%" PRId64 " %s", mark, rows[i], names[i]);
            mark = ", ";
        }
    term_print(to, " rows, %" PRId64 " features of %s, %.1f s -> %s\n", ll_network_features(network), ll_network_text(network), seconds,
               args->output);
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const encode_args *args = arguments;
    double start = term_seconds();
    ll_network *network = NULL;
    ll_images *images = NULL;
    ll_encode_data data = {0};
    ll_status status = check(args, typed);
    if (status == LL_OK)
        status = ll_network_read(&network, ctx, typed->operand);
    if (status == LL_OK) {
        ll_images_options reading = ll_network_images(network);
        reading.out_data = args->out_data;
        status = ll_images_read(&images, ctx, args->data, &reading);
    }
    if (status == LL_OK) {
        data = (ll_encode_data){.train = ll_images_dataset(images, LL_IMAGES_TRAIN),
                                .test = ll_images_dataset(images, LL_IMAGES_TEST),
                                .out = ll_images_dataset(images, LL_IMAGES_OUT)};
        status = ll_encode_write(ctx, args->output, network, &data, &args->options);
    }
    if (status == LL_OK)
        summary(args, network, &data, term_seconds() - start);
    ll_images_free(images);
    ll_network_free(network);
    return status;
}

static const char *const examples[] = {
    "lastlayer encode net.safetensors --data mnist -o encoded.npz",
    "lastlayer encode half.safetensors --data mnist -o half.npz",
    NULL,
};

const command cmd_encode = {
    .name = "encode",
    .summary = "turn images into the features of a network's last layer",
    .usage = "NETWORK --data NAME [--out-data SOURCE] [OPTIONS] -o FILE",
    .operand = "NETWORK",
    .operand_help = "a file of lastlayer train",
    .detail =
        "Writes features_train, features_val (the rows that train held out), features_test and, if there are such rows, features_out, "
        "with labels_train, labels_val, labels_test. It also writes the last layer, W and b, and classes, the original ids in the order "
        "of the labels. fit, predict and compare take the whole file: --features encoded.npz. If the network was trained on some classes "
        "only, test images of the others become its out-of-distribution rows.",
    .examples = examples,
    .args_size = sizeof(encode_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
