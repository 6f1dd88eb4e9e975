/* SPDX-License-Identifier: MIT */
/* lastlayer diagnose: have the chains of an ensemble mixed? */
#include <stdio.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct diagnose_args {
    const char *features, *data;
    bool save, json;
    int64_t threads;
} diagnose_args;

#define AT(member) offsetof(diagnose_args, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "features", .type = LL_OPTION_TEXT, .offset = AT(features), .arg = "FILE",
     .help = "features [N,D], best of rows that training did not see; of a whole file of lastlayer encode its held-out rows, else its "
             "test rows"},
    {.name = "data", .type = LL_OPTION_TEXT, .offset = AT(data), .arg = "DATA",
     .help = "for an ensemble of networks: images, whose test part is used"},
    {.name = "save", .type = LL_OPTION_FLAG, .offset = AT(save),
     .help = "write the diagnosis into the ensemble, where lastlayer report finds it"},
    {.name = "json", .type = LL_OPTION_FLAG, .offset = AT(json),
     .help = "print JSON, with the numbers of each row and the draws of the worst three"},
    {.name = "threads", .type = LL_OPTION_INT, .offset = AT(threads), .arg = "T", .min = 1, .max = 1024, .standard = "all processors",
     .help = "worker threads; the result does not depend on it"},
};
/* clang-format on */

static void defaults(void *args) {
    *(diagnose_args *)args = (diagnose_args){.json = false};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Options", .table = table, .count = COUNT(table)};
    return 1;
}

static ll_status read_rows(ll_dataset **data, ll_context *ctx, inputs_files *files, const char *features) {
    inputs_parts parts;
    ll_status status = inputs_find_parts(&parts, ctx, files, features);
    if (status != LL_OK)
        return status;
    if (parts.whole) {
        features = *parts.val ? parts.val : parts.test;
        if (!*features)
            return complain(LL_ERR_USAGE, "the file has neither held-out nor test rows; name an array, like FILE:features_train");
        term_note("rows from %s", features);
    }
    return inputs_read(data, ctx, files, features, NULL, 0);
}

static ll_status save(ll_context *ctx, const char *path, ll_ensemble *ensemble, const ll_diagnosis *diagnosis) {
    ll_status status = ll_ensemble_set_diagnosis(ctx, ensemble, diagnosis);
    return status == LL_OK ? ll_ensemble_write(ctx, path, ensemble) : status;
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const diagnose_args *args = arguments;
    const char *example = "lastlayer diagnose ens.safetensors --features val_features.npy";
    ll_ensemble *ensemble = NULL;
    ll_dataset *data = NULL;
    ll_images *images = NULL;
    ll_diagnosis *diagnosis = NULL;
    inputs_files files = {.count = 0};
    const ll_dataset *rows = NULL;
    char *text = NULL;
    ll_status status = inputs_require("ENSEMBLE", typed->operand, example);
    if (status == LL_OK && args->data && args->features)
        status = complain(LL_ERR_USAGE, "--data and --features exclude each other");
    if (status == LL_OK && !args->data)
        status = inputs_require("--features", args->features, example);
    if (status == LL_OK)
        status = ll_ensemble_read(&ensemble, ctx, typed->operand);
    if (status == LL_OK && args->data) {
        ll_images_options options = ll_ensemble_images(ensemble);
        status = ll_images_read(&images, ctx, args->data, &options);
        rows = images ? ll_images_dataset(images, LL_IMAGES_TEST) : NULL;
        if (status == LL_OK && !rows)
            status = complain(LL_ERR_DATA, "%s has no test images", args->data);
    } else if (status == LL_OK) {
        status = read_rows(&data, ctx, &files, args->features);
        rows = data;
    }
    if (status == LL_OK)
        status = ll_diagnose(&diagnosis, ctx, ensemble, rows);
    if (status == LL_OK && args->save)
        status = save(ctx, typed->operand, ensemble, diagnosis);
    if (status == LL_OK)
        status = ll_diagnosis_text(&text, ctx, diagnosis, args->json ? LL_TEXT_JSON : LL_TEXT_PLAIN);
    if (status == LL_OK)
        term_print_text(text);
    ll_text_free(text);
    ll_diagnosis_free(diagnosis);
    ll_dataset_free(data);
    inputs_files_close(&files);
    ll_images_free(images);
    ll_ensemble_free(ensemble);
    return status;
}

static const char *const examples[] = {
    "lastlayer diagnose ens.safetensors --features val_features.npy",
    "lastlayer diagnose ens.safetensors --features val_features.npy --save",
    "lastlayer diagnose ens.safetensors --features val_features.npy --json",
    NULL,
};

const command cmd_diagnose = {
    .name = "diagnose",
    .summary = "have the chains of a sampler mixed? R-hat and effective members",
    .usage = "ENSEMBLE --features FILE [OPTIONS]\n"
             "ENSEMBLE --data DATA [OPTIONS]",
    .operand = "ENSEMBLE",
    .operand_help = "a file of lastlayer fit whose method runs chains; --chains 4 there gives an R-hat here",
    .detail = "Looks at the probability that each member gives to the label of all of them, on the 200 rows of smallest margin among 2000: "
              "rank-normalised split R-hat (do the chains agree?), and effective sample sizes (how many independent members are they "
              "worth?). Warns where chains differ or members repeat each other.",
    .examples = examples,
    .args_size = sizeof(diagnose_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
