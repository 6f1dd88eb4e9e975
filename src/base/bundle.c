/* SPDX-License-Identifier: MIT */
/* Named arrays in memory. */
#include "base/bundle.h"

#include <string.h>

#include "base/memory.h"

ll_status lli_bundle_new(ll_bundle **out, ll_context *ctx, const char *format) {
    LLI_TRY(lli_memory_new(ctx, out, 1, sizeof **out));
    (*out)->format = format;
    return LL_OK;
}

void ll_bundle_free(ll_bundle *bundle) {
    if (!bundle)
        return;
    for (int64_t i = 0; i < bundle->count; i++)
        lli_memory_free(bundle->items[i].owned);
    lli_arena_release(&bundle->texts);
    lli_memory_free(bundle->items);
    lli_memory_free(bundle->meta);
    lli_memory_free(bundle->block);
    if (bundle->unmap)
        bundle->unmap(bundle->mapping, bundle->mapping_bytes);
    lli_memory_free(bundle);
}

/* Makes space for one more element of a growing array. */
static ll_status make_room(ll_context *ctx, void *block, int64_t count, int64_t *capacity, size_t size) {
    if (count < *capacity)
        return LL_OK;
    int64_t grown = LLI_MAX(8, 2 * *capacity);
    LLI_TRY(lli_memory_grow(ctx, block, count, grown, size));
    *capacity = grown;
    return LL_OK;
}

ll_status lli_bundle_reserve(ll_context *ctx, ll_bundle *bundle, int64_t more) {
    int64_t capacity = bundle->count + more;
    if (capacity <= bundle->capacity)
        return LL_OK;
    LLI_TRY(lli_memory_grow(ctx, &bundle->items, bundle->count, capacity, sizeof *bundle->items));
    bundle->capacity = capacity;
    return LL_OK;
}

ll_status lli_bundle_add(ll_context *ctx, ll_bundle *bundle, const char *name, ll_array array, void *owned) {
    char *copy = NULL;
    ll_status status = make_room(ctx, &bundle->items, bundle->count, &bundle->capacity, sizeof *bundle->items);
    if (status == LL_OK)
        status = lli_arena_text(ctx, &bundle->texts, &copy, name);
    if (status != LL_OK) {
        lli_memory_free(owned);
        return status;
    }
    lli_bundle_item *item = &bundle->items[bundle->count++];
    *item = (lli_bundle_item){.name = copy, .owned = owned};
    lli_bundle_item_set(item, &array);
    return LL_OK;
}

void lli_bundle_item_set(lli_bundle_item *item, const ll_array *array) {
    item->data = array->data;
    item->dtype = array->dtype;
    item->rank = array->rank;
    memcpy(item->shape, array->shape, sizeof item->shape);
}

ll_status lli_bundle_add_meta(ll_context *ctx, ll_bundle *bundle, const char *key, const char *value) {
    LLI_TRY(make_room(ctx, &bundle->meta, bundle->meta_count, &bundle->meta_capacity, sizeof *bundle->meta));
    lli_bundle_pair *pair = &bundle->meta[bundle->meta_count];
    LLI_TRY(lli_arena_text(ctx, &bundle->texts, &pair->key, key));
    LLI_TRY(lli_arena_text(ctx, &bundle->texts, &pair->value, value));
    bundle->meta_count++;
    return LL_OK;
}

const char *lli_bundle_meta(const ll_bundle *bundle, const char *key) {
    for (int64_t i = 0; i < bundle->meta_count; i++)
        if (strcmp(bundle->meta[i].key, key) == 0)
            return bundle->meta[i].value;
    return NULL;
}

const char *ll_bundle_format(const ll_bundle *bundle) {
    return bundle ? bundle->format : "";
}

const char *ll_bundle_path(const ll_bundle *bundle) {
    return bundle && bundle->path ? bundle->path : "";
}

int64_t ll_bundle_count(const ll_bundle *bundle) {
    return bundle ? bundle->count : 0;
}

const char *ll_bundle_name(const ll_bundle *bundle, int64_t i) {
    return i >= 0 && i < ll_bundle_count(bundle) ? bundle->items[i].name : NULL;
}

ll_array ll_bundle_array(const ll_bundle *bundle, int64_t i) {
    if (i < 0 || i >= ll_bundle_count(bundle))
        return (ll_array){.rank = -1};
    const lli_bundle_item *item = &bundle->items[i];
    return ll_array_view(item->data, item->dtype, item->rank, item->shape);
}

int64_t ll_bundle_find(const ll_bundle *bundle, const char *name) {
    for (int64_t i = 0; name && i < ll_bundle_count(bundle); i++)
        if (strcmp(bundle->items[i].name, name) == 0)
            return i;
    return -1;
}

int64_t ll_bundle_meta_count(const ll_bundle *bundle) {
    return bundle ? bundle->meta_count : 0;
}

const char *ll_bundle_meta_key(const ll_bundle *bundle, int64_t i) {
    return i >= 0 && i < ll_bundle_meta_count(bundle) ? bundle->meta[i].key : NULL;
}

const char *ll_bundle_meta_value(const ll_bundle *bundle, int64_t i) {
    return i >= 0 && i < ll_bundle_meta_count(bundle) ? bundle->meta[i].value : NULL;
}
