/* SPDX-License-Identifier: MIT */
/* What a network file says about its training: the recipe, and the rows that it held out. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/dataset_select.h"
#include "formats/number.h"
#include "interop/trained.h"
#include "train/recipe.h"

ll_status lli_trained_recipe(ll_context *ctx, ll_train_options *out, const ll_network *network) {
    *out = ll_train_options_default(ll_network_text(network));
    size_t count;
    const ll_option *table = ll_train_options_table(&count);
    for (size_t i = 0; i < count; i++) {
        const char *text = lli_provenance_get(&network->provenance, table[i].name);
        char *at = (char *)out + table[i].offset;
        lli_number number = {0};
        if (!text || strcmp(table[i].name, "net") == 0)
            continue;
        bool numeric = table[i].type == LL_OPTION_INT || table[i].type == LL_OPTION_REAL;
        if (numeric && (!lli_number_parse(&number, text, strlen(text)) || (table[i].type == LL_OPTION_INT && !number.is_integer)))
            return lli_fail(ctx, LL_ERR_FORMAT, "%s is %.100s; expected a number", table[i].name, text);
        switch (table[i].type) {
        case LL_OPTION_FLAG: *(bool *)at = strcmp(text, "true") == 0; break;
        case LL_OPTION_INT: *(int64_t *)(void *)at = number.integer; break;
        case LL_OPTION_REAL: *(double *)(void *)at = number.real; break;
        case LL_OPTION_TEXT:
        case LL_OPTION_CHOICE: *(const char **)(void *)at = text; break;
        case LL_OPTION_SEED: break; /* the fit has its own */
        }
    }
    return LL_OK;
}

ll_status lli_trained_check_recipe(ll_context *ctx, const ll_network *network, const char *path) {
    ll_train_options options;
    lli_recipe recipe;
    lli_augment augment;
    ll_status status;
    LLI_DO(lli_trained_recipe(ctx, &options, network));
    LLI_DO(lli_recipe_init(ctx, &recipe, &options, 1));
    LLI_DO(lli_augment_parse(&augment, ctx, options.augment));
done:
    if (status != LL_ERR_USAGE && status != LL_ERR_FORMAT)
        return status;
    /* reported as options, although they come from the file */
    lli_text why;
    const char *message = ll_context_message(ctx);
    lli_text_init(&why, ctx);
    lli_text_add(&why, "%s", strncmp(message, "--", 2) == 0 ? message + 2 : message);
    if (why.status == LL_OK)
        status = lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata do not describe a training: %s", path, why.data);
    lli_text_release(&why);
    return status;
}

int64_t ll_network_held(const ll_network *n, const ll_dataset *data) {
    const char *hash = n && data ? lli_provenance_get(&n->provenance, "features_sha256") : NULL;
    return hash && strcmp(hash, data->features_hash) == 0 ? n->holdout_count : 0;
}

ll_status lli_trained_check_held(ll_context *ctx, const ll_network *n, const ll_dataset *data) {
    int64_t held = ll_network_held(n, data), N = data->rows.N;
    if (!held && n->holdout_count)
        lli_log(ctx, LL_LOG_WARNING, "the network was not trained on these rows, so none of them are held out for validation");
    if (held && (held >= N || n->holdout[held - 1] >= N))
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "the network file holds out %" PRId64 " rows up to row %" PRId64 " of the %" PRId64
                        " it was trained on; its array holdout is damaged",
                        held, n->holdout[held - 1], N);
    return LL_OK;
}

ll_status lli_trained_split(ll_dataset **training, ll_dataset **held_out, ll_context *ctx, const ll_dataset *data,
                            const ll_network *network) {
    *training = NULL;
    if (held_out)
        *held_out = NULL;
    LLI_TRY(lli_trained_check_held(ctx, network, data));
    if (!ll_network_held(network, data))
        return LL_OK;
    int64_t *rows, n = 0, next = 0;
    LLI_TRY(lli_memory_new(ctx, &rows, data->rows.N, sizeof *rows));
    for (int64_t i = 0; i < data->rows.N; i++) {
        bool out = next < network->holdout_count && network->holdout[next] == i;
        next += out;
        if (!out)
            rows[n++] = i;
    }
    ll_status status;
    LLI_DO(lli_dataset_select(training, ctx, data, rows, n, NULL, 0));
    if (held_out)
        LLI_DO(lli_dataset_select(held_out, ctx, data, network->holdout, network->holdout_count, NULL, 0));
done:
    lli_memory_free(rows);
    if (status != LL_OK) {
        ll_dataset_free(*training);
        *training = NULL;
    }
    return status;
}
