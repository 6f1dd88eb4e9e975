/* SPDX-License-Identifier: MIT */
/* lastlayer train: images to a network. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct train_args {
    const char *data, *output;
    weight_args weight;
    ll_images_options images;
    ll_train_options options;
    int64_t threads;
    bool resume, json, table;
} train_args;

#define AT(member) offsetof(train_args, member)

/* clang-format off */
static const ll_option data_table[] = {
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "NAME",
     .help = "images and labels: " INPUTS_IMAGES " (in $LASTLAYER_DATA or ./data), or a folder with the files of one of "
             "them"},
};
/* clang-format on */

/* clang-format off */
static const ll_option run_table[] = {
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE",
     .help = "the network to write, .safetensors"},
    {.name = "resume", .type = LL_OPTION_FLAG, .offset = AT(resume),
     .help = "continue an interrupted run from FILE.partial; the result is the same to the bit"},
    {.name = "table", .type = LL_OPTION_FLAG, .offset = AT(table), .help = "print a table of the epochs at the end"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json), .help = "print the result as JSON, with all epochs"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

/* vgg16's recipe leaves no number at 0, so that a typed 0 is a value and not "not given"; run() takes the recipe of the network itself. */
static void defaults(void *args) {
    *(train_args *)args = (train_args){.images = ll_images_options_default(), .options = ll_train_options_default("vgg16")};
    ((train_args *)args)->options.net = NULL;
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){.title = "Weights", .table = weight_table, .count = weight_count, .base = AT(weight)};
    out[2] = (option_group){.title = "Classes", .base = AT(images), .without = "out-data"};
    out[2].table = ll_images_options_table(&out[2].count);
    out[3] = (option_group){.title = "Training", .base = AT(options)};
    out[3].table = ll_train_options_table(&out[3].count);
    out[4] = (option_group){.title = "Run", .table = run_table, .count = COUNT(run_table)};
    return 5;
}

static size_t size_of(ll_option_type type) {
    switch (type) {
    case LL_OPTION_FLAG: return sizeof(bool);
    case LL_OPTION_INT: return sizeof(int64_t);
    case LL_OPTION_SEED: return sizeof(uint64_t);
    case LL_OPTION_REAL: return sizeof(double);
    case LL_OPTION_TEXT:
    case LL_OPTION_CHOICE: break;
    }
    return sizeof(const char *);
}

/* The recipe of the network, with what was typed in its place. */
static ll_train_options recipe(const train_args *args, const parsed *typed) {
    ll_train_options out = ll_train_options_default(args->options.net);
    size_t count;
    const ll_option *table = ll_train_options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (args_given(typed, &cmd_train, table[i].name))
            memcpy((char *)&out + table[i].offset, (const char *)&args->options + table[i].offset, size_of(table[i].type));
    if (strcmp(out.optimiser, "adam") == 0 && args_given(typed, &cmd_train, "momentum"))
        term_note("--momentum is not used by the optimiser adam");
    static const char *const of_step[] = {"lr-every", "lr-factor", "lr-decay"};
    for (size_t i = 0; i < COUNT(of_step); i++)
        if (strcmp(out.schedule, "step") != 0 && args_given(typed, &cmd_train, of_step[i]))
            term_note("--%s is not used by the schedule %s", of_step[i], out.schedule);
    return out;
}

static ll_status check(const train_args *args) {
    const char *example = "lastlayer train --data mnist --net mlp:512,20 -o net.safetensors";
    const char *inputs[] = {args->data, args->weight.weights, args->weight.class_weight};
    ll_status status = inputs_require("--data", args->data, example);
    if (status == LL_OK)
        status = inputs_require("--output", args->output, example);
    if (status == LL_OK)
        status = inputs_check_output(args->output, inputs, COUNT(inputs));
    if (status == LL_OK)
        status = inputs_check_safetensors(args->output, "a network");
    if (status == LL_OK && args->json && inputs_is_stdout(args->output))
        status = complain(LL_ERR_USAGE, "--json prints to standard output, where the network would go too; write the network to a file");
    return status;
}

/* ---- results ---- */

typedef struct result {
    const ll_network *network;
    const ll_dataset *train, *test;
    ll_network_score score; /* of the test rows; n = 0 without */
    double seconds;
} result;

static void print_table(FILE *to, const ll_epoch *epochs, int64_t count) {
    term_print(to, "epoch         lr      loss  held NLL  held acc      s\n");
    for (int64_t i = 0; i < count; i++) {
        const ll_epoch *e = &epochs[i];
        term_print(to, "%5" PRId64 "  %9.3g  %8.5f", e->epoch, e->lr, e->nll);
        if (isnan(e->held_nll))
            term_print(to, "         -         -");
        else
            term_print(to, "  %8.5f  %8.5f", e->held_nll, e->held_accuracy);
        term_print(to, "  %5.1f\n", e->seconds);
    }
}

