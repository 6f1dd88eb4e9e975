/* SPDX-License-Identifier: MIT */
/* Metadata between JSON and bundle. */
#include "formats/meta.h"

ll_status lli_meta_add(ll_context *ctx, ll_bundle *bundle, const json_t *object, const char *name) {
    json_t *pairs = (json_t *)(uintptr_t)object; /* jansson iterates without const, and changes nothing */
    const char *key;
    json_t *value;
    if (!json_is_object(pairs))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata are not an object of texts", name);
    json_object_foreach(pairs, key, value) {
        if (!json_is_string(value))
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata \"%s\" are not a text", name, key);
        LLI_TRY(lli_bundle_add_meta(ctx, bundle, key, json_string_value(value)));
    }
    return LL_OK;
}

static bool all_texts(json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (!json_is_string(value))
            return false;
    }
    return json_is_object(object);
}

ll_status lli_meta_parse(ll_context *ctx, ll_bundle *bundle, const char *text, size_t size) {
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    ll_status status = object && all_texts(object) ? lli_meta_add(ctx, bundle, object, "comment") : LL_OK;
    json_decref(object);
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
