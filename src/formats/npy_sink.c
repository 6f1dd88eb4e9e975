/* SPDX-License-Identifier: MIT */
/* Writer of .npy, version 1, little-endian. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/bytes.h"
#include "formats/file_sink.h"

/* NULL for bf16, which numpy does not have. */
static const char *const codes[] = {
    [LL_DTYPE_BOOL] = "|b1", [LL_DTYPE_I8] = "|i1",  [LL_DTYPE_U8] = "|u1",  [LL_DTYPE_I16] = "<i2", [LL_DTYPE_U16] = "<u2",
    [LL_DTYPE_I32] = "<i4",  [LL_DTYPE_U32] = "<u4", [LL_DTYPE_I64] = "<i8", [LL_DTYPE_U64] = "<u8", [LL_DTYPE_F16] = "<f2",
    [LL_DTYPE_BF16] = NULL,  [LL_DTYPE_F32] = "<f4", [LL_DTYPE_F64] = "<f8",
};

/* Eight dimensions of 19 digits are 168 characters; the rest is short: the text always fits. */
size_t lli_npy_sink_header_text(unsigned char out[LLI_NPY_HEADER_MAX], const ll_array *spec) {
    enum { PREFIX = 10, ALIGN = 64 };
    char *text = (char *)out + PREFIX;
    size_t room = LLI_NPY_HEADER_MAX - PREFIX;
    size_t length = (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (", codes[spec->dtype]);
    for (int i = 0; i < spec->rank; i++)
        length += (size_t)snprintf(text + length, room - length, "%s%" PRId64 "%s", i ? " " : "", spec->shape[i],
                                   i + 1 < spec->rank || spec->rank == 1 ? "," : "");
    length += (size_t)snprintf(text + length, room - length, "), }");
    size_t total = (PREFIX + length + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(text + length, ' ', total - PREFIX - length);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\1", 8);
    lli_bytes_put(out + 8, total - PREFIX, 2);
    return total;
}

ll_status lli_npy_sink_writable(ll_context *ctx, const char *path, const lli_sink_array *a) {
    if (codes[a->spec.dtype])
        return LL_OK;
    return lli_fail(ctx, LL_ERR_USAGE, "%s: numpy has no type bf16 for \"%s\"; convert it to f32, or write .safetensors", path, a->name);
}

ll_status lli_sink_npy(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count) {
    unsigned char header[LLI_NPY_HEADER_MAX];
    (void)meta, (void)meta_count;
    if (sink->base.count != 1)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: .npy holds one array but there are %" PRId64 "; choose one with FILE:NAME, or write .npz",
                        sink->base.name, sink->base.count);
    LLI_TRY(lli_npy_sink_writable(ctx, sink->base.name, &sink->base.arrays[0]));
    sink->base.any_order = true;
    sink->base.arrays[0].place->offset = (int64_t)lli_npy_sink_header_text(header, &sink->base.arrays[0].spec);
    return lli_outfile_write_at(ctx, sink->file, 0, header, (size_t)sink->base.arrays[0].place->offset);
}
