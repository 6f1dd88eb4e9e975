/* SPDX-License-Identifier: MIT */
/* The hinge between files and mathematics: a bundle is named arrays in, a sink is named arrays out, row by row. formats implements
 * both, the algorithms consume them, and only pipeline joins the two. */
#ifndef LLI_BASE_BUNDLE_H
#define LLI_BASE_BUNDLE_H

#include "base/context.h"

typedef struct lli_bundle_item {
    char *name;
    ll_array array;
    void *owned; /* memory of its own (inflated, converted), or NULL: then the data lie in the bundle's mapping */
} lli_bundle_item;

typedef struct lli_bundle_pair {
    char *key, *value;
} lli_bundle_pair;

struct ll_bundle {
    const char *format;
    lli_bundle_item *items;
    int64_t count, capacity;
    lli_bundle_pair *meta;
    int64_t meta_count, meta_capacity;
    void *mapping; /* what `unmap` releases, NULL if nothing */
    size_t mapping_bytes;
    void (*unmap)(void *mapping, size_t bytes);
    void *block; /* memory that several arrays lie in, or NULL */
};

ll_status lli_bundle_new(ll_bundle **out, ll_context *ctx, const char *format) LL_CHECK_RESULT;
/* Copies name; takes `owned` over, also on failure. */
ll_status lli_bundle_add(ll_context *ctx, ll_bundle *bundle, const char *name, ll_array array, void *owned) LL_CHECK_RESULT;
ll_status lli_bundle_add_meta(ll_context *ctx, ll_bundle *bundle, const char *key, const char *value) LL_CHECK_RESULT;
const char *lli_bundle_meta(const ll_bundle *bundle, const char *key); /* NULL if absent */

/* Arrays out. The names, types and shapes are known when a sink is opened; then rows (slices along the first axis) are written, and
 * commit makes the file appear whole. Each array's rows must come in order, unless the format says `any_order`. */
typedef struct lli_sink lli_sink;

typedef struct lli_sink_ops {
    ll_status (*write)(lli_sink *sink, ll_context *ctx, int64_t array, int64_t first_row, int64_t rows, const void *data);
    ll_status (*commit)(lli_sink *sink, ll_context *ctx); /* frees the sink, also on failure */
    void (*abandon)(lli_sink *sink);                      /* frees the sink and removes what it wrote */
} lli_sink_ops;

struct lli_sink {
    const lli_sink_ops *ops;
    bool any_order;
};

#endif
