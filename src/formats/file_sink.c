/* SPDX-License-Identifier: MIT */
/* Opening a sink by the extension of its path, writing rows to their place, and what all formats check. */
#include "formats/file_sink.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/bytes.h"

static const struct {
    const char *extension;
    lli_sink_layout *layout;
} layouts[] = {
    {".npy", lli_sink_npy},   {".npz", lli_sink_npz}, {".safetensors", lli_sink_safetensors},
    {".csv", lli_sink_csv},   {".idx", lli_sink_idx}, {"-ubyte", lli_sink_idx},
    {".bin", lli_sink_cifar},
};

/* PATH.part-3-of-8, whatever the whole is. */
static bool is_part(const char *path) {
    const char *tail = strrchr(path, '.');
    long long index, count;
    int used = 0;
    return tail && sscanf(tail, ".part-%lld-of-%lld%n", &index, &count, &used) == 2 && !tail[used];
}

static lli_sink_layout *by_extension(const char *path) {
    size_t length = strlen(path);
    if (is_part(path))
        return lli_sink_safetensors;
    for (size_t i = 0; i < LLI_COUNT(layouts); i++) {
        size_t size = strlen(layouts[i].extension);
        if (length >= size && strcmp(path + length - size, layouts[i].extension) == 0)
            return layouts[i].layout;
    }
    return NULL;
}

/* A link without an extension, such as /dev/stdout > pred.csv, counts as what it leads to. */
static lli_sink_layout *find_layout(const char *path) {
    char end[PATH_MAX];
    lli_sink_layout *layout = by_extension(path);
    if (!layout && lli_file_is_device(path))
        return lli_sink_npz;
    return layout || !realpath(path, end) ? layout : by_extension(end);
}

bool lli_file_sink_is_table(const char *path) {
    return find_layout(path) == lli_sink_csv;
}

static void release(lli_sink *base) {
    lli_sink_file *sink = (lli_sink_file *)base;
    lli_outfile_abandon(sink->file);
    for (int64_t i = 0; sink->places && i < base->count; i++)
        lli_memory_free(sink->places[i].pending);
    lli_memory_free(sink->places);
    lli_memory_free(sink->comment);
    lli_memory_free(sink->scratch);
    lli_sink_release(base);
    lli_memory_free(sink);
}

/* Elements that need their bytes reversed go through the scratch block. */
static ll_status write_swapped(lli_sink_file *sink, ll_context *ctx, int64_t offset, const char *data, int64_t bytes, size_t size) {
    for (int64_t i = 0; i < bytes; i += LLI_SINK_SCRATCH) {
        int64_t piece = LLI_MIN(bytes - i, (int64_t)LLI_SINK_SCRATCH);
        lli_bytes_swap(sink->scratch, data + i, piece / (int64_t)size, size);
        LLI_TRY(lli_outfile_write_at(ctx, sink->file, offset + i, sink->scratch, (size_t)piece));
    }
    return LL_OK;
}

static ll_status write_rows(lli_sink_file *sink, ll_context *ctx, lli_sink_array *a, int64_t first_row, int64_t rows, const void *data) {
    int64_t offset = a->place->offset + first_row * a->row_bytes, bytes = rows * a->row_bytes;
    size_t size = ll_dtype_size(a->spec.dtype);
    if (size > 1 && sink->big != LLI_BYTES_BIG_HOST)
        LLI_TRY(write_swapped(sink, ctx, offset, data, bytes, size));
    else
        LLI_TRY(lli_outfile_write_at(ctx, sink->file, offset, data, (size_t)bytes));
    if (sink->checksums && bytes > 0) /* zlib takes no bytes at NULL for a fresh start */
        a->place->crc = (uint32_t)crc32_z(a->place->crc, data, (size_t)bytes);
    a->done += rows;
    return LL_OK;
}

static ll_status write_array(lli_sink *base, ll_context *ctx, lli_sink_array *a, int64_t first_row, int64_t rows, const void *data) {
    lli_sink_file *sink = (lli_sink_file *)base;
    return sink->write(sink, ctx, a, first_row, rows, data);
}

static ll_status commit(lli_sink *base, ll_context *ctx) {
    lli_sink_file *sink = (lli_sink_file *)base;
    if (sink->finish)
        LLI_TRY(sink->finish(sink, ctx));
    lli_outfile *file = sink->file;
    sink->file = NULL;
    return lli_outfile_commit(ctx, file);
}

ll_status lli_file_sink_check(ll_context *ctx, const char *path) {
    return find_layout(path) ? LL_OK
                             : lli_fail(ctx, LL_ERR_USAGE,
                                        "%s: the format to write is unknown; expected a name that ends in .npy .npz .safetensors .csv "
                                        ".idx or .bin (CIFAR)",
                                        path);
}

ll_status lli_file_sink_open(lli_sink **out, ll_context *ctx, const char *path, const ll_named_array *specs, int64_t count,
                             const ll_meta *meta, int64_t meta_count) {
    static const lli_sink_ops ops = {write_array, commit, release};
    lli_sink_layout *layout = find_layout(path);
    lli_sink_file *sink;
    ll_status status;
    *out = NULL;
    LLI_TRY(lli_file_sink_check(ctx, path));
    LLI_TRY(lli_memory_new(ctx, &sink, 1, sizeof *sink));
    sink->write = write_rows; /* a layout may choose another */
    LLI_DO(lli_sink_init(&sink->base, ctx, &ops, path, specs, count));
    LLI_DO(lli_memory_new(ctx, &sink->places, count, sizeof *sink->places));
    for (int64_t i = 0; i < count; i++)
        sink->base.arrays[i].place = &sink->places[i];
    LLI_DO(lli_memory_new(ctx, &sink->scratch, LLI_SINK_SCRATCH, 1));
    LLI_DO(lli_outfile_open(&sink->file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(layout(sink, ctx, meta, meta_count));
    *out = &sink->base;
    sink = NULL;
done:
    if (sink)
        release(&sink->base);
    return status;
}
