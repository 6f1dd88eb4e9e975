/* SPDX-License-Identifier: MIT */
/* The table of formats, and array sinks chosen by extension. Reading is ll_bundle_read and ll_array_read of lastlayer.h. */
#ifndef LLI_FORMATS_FORMAT_H
#define LLI_FORMATS_FORMAT_H

#include "base/bundle.h"

/* FILE of FILE or FILE:NAME, to free; *name points into `where`, NULL without one. A path that exists as a whole is never split;
 * otherwise the last ':' whose left side exists is the border. Nothing need exist: then the whole is FILE. */
ll_status lli_format_split(char **file, const char **name, ll_context *ctx, const char *where) LL_CHECK_RESULT;

/* ll_array_read; of a whole table (.csv) without one column, if that is not NULL. The entry "columns" of the metadata then names what is
 * left. */
ll_status lli_format_read(ll_bundle **out, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                          const char *without) LL_CHECK_RESULT;

/* Arrays into a file; the format is the extension's: .npy .npz .safetensors .csv .idx .bin (a device or pipe without one of them gets
 * .npz). `specs`: names, types and shapes; data are not looked at. Copies what it needs. Row r of an array is the r-th slice along its
 * first axis; an array of rank 0 has one row. One thread at a time. Metadata go to .npz and .safetensors; the others cannot hold any. */
ll_status lli_sink_open(lli_sink **out, ll_context *ctx, const char *path, const ll_named_array *specs, int64_t count, const ll_meta *meta,
                        int64_t meta_count) LL_CHECK_RESULT;
ll_status lli_sink_check(ll_context *ctx, const char *path) LL_CHECK_RESULT; /* that lli_sink_open knows the ending */
ll_status lli_sink_write(lli_sink *sink, ll_context *ctx, int64_t array, int64_t first_row, int64_t rows, const void *data) LL_CHECK_RESULT;
ll_status lli_sink_commit(lli_sink *sink, ll_context *ctx) LL_CHECK_RESULT; /* frees the sink, also on failure */
void lli_sink_abandon(lli_sink *sink);                                      /* NULL is fine */
bool lli_sink_is_table(const char *path); /* one row per point and nothing else: .csv */

#endif
