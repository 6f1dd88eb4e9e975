/* SPDX-License-Identifier: MIT */
/* Named arrays out, row by row: the counterpart of the bundle. Names, types and shapes are known when a sink is opened; then rows
 * (slices along the first axis; an array of rank 0 has one row) are written, and commit makes the whole appear: a file
 * (formats/format.h), or a bundle in memory. Each array's rows come in order, unless the sink says `any_order`. One thread at a time. */
#ifndef LLI_BASE_SINK_H
#define LLI_BASE_SINK_H

#include "base/bundle.h"

typedef struct lli_sink lli_sink;
typedef struct lli_sink_place lli_sink_place; /* what a kind of sink knows of an array */

typedef struct lli_sink_array {
    char *name;
    ll_array spec; /* data NULL */
    int64_t rows, row_elements, row_bytes;
    int64_t done; /* rows written: `write` counts them */
    lli_sink_place *place;
} lli_sink_array;

typedef struct lli_sink_ops {
    ll_status (*write)(lli_sink *sink, ll_context *ctx, lli_sink_array *a, int64_t first_row, int64_t rows, const void *data);
    ll_status (*commit)(lli_sink *sink, ll_context *ctx); /* after the last row of every array */
    void (*release)(lli_sink *sink);                      /* what a commit has not given away, and the sink itself */
} lli_sink_ops;

struct lli_sink {
    const lli_sink_ops *ops;
    bool any_order;
    char *name; /* in messages: its path */
    lli_sink_array *arrays;
    int64_t count;
    lli_arena names; /* of the arrays */
};

/* For who implements a sink: copies of the specs, whose data are not looked at; and their end. */
ll_status lli_sink_init(lli_sink *sink, ll_context *ctx, const lli_sink_ops *ops, const char *name, const ll_named_array *specs,
                        int64_t count) LL_CHECK_RESULT;
void lli_sink_release(lli_sink *sink);

/* Into memory: commit makes *out, a bundle with the arrays and the metadata. */
ll_status lli_sink_memory(lli_sink **sink, ll_bundle **out, ll_context *ctx, const ll_named_array *specs, int64_t count,
                          const ll_meta *meta, int64_t meta_count) LL_CHECK_RESULT;

ll_status lli_sink_write(lli_sink *sink, ll_context *ctx, int64_t array, int64_t first_row, int64_t rows, const void *data) LL_CHECK_RESULT;
ll_status lli_sink_commit(lli_sink *sink, ll_context *ctx) LL_CHECK_RESULT; /* frees the sink, also on failure */
void lli_sink_abandon(lli_sink *sink);                                      /* NULL is fine */

#endif
