/* SPDX-License-Identifier: MIT */
/* Opening a sink by the extension of its path, writing rows to their place, and what all formats check. */
#include "formats/sink.h"

#include <inttypes.h>
#include <limits.h>
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
    {".npy", lli_sink_npy}, {".npz", lli_sink_npz}, {".safetensors", lli_sink_safetensors},
    {".csv", lli_sink_csv}, {".idx", lli_sink_idx}, {"-ubyte", lli_sink_idx},
    {".bin", lli_sink_cifar},
};

static lli_sink_layout *by_extension(const char *path) {
    size_t length = strlen(path);
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

bool lli_sink_is_table(const char *path) {
    return find_layout(path) == lli_sink_csv;
}

static void free_sink(lli_sink_file *sink) {
    for (int64_t i = 0; i < sink->count; i++) {
        lli_memory_free(sink->arrays[i].name);
        lli_memory_free(sink->arrays[i].pending);
    }
    lli_memory_free(sink->arrays);
    lli_memory_free((char *)(uintptr_t)sink->path);
    lli_memory_free(sink->comment);
    lli_memory_free(sink->scratch);
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
    int64_t offset = a->offset + first_row * a->row_bytes, bytes = rows * a->row_bytes;
    size_t size = ll_dtype_size(a->spec.dtype);
    if (size > 1 && sink->big != LLI_BYTES_BIG_HOST)
        LLI_TRY(write_swapped(sink, ctx, offset, data, bytes, size));
    else
        LLI_TRY(lli_outfile_write_at(ctx, sink->file, offset, data, (size_t)bytes));
    if (sink->checksums && bytes > 0) /* zlib takes no bytes at NULL for a fresh start */
        a->crc = (uint32_t)crc32_z(a->crc, data, (size_t)bytes);
    a->done += rows;
    return LL_OK;
}

static ll_status write_array(lli_sink *base, ll_context *ctx, int64_t array, int64_t first_row, int64_t rows, const void *data) {
    lli_sink_file *sink = (lli_sink_file *)base;
    return sink->write(sink, ctx, &sink->arrays[array], first_row, rows, data);
}

static void abandon(lli_sink *base) {
    lli_sink_file *sink = (lli_sink_file *)base;
    lli_outfile_abandon(sink->file);
    free_sink(sink);
}

static ll_status commit(lli_sink *base, ll_context *ctx) {
    lli_sink_file *sink = (lli_sink_file *)base;
    ll_status status = LL_OK;
    for (int64_t i = 0; i < sink->count && status == LL_OK; i++)
        if (sink->arrays[i].done != sink->arrays[i].rows)
            status = lli_fail(ctx, LL_ERR_INTERNAL, "%s: \"%s\" got %" PRId64 " of its %" PRId64 " rows", sink->path, sink->arrays[i].name,
                              sink->arrays[i].done, sink->arrays[i].rows);
    if (status == LL_OK && sink->finish)
        status = sink->finish(sink, ctx);
    if (status == LL_OK)
        status = lli_outfile_commit(ctx, sink->file);
    else
        lli_outfile_abandon(sink->file);
    free_sink(sink);
    return status;
}

static const lli_sink_ops ops = {write_array, commit, abandon};

static ll_status copy_spec(lli_sink_array *a, ll_context *ctx, const char *path, const ll_named_array *specs, int64_t index) {
    const ll_named_array *spec = &specs[index];
    int64_t elements;
    if (!spec->name || !spec->name[0])
        return lli_fail(ctx, LL_ERR_USAGE, "%s: array %" PRId64 " has no name", path, index);
    for (int64_t i = 0; i < index; i++)
        if (strcmp(specs[i].name, spec->name) == 0)
            return lli_fail(ctx, LL_ERR_USAGE, "%s: two arrays have the name \"%s\"", path, spec->name);
    if (spec->array.rank < 0 || spec->array.rank > LL_ARRAY_RANK_MAX ||
        !lli_array_count_checked(&elements, spec->array.rank, spec->array.shape, ll_dtype_size(spec->array.dtype)))
        return lli_fail(ctx, LL_ERR_USAGE, "%s: the shape of \"%s\" is impossible", path, spec->name);
    a->spec = spec->array;
    a->spec.data = NULL;
    a->rows = spec->array.rank > 0 ? spec->array.shape[0] : 1;
    a->row_elements = 1;
    for (int i = 1; i < spec->array.rank; i++)
        a->row_elements *= spec->array.shape[i];
    a->row_bytes = a->row_elements * (int64_t)ll_dtype_size(spec->array.dtype);
    return lli_memory_text(ctx, &a->name, spec->name);
}

ll_status lli_sink_check(ll_context *ctx, const char *path) {
    return find_layout(path) ? LL_OK
                             : lli_fail(ctx, LL_ERR_USAGE,
                                        "%s: cannot tell the format to write; expected a name that ends in .npy .npz .safetensors .csv "
                                        ".idx or .bin (CIFAR)",
                                        path);
}

ll_status lli_sink_open(lli_sink **out, ll_context *ctx, const char *path, const ll_named_array *specs, int64_t count, const ll_meta *meta,
                        int64_t meta_count) {
    lli_sink_layout *layout = find_layout(path);
    lli_sink_file *sink;
    ll_status status;
    *out = NULL;
    LLI_TRY(lli_sink_check(ctx, path));
    if (count < 1)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: there is no array to write", path);
    LLI_TRY(lli_memory_new(ctx, &sink, 1, sizeof *sink));
    sink->base = (lli_sink){.ops = &ops};
    sink->write = write_rows; /* a layout may choose another */
    LLI_DO(lli_memory_text(ctx, (char **)(uintptr_t)&sink->path, path));
    LLI_DO(lli_memory_new(ctx, &sink->arrays, count, sizeof *sink->arrays));
    sink->count = count;
    for (int64_t i = 0; i < count; i++)
        LLI_DO(copy_spec(&sink->arrays[i], ctx, path, specs, i));
    LLI_DO(lli_memory_new(ctx, &sink->scratch, LLI_SINK_SCRATCH, 1));
    LLI_DO(lli_outfile_open(&sink->file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(layout(sink, ctx, meta, meta_count));
    *out = &sink->base;
    sink = NULL;
done:
    if (sink)
        abandon(&sink->base);
    return status;
}

ll_status lli_sink_write(lli_sink *sink, ll_context *ctx, int64_t array, int64_t first_row, int64_t rows, const void *data) {
    const lli_sink_file *s = (const lli_sink_file *)sink;
    if (array < 0 || array >= s->count)
        return lli_fail(ctx, LL_ERR_INTERNAL, "%s: there is no array %" PRId64, s->path, array);
    const lli_sink_array *a = &s->arrays[array];
    if (rows < 0 || first_row < 0 || rows > a->rows || first_row > a->rows - rows || a->done > a->rows - rows ||
        (!sink->any_order && first_row != a->done))
        return lli_fail(ctx, LL_ERR_INTERNAL,
                        "%s: %" PRId64 " rows at row %" PRId64 " of \"%s\" are out of place (%" PRId64 " of %" PRId64 " written)", s->path,
                        rows, first_row, a->name, a->done, a->rows);
    return sink->ops->write(sink, ctx, array, first_row, rows, data);
}

ll_status lli_sink_commit(lli_sink *sink, ll_context *ctx) {
    return sink->ops->commit(sink, ctx);
}

void lli_sink_abandon(lli_sink *sink) {
    if (sink)
        sink->ops->abandon(sink);
}
