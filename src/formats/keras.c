/* SPDX-License-Identifier: MIT */
/* Reader of .keras, the file of a config model of Keras 3: a zip archive with the weights as .h5 and the model as JSON. The weights come
 * as from any .h5. What they do not say is taken from the JSON: `layer_names`, the paths of all layers, nested models included, in the
 * order of the data flow; and `model_config`, all of it, as in an .h5 of a config model. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/readers.h"
#include "formats/tree.h"
#include "formats/zip.h"

#define WEIGHTS "model.weights.h5"
#define CONFIG "config.json"
#define METADATA "metadata.json"

enum { LAYERS_MAX = 4000 };

/* Keras' own: BatchNormalization -> batch_normalization, Conv2D -> conv2d, ReLU -> re_lu. */
static void add_snake(lli_text *out, const char *class) {
    for (const char *c = class; *c; c++) {
        bool capital = *c >= 'A' && *c <= 'Z', before_small = c[1] >= 'a' && c[1] <= 'z';
        char small = capital ? (char)(*c - 'A' + 'a') : *c;
        if (capital && c > class && (before_small || (c[-1] >= 'a' && c[-1] <= 'z')))
            lli_text_append(out, "_", 1);
        lli_text_append(out, &small, 1);
    }
}

/* The layers of a model, whose path is `path`. Keras calls them by their class and counts: dense, dense_1, dense_2. `left`: how many there
 * may be yet, those of models inside included. */
static ll_status add_layers(lli_text *out, ll_context *ctx, const lli_tree *model, const char *path, int64_t *left, const char *name) {
    const lli_tree *layers = lli_tree_get(lli_tree_get(model, "config"), "layers");
    int64_t count = lli_tree_count(layers);
    ll_status status = LL_OK;
    if (count > *left)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the model has more than %d layers, which is not read", name, LAYERS_MAX);
    *left -= count;
    for (int64_t i = 0; i < count && status == LL_OK; i++) {
        const lli_tree *layer = lli_tree_at(layers, i);
        const char *class = lli_tree_text(lli_tree_get(layer, "class_name"));
        int64_t before = 0;
        lli_text place;
        if (!class)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: layer %" PRId64 " in " CONFIG " has no class_name; the file is damaged", name, i);
        for (int64_t k = 0; k < i; k++)
            before += strcmp(lli_tree_text(lli_tree_get(lli_tree_at(layers, k), "class_name")), class) == 0;
        lli_text_init(&place, ctx);
        lli_text_add(&place, "%s/layers/", path);
        add_snake(&place, class);
        if (before > 0)
            lli_text_add(&place, "_%" PRId64, before);
        status = place.status;
        if (status == LL_OK)
            lli_text_add(out, "%s%s", out->length ? "," : "", place.data);
        if (status == LL_OK)
            status = add_layers(out, ctx, layer, place.data, left, name);
        lli_text_release(&place);
    }
    return status != LL_OK ? status : out->status;
}

static ll_status add_text(ll_context *ctx, ll_bundle *bundle, const char *key, lli_text *text) {
    char *value;
    LLI_TRY(lli_text_take(text, &value));
    ll_status status = lli_bundle_add_meta(ctx, bundle, key, value);
    lli_memory_free(value);
    return status;
}

static ll_status add_model(ll_context *ctx, ll_bundle *bundle, const char *json, size_t size, const char *name) {
    lli_text order, config;
    lli_tree *model;
    int64_t left = LAYERS_MAX;
    ll_status status;
    lli_text_init(&order, ctx);
    lli_text_init(&config, ctx);
    LLI_DO(lli_tree_parse(&model, ctx, json, size, name));
    LLI_DO(add_layers(&order, ctx, model, "", &left, name));
    LLI_DO(add_text(ctx, bundle, "layer_names", &order));
    lli_text_append(&config, json, (int64_t)size);
    LLI_DO(add_text(ctx, bundle, "model_config", &config));
done:
    lli_tree_free(model);
    lli_text_release(&order);
    lli_text_release(&config);
    return status;
}

static ll_status add_version(ll_context *ctx, ll_bundle *bundle, const char *json, size_t size, const char *name) {
    lli_tree *metadata;
    LLI_TRY(lli_tree_parse(&metadata, ctx, json, size, name));
    const char *version = lli_tree_text(lli_tree_get(metadata, "keras_version"));
    ll_status status = version ? lli_bundle_add_meta(ctx, bundle, "keras_version", version) : LL_OK;
    lli_tree_free(metadata);
    return status;
}

static ll_status read_entry(ll_context *ctx, ll_bundle *bundle, const lli_zip *zip, const lli_zip_entry *entry, const char *what,
                            const char *name) {
    const unsigned char *bytes;
    unsigned char *owned;
    LLI_TRY(lli_zip_load(&bytes, &owned, ctx, zip, entry, what));
    size_t size = (size_t)entry->size;
    ll_status status = strcmp(what, WEIGHTS) == 0  ? lli_hdf5_parse(ctx, bundle, bytes, size, name)
                       : strcmp(what, CONFIG) == 0 ? add_model(ctx, bundle, (const char *)bytes, size, name)
                                                   : add_version(ctx, bundle, (const char *)bytes, size, name);
    lli_memory_free(owned);
    return status;
}

ll_status lli_keras_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    static const char *const entries[] = {CONFIG, METADATA, WEIGHTS};
    bool found[LLI_COUNT(entries)] = {false};
    lli_zip zip;
    lli_zip_entry entry;
    LLI_TRY(lli_zip_open(&zip, ctx, bytes, size, name));
    while (zip.left > 0) {
        LLI_TRY(lli_zip_next(&entry, &zip, ctx));
        for (size_t i = 0; i < LLI_COUNT(entries); i++) {
            if (entry.name_size != strlen(entries[i]) || !lli_zip_ends(&entry, entries[i]))
                continue;
            if (found[i])
                return lli_fail(ctx, LL_ERR_FORMAT, "%s: the archive holds %s twice", name, entries[i]);
            found[i] = true;
            LLI_TRY(read_entry(ctx, bundle, &zip, &entry, entries[i], name));
        }
    }
    for (size_t i = 0; i < LLI_COUNT(entries); i++)
        if (!found[i])
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the archive holds no %s, so it is not a Keras model", name, entries[i]);
    return LL_OK;
}
