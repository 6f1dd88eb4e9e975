/* SPDX-License-Identifier: MIT */
/* Writer of .safetensors: the header first, then the arrays in the order given, rows in any order. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/bytes.h"
#include "formats/meta.h"
#include "formats/safetensors.h"
#include "formats/file_sink.h"

static void add_tensor(lli_text *out, const ll_named_array *a, int64_t begin, int64_t end) {
    lli_text_json_string(out, a->name);
    lli_text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", lli_safetensors_code(a->array.dtype));
    for (int i = 0; i < a->array.rank; i++)
        lli_text_add(out, "%s%" PRId64, i ? "," : "", a->array.shape[i]);
    lli_text_add(out, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", begin, end);
}

ll_status lli_safetensors_header(lli_text *out, int64_t *offsets, int64_t *end, ll_context *ctx, const ll_named_array *arrays,
                                 int64_t count, const ll_meta *meta, int64_t meta_count) {
    enum { PREFIX = 8, ALIGN = 64 };
    lli_text_append(out, "\0\0\0\0\0\0\0", PREFIX);
    lli_text_append(out, "{", 1);
    if (meta_count > 0) {
        lli_text_append(out, "\"__metadata__\":", 15);
        lli_meta_text(out, meta, meta_count);
    }
    *end = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t elements, begin = *end;
        size_t size = ll_dtype_size(arrays[i].array.dtype);
        if (strcmp(arrays[i].name, "__metadata__") == 0)
            return lli_fail(ctx, LL_ERR_USAGE, "an array in .safetensors cannot be called __metadata__");
        if (!lli_array_count_checked(&elements, arrays[i].array.rank, arrays[i].array.shape, size) ||
            __builtin_add_overflow(begin, elements * (int64_t)size, end))
            return lli_fail(ctx, LL_ERR_USAGE, "the shape of \"%s\" is impossible", arrays[i].name);
        offsets[i] = begin;
        if (i > 0 || meta_count > 0)
            lli_text_append(out, ",", 1);
        add_tensor(out, &arrays[i], begin, *end);
    }
    lli_text_append(out, "}", 1);
    while (out->status == LL_OK && out->length % ALIGN != 0)
        lli_text_append(out, " ", 1);
    if (out->status != LL_OK)
        return out->status;
    lli_bytes_put((unsigned char *)out->data, (uint64_t)(out->length - PREFIX), PREFIX);
    for (int64_t i = 0; i < count; i++)
        offsets[i] += out->length;
    *end += out->length;
    return LL_OK;
}

ll_status lli_sink_safetensors(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count) {
    ll_named_array *specs = NULL;
    int64_t *offsets = NULL, end;
    lli_text header;
    ll_status status;
    lli_text_init(&header, ctx);
    LLI_DO(lli_memory_new(ctx, &specs, sink->base.count, sizeof *specs));
    LLI_DO(lli_memory_new(ctx, &offsets, sink->base.count, sizeof *offsets));
    for (int64_t i = 0; i < sink->base.count; i++)
        specs[i] = (ll_named_array){sink->base.arrays[i].name, sink->base.arrays[i].spec};
    LLI_DO(lli_safetensors_header(&header, offsets, &end, ctx, specs, sink->base.count, meta, meta_count));
    for (int64_t i = 0; i < sink->base.count; i++)
        sink->base.arrays[i].place->offset = offsets[i];
    sink->base.any_order = true;
    LLI_DO(lli_outfile_write_at(ctx, sink->file, 0, header.data, (size_t)header.length));
done:
    lli_text_release(&header);
    lli_memory_free(specs);
    lli_memory_free(offsets);
    return status;
}
