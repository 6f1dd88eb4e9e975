/* SPDX-License-Identifier: MIT */
/* Reader of .keras, the file of a whole model of Keras 3: a zip archive with the weights as .h5 and the model as JSON. The weights come as
 * from any .h5. What they do not tell, the order in which data pass the layers, is taken from the JSON: `layer_names`, the paths of all
 * layers, nested models included. */
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

/* The layers of a model, whose path is `path`. Keras calls them by their class and counts: dense, dense_1, dense_2. */
static ll_status add_layers(lli_text *out, ll_context *ctx, const lli_tree *model, const char *path, const char *name) {
    enum { LAYERS_MAX = 10000 };
    const lli_tree *layers = lli_tree_get(lli_tree_get(model, "config"), "layers");
    int64_t count = lli_tree_count(layers);
    ll_status status = LL_OK;
    if (count > LAYERS_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the model has %" PRId64 " layers; at most %d are read", name, count, LAYERS_MAX);
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
            status = add_layers(out, ctx, layer, place.data, name);
        lli_text_release(&place);
    }
    return status != LL_OK ? status : out->status;
}

static ll_status add_order(ll_context *ctx, ll_bundle *bundle, const lli_tree *model, const char *name) {
    lli_text order;
    char *list = NULL;
    lli_text_init(&order, ctx);
    ll_status status = add_layers(&order, ctx, model, "", name);
    if (status == LL_OK)
        status = lli_text_take(&order, &list);
    if (status == LL_OK)
        status = lli_bundle_add_meta(ctx, bundle, "layer_names", list);
    lli_memory_free(list);
    lli_text_release(&order);
    return status;
}

static ll_status add_version(ll_context *ctx, ll_bundle *bundle, const lli_tree *metadata, const char *name) {
    const char *version = lli_tree_text(lli_tree_get(metadata, "keras_version"));
    (void)name;
    return version ? lli_bundle_add_meta(ctx, bundle, "keras_version", version) : LL_OK;
}

/* An entry of JSON, handed to `use`. */
static ll_status with_json(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name,
                           ll_status (*use)(ll_context *ctx, ll_bundle *bundle, const lli_tree *tree, const char *name)) {
    lli_tree *tree;
    LLI_TRY(lli_tree_parse(&tree, ctx, (const char *)bytes, size, name));
    ll_status status = use(ctx, bundle, tree, name);
    lli_tree_free(tree);
    return status;
}

static ll_status read_entry(ll_context *ctx, ll_bundle *bundle, const lli_zip *zip, const lli_zip_entry *entry, const char *what,
                            const char *name) {
    const unsigned char *bytes;
    unsigned char *owned;
    LLI_TRY(lli_zip_load(&bytes, &owned, ctx, zip, entry, what));
    ll_status status = strcmp(what, WEIGHTS) == 0 ? lli_hdf5_parse(ctx, bundle, bytes, (size_t)entry->size, name)
                                                  : with_json(ctx, bundle, bytes, (size_t)entry->size, name,
                                                              strcmp(what, CONFIG) == 0 ? add_order : add_version);
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
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the archive holds no %s, so it is no model of Keras", name, entries[i]);
    return LL_OK;
}
