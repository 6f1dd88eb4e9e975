/* SPDX-License-Identifier: MIT */
/* lastlayer inspect: the arrays and metadata of any file we read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "inputs.h"
#include "term.h"

typedef struct inspect_args {
    bool json;
} inspect_args;

static const ll_option table[] = {
    {.name = "json", .type = LL_OPTION_FLAG, .offset = offsetof(inspect_args, json), .help = "print JSON"},
};

static void defaults(void *args) {
    *(inspect_args *)args = (inspect_args){0};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Output", .table = table, .count = COUNT(table)};
    return 1;
}

static void shape_text(char *out, size_t size, const ll_array *array) {
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < array->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? "," : "", array->shape[i]);
    if (used < size)
        snprintf(out + used, size - used, "]");
}

static double byte_count(const ll_array *array) {
    double bytes = (double)ll_dtype_size(array->dtype);
    for (int i = 0; i < array->rank; i++)
        bytes *= (double)array->shape[i];
    return bytes;
}

static void size_text(char *out, size_t size, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < COUNT(units); unit++)
        bytes /= 1024;
    snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static int printed_width(const char *name) {
    return (int)ll_text_escape(NULL, 0, name, LL_TEXT_PLAIN);
}

static void print_text(const char *path, const ll_bundle *bundle, const ll_ensemble *ensemble) {
    int64_t count = ll_bundle_count(bundle), meta = ll_bundle_meta_count(bundle);
    term_print(stdout, "%s: %s, %" PRId64 " array%s\n", path, ll_bundle_format(bundle), count, count == 1 ? "" : "s");
    if (ensemble)
        term_print(stdout, "ensemble: method %s, S = %" PRId64 " members, K = %" PRId64 " classes, D = %" PRId64 " features\n",
                   ll_ensemble_method(ensemble), ll_ensemble_samples(ensemble), ll_ensemble_classes(ensemble),
                   ll_ensemble_features(ensemble));
    int width = 5;
    for (int64_t i = 0; i < count; i++) {
        int length = printed_width(ll_bundle_name(bundle, i));
        width = length > width ? length : width;
    }
    for (int64_t i = 0; i < count; i++) {
        ll_array array = ll_bundle_array(bundle, i);
        char shape[200], size[32];
        shape_text(shape, sizeof shape, &array);
        size_text(size, sizeof size, byte_count(&array));
        const char *name = ll_bundle_name(bundle, i);
        term_print(stdout, "  %s%*s  %-4s  %-16s  %s\n", name, width - printed_width(name), "", ll_dtype_name(array.dtype), shape, size);
    }
    if (meta > 0)
        term_print(stdout, "metadata\n");
    for (int64_t i = 0; i < meta; i++) {
        enum { SHOWN = 2000 };
        const char *value = ll_bundle_meta_value(bundle, i), *rest = strlen(value) > SHOWN ? "... (all of it: --json)" : "";
        term_print(stdout, "  %s: %.*s%s\n", ll_bundle_meta_key(bundle, i), SHOWN, value, rest);
    }
}

static void print_json(const char *path, const ll_bundle *bundle, const ll_ensemble *ensemble) {
    term_print(stdout, "{\"file\": ");
    term_print_json_string(path);
    term_print(stdout, ", \"format\": \"%s\", \"arrays\": [", ll_bundle_format(bundle));
    for (int64_t i = 0; i < ll_bundle_count(bundle); i++) {
        ll_array array = ll_bundle_array(bundle, i);
        char shape[200];
        shape_text(shape, sizeof shape, &array);
        term_print(stdout, "%s{\"name\": ", i ? ", " : "");
        term_print_json_string(ll_bundle_name(bundle, i));
        term_print(stdout, ", \"dtype\": \"%s\", \"shape\": %s, \"bytes\": %.0f}", ll_dtype_name(array.dtype), shape, byte_count(&array));
    }
    term_print(stdout, "], \"metadata\": {");
    for (int64_t i = 0; i < ll_bundle_meta_count(bundle); i++) {
        term_print(stdout, "%s", i ? ", " : "");
        term_print_json_string(ll_bundle_meta_key(bundle, i));
        term_print(stdout, ": ");
        term_print_json_string(ll_bundle_meta_value(bundle, i));
    }
    term_print(stdout, "}");
    if (ensemble) {
        term_print(stdout, ", \"ensemble\": {\"method\": ");
        term_print_json_string(ll_ensemble_method(ensemble));
        term_print(stdout, ", \"samples\": %" PRId64 ", \"classes\": %" PRId64 ", \"features\": %" PRId64 "}",
                   ll_ensemble_samples(ensemble), ll_ensemble_classes(ensemble), ll_ensemble_features(ensemble));
    }
    term_print(stdout, "}\n");
}

/* An ensemble is recognised by what it holds; any other file with a W is not one, and that is no failure. */
static ll_ensemble *as_ensemble(ll_context *ctx, const char *path, const ll_bundle *bundle) {
    ll_ensemble *ensemble = NULL;
    bool candidate = strcmp(ll_bundle_format(bundle), "safetensors") == 0 && ll_bundle_find(bundle, "W") >= 0;
    return candidate && ll_ensemble_read(&ensemble, ctx, path) == LL_OK ? ensemble : NULL;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const inspect_args *args = arguments;
    ll_status status = inputs_require("the file", typed->operand, "lastlayer inspect features.npy");
    if (status != LL_OK)
        return status;
    ll_bundle *bundle;
    status = ll_bundle_read(&bundle, ctx, typed->operand);
    if (status != LL_OK)
        return status;
    ll_ensemble *ensemble = as_ensemble(ctx, typed->operand, bundle);
    (args->json ? print_json : print_text)(typed->operand, bundle, ensemble);
    ll_ensemble_free(ensemble);
    ll_bundle_free(bundle);
    return LL_OK;
}

static const char *const examples[] = {
    "lastlayer inspect features.npy",
    "lastlayer inspect ens.safetensors --json",
    NULL,
};

const command cmd_inspect = {
    .name = "inspect",
    .summary = "list the arrays and metadata of a file",
    .usage = "FILE [--json]",
    .operand = "FILE",
    .operand_help = ".npy, .npz, .safetensors, .idx, .idx.gz, .csv, .png, .h5, .keras, or a CIFAR .bin",
    .detail = "Prints name, type, shape and size of every array, and the metadata; for an ensemble also its method, S, K and D.",
    .examples = examples,
    .args_size = sizeof(inspect_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
