/* SPDX-License-Identifier: MIT */
/* What connects files and algorithms: a bundle is named arrays in, a sink (base/sink.h) is named arrays out, row by row. formats reads
 * and writes them, the algorithms use them, and only pipeline connects the two. */
#ifndef LLI_BASE_BUNDLE_H
#define LLI_BASE_BUNDLE_H

#include "base/arena.h"
#include "base/context.h"

/* A dense array, in fewer bytes than ll_array takes: a file may hold a hundred thousand. */
typedef struct lli_bundle_item {
    char *name;
    const void *data;
    ll_dtype dtype;
    int rank;
    int64_t shape[LL_ARRAY_RANK_MAX];
    void *owned; /* memory of its own (inflated, converted), or NULL: then the data lie in the bundle's mapping */
} lli_bundle_item;

typedef struct lli_bundle_pair {
    char *key, *value;
} lli_bundle_pair;

struct ll_bundle {
    const char *format;
    char *path; /* of its file; NULL for one made in memory */
    lli_bundle_item *items;
    int64_t count, capacity;
    lli_bundle_pair *meta;
    int64_t meta_count, meta_capacity;
    void *mapping; /* what `unmap` releases, NULL if nothing */
    size_t mapping_bytes;
    void (*unmap)(void *mapping, size_t bytes);
    void *block;     /* memory that several arrays lie in, or NULL */
    lli_arena texts; /* of names and metadata */
};

ll_status lli_bundle_new(ll_bundle **out, ll_context *ctx, const char *format) LL_CHECK_RESULT;
/* Reserves space for this many more arrays, when their number is known. */
ll_status lli_bundle_reserve(ll_context *ctx, ll_bundle *bundle, int64_t more) LL_CHECK_RESULT;
/* Copies name; takes `owned` over, also on failure. */
ll_status lli_bundle_add(ll_context *ctx, ll_bundle *bundle, const char *name, ll_array array, void *owned) LL_CHECK_RESULT;
/* Puts another array into its place, in the same way. */
void lli_bundle_item_set(lli_bundle_item *item, const ll_array *array);
ll_status lli_bundle_add_meta(ll_context *ctx, ll_bundle *bundle, const char *key, const char *value) LL_CHECK_RESULT;
const char *lli_bundle_meta(const ll_bundle *bundle, const char *key); /* NULL if absent */

#endif