static void print_text(FILE *to, const train_args *args, const result *r) {
    int64_t count, held;
    const ll_epoch *epochs = ll_network_epochs(r->network, &count);
    int64_t kept = ll_network_kept(r->network);
    ll_network_holdout(r->network, &held);
    if (args->table)
        print_table(to, epochs, count);
    term_print(to, "%s: %" PRId64 " rows, %" PRId64 " classes, epoch %" PRId64 " of %" PRId64 ", %.1f s -> %s\n",
               ll_network_text(r->network), ll_dataset_rows(r->train) - held, ll_network_classes(r->network), kept, count, r->seconds,
               args->output);
    if (held && kept > 0)
        term_print(to, "held-out accuracy %.4f (%" PRId64 " rows)\n", epochs[kept - 1].held_accuracy, held);
    if (r->score.n)
        term_print(to, "test accuracy     %.4f (%" PRId64 " rows), NLL %.4f\n", r->score.accuracy, r->score.n, r->score.nll);
}

static void print_pair(const char *key, double x) {
    term_print(stdout, "\"%s\": ", key);
    term_print_json_number(x);
}

static void print_json(const result *r) {
    int64_t count, held;
    const ll_epoch *epochs = ll_network_epochs(r->network, &count);
    ll_network_holdout(r->network, &held);
    term_print(stdout, "{\"net\": ");
    term_print_json_string(ll_network_text(r->network));
    term_print(stdout, ", \"classes\": %" PRId64 ", \"rows\": %" PRId64 ", \"holdout\": %" PRId64 ", \"kept_epoch\": %" PRId64 ", ",
               ll_network_classes(r->network), ll_dataset_rows(r->train) - held, held, ll_network_kept(r->network));
    print_pair("seconds", r->seconds);
    term_print(stdout, ",\n");
    term_print(stdout, " \"test\": ");
    if (r->score.n) {
        term_print(stdout, "{\"rows\": %" PRId64 ", ", r->score.n);
        print_pair("accuracy", r->score.accuracy);
        term_print(stdout, ", ");
        print_pair("nll", r->score.nll);
        term_print(stdout, "}");
    } else {
        term_print(stdout, "null");
    }
    term_print(stdout, ",\n");
    term_print(stdout, " \"epochs\": [");
    for (int64_t i = 0; i < count; i++) {
        const ll_epoch *e = &epochs[i];
        term_print(stdout, "%s\n", i ? "," : "");
        term_print(stdout, "  {\"epoch\": %" PRId64 ", ", e->epoch);
        const struct {
            const char *key;
            double value;
        } pairs[] = {
            {"lr", e->lr}, {"nll", e->nll}, {"held_nll", e->held_nll}, {"held_accuracy", e->held_accuracy}, {"seconds", e->seconds}};
        for (size_t p = 0; p < COUNT(pairs); p++) {
            term_print(stdout, "%s", p ? ", " : "");
            print_pair(pairs[p].key, pairs[p].value);
        }
        term_print(stdout, "}");
    }
    term_print(stdout, "\n ]}\n");
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const train_args *args = arguments;
    double start = term_seconds();
    ll_images *images = NULL;
    ll_network *network = NULL;
    result r = {0};
    ll_status status = check(args);
    if (status != LL_OK)
        return status;
    ll_train_options options = recipe(args, typed);
    ll_images_options reading = args->images;
    reading.seed = options.seed;
    status = ll_images_read(&images, ctx, args->data, &reading);
    if (status == LL_OK) {
        int64_t count;
        options.classes = ll_images_classes(images, &count);
        r.train = ll_images_dataset(images, LL_IMAGES_TRAIN);
        r.test = ll_images_dataset(images, LL_IMAGES_TEST);
        if (r.test && !ll_dataset_labels(r.test)) {
            term_note("the test images of %s have no labels, so no test accuracy is printed", args->data);
            r.test = NULL;
        }
        status = r.train ? weight_read(ctx, ll_images_dataset(images, LL_IMAGES_TRAIN), &args->weight)
                         : complain(LL_ERR_DATA, "%s has no training images", args->data);
    }
    if (status == LL_OK)
        status = ll_train_write(&network, ctx, args->output, r.train, &options, args->resume);
    if (status == LL_OK && r.test)
        status = ll_network_evaluate(&r.score, ctx, network, r.test);
    if (status == LL_OK) {
        r.network = network;
        r.seconds = term_seconds() - start;
        FILE *to = inputs_written(args->output);
        if (args->json)
            print_json(&r);
        else
            print_text(to, args, &r);
    }
    ll_network_free(network);
    ll_images_free(images);
    return status;
}

static const char *const examples[] = {
    "lastlayer train --data mnist --net mlp:512,20 --epochs 20 -o net.safetensors",
    "lastlayer train --data mnist --classes first:5 --keep best --table -o half.safetensors",
    NULL,
};

const command cmd_train = {
    .name = "train",
    .summary = "train a network on images",
    .usage = "--data NAME [--net NET] [OPTIONS] -o FILE",
    .detail =
        "Trains the network and writes it with its description, so that encode can turn images into the features of its last layer. A "
        "tenth of the training images is held out by the seed and listed in the file: encode keeps them apart as val, because the "
        "representation has not seen them. --no-holdout trains on all of them.\n\nAfter each epoch the state goes to FILE.partial: an "
        "interrupted run loses at most the current epoch, and --resume continues to the same bits. The defaults are the paper's recipe "
        "for the network.",
    .examples = examples,
    .args_size = sizeof(train_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
