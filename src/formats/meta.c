/* SPDX-License-Identifier: MIT */
/* Metadata between JSON and bundle. */
#include "formats/meta.h"

ll_status lli_meta_add(ll_context *ctx, ll_bundle *bundle, const lli_tree *object, const char *name) {
    if (!lli_tree_is_object(object))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata are not an object of texts", name);
    for (int64_t i = 0; i < lli_tree_count(object); i++) {
        const lli_tree *value = lli_tree_at(object, i);
        if (!lli_tree_text(value))
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata \"%s\" are not a text", name, lli_tree_key(value));
        LLI_TRY(lli_bundle_add_meta(ctx, bundle, lli_tree_key(value), lli_tree_text(value)));
    }
    return LL_OK;
}

static bool all_texts(const lli_tree *object) {
    for (int64_t i = 0; i < lli_tree_count(object); i++)
        if (!lli_tree_text(lli_tree_at(object, i)))
            return false;
    return lli_tree_is_object(object);
}

ll_status lli_meta_parse(ll_context *ctx, ll_bundle *bundle, const char *text, size_t size) {
    lli_tree *object;
    ll_status status = lli_tree_parse(&object, ctx, text, size, "comment");
    if (status != LL_OK)
        return status == LL_ERR_FORMAT ? LL_OK : status;
    if (all_texts(object))
        status = lli_meta_add(ctx, bundle, object, "comment");
    lli_tree_free(object);
    return status;
}

void lli_meta_text(lli_text *out, const ll_meta *meta, int64_t count) {
    lli_text_append(out, "{", 1);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            lli_text_append(out, ",", 1);
        lli_text_json_string(out, meta[i].key);
        lli_text_append(out, ":", 1);
        lli_text_json_string(out, meta[i].value);
    }
    lli_text_append(out, "}", 1);
}
