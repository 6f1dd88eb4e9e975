/* SPDX-License-Identifier: MIT */
/* What all sinks check, and the one into memory. */
#include "base/sink.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

static ll_status copy_spec(lli_sink *sink, ll_context *ctx, const ll_named_array *spec, int64_t index) {
    lli_sink_array *a = &sink->arrays[index];
    int64_t elements;
    if (!spec->name || !spec->name[0])
        return lli_fail(ctx, LL_ERR_USAGE, "%s: array %" PRId64 " has no name", sink->name, index);
    if (spec->array.rank < 0 || spec->array.rank > LL_ARRAY_RANK_MAX ||
        !lli_array_count_checked(&elements, spec->array.rank, spec->array.shape, ll_dtype_size(spec->array.dtype)))
        return lli_fail(ctx, LL_ERR_USAGE, "%s: the shape of \"%s\" is impossible", sink->name, spec->name);
    a->spec = ll_array_view(NULL, spec->array.dtype, spec->array.rank, spec->array.shape);
    a->rows = spec->array.rank > 0 ? spec->array.shape[0] : 1;
    a->row_elements = 1;
    for (int i = 1; i < spec->array.rank; i++)
        a->row_elements *= spec->array.shape[i];
    a->row_bytes = a->row_elements * (int64_t)ll_dtype_size(spec->array.dtype);
    return lli_arena_text(ctx, &sink->names, &a->name, spec->name);
}

static ll_status check_names(const lli_sink *sink, ll_context *ctx) {
    const char **names, *twice;
    LLI_TRY(lli_memory_new(ctx, &names, sink->count, sizeof *names));
    for (int64_t i = 0; i < sink->count; i++)
        names[i] = sink->arrays[i].name;
    twice = lli_text_twice(names, sink->count);
    lli_memory_free(names);
    return twice ? lli_fail(ctx, LL_ERR_USAGE, "%s: two arrays have the name \"%s\"", sink->name, twice) : LL_OK;
}

ll_status lli_sink_init(lli_sink *sink, ll_context *ctx, const lli_sink_ops *ops, const char *name, const ll_named_array *specs,
                        int64_t count) {
    *sink = (lli_sink){.ops = ops};
    if (count < 1)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: there is no array to write", name);
    LLI_TRY(lli_memory_text(ctx, &sink->name, name));
    LLI_TRY(lli_memory_new(ctx, &sink->arrays, count, sizeof *sink->arrays));
    sink->count = count;
    for (int64_t i = 0; i < count; i++)
        LLI_TRY(copy_spec(sink, ctx, &specs[i], i));
    return check_names(sink, ctx);
}

void lli_sink_release(lli_sink *sink) {
    lli_arena_release(&sink->names);
    lli_memory_free(sink->arrays);
    lli_memory_free(sink->name);
}

ll_status lli_sink_write(lli_sink *sink, ll_context *ctx, int64_t array, int64_t first_row, int64_t rows, const void *data) {
    if (array < 0 || array >= sink->count)
        return lli_fail(ctx, LL_ERR_INTERNAL, "%s: there is no array %" PRId64, sink->name, array);
    lli_sink_array *a = &sink->arrays[array];
    if (rows < 0 || first_row < 0 || rows > a->rows || first_row > a->rows - rows || a->done > a->rows - rows ||
        (!sink->any_order && first_row != a->done))
        return lli_fail(ctx, LL_ERR_INTERNAL,
                        "%s: %" PRId64 " rows at row %" PRId64 " of \"%s\" are in the wrong place (%" PRId64 " of %" PRId64 " written)",
                        sink->name, rows, first_row, a->name, a->done, a->rows);
    return sink->ops->write(sink, ctx, a, first_row, rows, data);
}

ll_status lli_sink_commit(lli_sink *sink, ll_context *ctx) {
    ll_status status = LL_OK;
    for (int64_t i = 0; i < sink->count && status == LL_OK; i++)
        if (sink->arrays[i].done != sink->arrays[i].rows)
            status = lli_fail(ctx, LL_ERR_INTERNAL, "%s: \"%s\" got %" PRId64 " of its %" PRId64 " rows", sink->name, sink->arrays[i].name,
                              sink->arrays[i].done, sink->arrays[i].rows);
    if (status == LL_OK)
        status = sink->ops->commit(sink, ctx);
    sink->ops->release(sink);
    return status;
}

void lli_sink_abandon(lli_sink *sink) {
    if (sink)
        sink->ops->release(sink);
}

/* ---- into memory ---- */

typedef struct memory_sink {
    lli_sink base;
    ll_bundle *bundle, **out;
} memory_sink;

static ll_status write_memory(lli_sink *base, ll_context *ctx, lli_sink_array *a, int64_t first_row, int64_t rows, const void *data) {
    (void)ctx;
    const memory_sink *sink = (const memory_sink *)base;
    char *items = sink->bundle->items[a - base->arrays].owned;
    if (rows > 0)
        memcpy(items + first_row * a->row_bytes, data, (size_t)(rows * a->row_bytes));
    a->done += rows;
    return LL_OK;
}

static ll_status commit_memory(lli_sink *base, ll_context *ctx) {
    (void)ctx;
    memory_sink *sink = (memory_sink *)base;
    *sink->out = sink->bundle;
    sink->bundle = NULL;
    return LL_OK;
}

static void release_memory(lli_sink *base) {
    ll_bundle_free(((memory_sink *)base)->bundle);
    lli_sink_release(base);
    lli_memory_free(base);
}

ll_status lli_sink_memory(lli_sink **out, ll_bundle **bundle, ll_context *ctx, const ll_named_array *specs, int64_t count,
                          const ll_meta *meta, int64_t meta_count) {
    static const lli_sink_ops ops = {write_memory, commit_memory, release_memory};
    memory_sink *sink;
    ll_status status;
    *out = NULL;
    *bundle = NULL;
    LLI_TRY(lli_memory_new(ctx, &sink, 1, sizeof *sink));
    LLI_DO(lli_sink_init(&sink->base, ctx, &ops, "memory", specs, count));
    sink->base.any_order = true;
    sink->out = bundle;
    LLI_DO(lli_bundle_new(&sink->bundle, ctx, "memory"));
    for (int64_t i = 0; i < count; i++) {
        const lli_sink_array *a = &sink->base.arrays[i];
        ll_array array = a->spec;
        void *data;
        LLI_DO(lli_memory_new(ctx, &data, a->rows * a->row_bytes, 1));
        array.data = data;
        LLI_DO(lli_bundle_add(ctx, sink->bundle, a->name, array, data));
    }
    for (int64_t i = 0; i < meta_count; i++)
        LLI_DO(lli_bundle_add_meta(ctx, sink->bundle, meta[i].key, meta[i].value));
    *out = &sink->base;
    sink = NULL;
done:
    if (sink)
        release_memory(&sink->base);
    return status;
}
