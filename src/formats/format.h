/* SPDX-License-Identifier: MIT */
/* The table of formats, and array sinks chosen by extension. Reading is ll_bundle_read and ll_array_read of lastlayer.h. */
#ifndef LLI_FORMATS_FORMAT_H
#define LLI_FORMATS_FORMAT_H

#include "base/sink.h"

/* FILE of FILE or FILE:NAME, to free; *name points into `where`, NULL without one. A path that exists as a whole is never split;
 * otherwise the last ':' whose left side exists is the border. Nothing need exist: then the whole is FILE. */
ll_status lli_format_split(char **file, const char **name, ll_context *ctx, const char *where) LL_CHECK_RESULT;

/* The index of the array meant by NAME, or by the candidates when there is none: the first that is there; of those behind an "" the only
 * one that is there. A .csv by itself means its whole table. */
ll_status lli_format_pick(int64_t *out, ll_context *ctx, const ll_bundle *bundle, const char *name,
                          const char *const *names) LL_CHECK_RESULT;

/* ll_array_read; of a whole table (.csv) without one column, if that is not NULL. The entry "columns" of the metadata then names what is
 * left. */
ll_status lli_format_read(ll_bundle **out, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                          const char *without) LL_CHECK_RESULT;

/* An array that belongs to another one: {"weight", "bias"} makes fc.bias the partner of fc.weight. */
typedef struct lli_format_partner {
    const char *ending, *partner;
} lli_format_partner;

/* ll_array_read, and in the same look at the file the array's partner by the first of `partners` (ended by {NULL}) that is there: *found.
 */
ll_status lli_format_read_both(ll_bundle **out, ll_array *array, ll_array *partner, bool *found, ll_context *ctx, const char *where,
                               const char *const *names, const lli_format_partner *partners) LL_CHECK_RESULT;

/* The bytes of a .safetensors, as lli_file_sink_open would write it; of ll_bytes_free. */
ll_status lli_format_bytes(void **out, size_t *size, ll_context *ctx, const ll_named_array *arrays, int64_t count, const ll_meta *meta,
                           int64_t meta_count) LL_CHECK_RESULT;

/* Arrays into a file; the format is the extension's: .npy .npz .safetensors .csv .idx .bin (a device or pipe without one of them gets
 * .npz). `specs`: names, types and shapes. Metadata go to .npz and .safetensors; the others cannot hold any. */
ll_status lli_file_sink_open(lli_sink **out, ll_context *ctx, const char *path, const ll_named_array *specs, int64_t count,
                             const ll_meta *meta, int64_t meta_count) LL_CHECK_RESULT;
ll_status lli_file_sink_check(ll_context *ctx, const char *path) LL_CHECK_RESULT; /* that lli_file_sink_open knows the ending */
bool lli_file_sink_is_table(const char *path);                                    /* one row per point and nothing else: .csv */

#endif
