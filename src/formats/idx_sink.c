/* SPDX-License-Identifier: MIT */
/* Writer of IDX: big-endian, one array, no 64-bit integers. */
#include <inttypes.h>

#include "formats/bytes.h"
#include "formats/file_sink.h"

static unsigned char code_of(ll_dtype dtype) {
    switch (dtype) {
    case LL_DTYPE_BOOL:
    case LL_DTYPE_U8: return 0x08;
    case LL_DTYPE_I8: return 0x09;
    case LL_DTYPE_I16: return 0x0b;
    case LL_DTYPE_I32: return 0x0c;
    case LL_DTYPE_F32: return 0x0d;
    case LL_DTYPE_F64: return 0x0e;
    default: return 0;
    }
}

ll_status lli_sink_idx(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count) {
    unsigned char header[4 + 4 * LL_ARRAY_RANK_MAX] = {0}, *p = header + 2;
    lli_sink_array *a = &sink->base.arrays[0];
    (void)meta, (void)meta_count;
    if (sink->base.count != 1)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: IDX holds one array but there are %" PRId64 "; choose one with FILE:NAME, or write .npz",
                        sink->base.name, sink->base.count);
    if (!code_of(a->spec.dtype) || a->spec.rank < 1)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: IDX holds u8 i8 i16 i32 f32 or f64 of rank 1 to 8, not %s of rank %d", sink->base.name,
                        ll_dtype_name(a->spec.dtype), a->spec.rank);
    *p++ = code_of(a->spec.dtype);
    *p++ = (unsigned char)a->spec.rank;
    for (int i = 0; i < a->spec.rank; i++) {
        if (a->spec.shape[i] > UINT32_MAX)
            return lli_fail(ctx, LL_ERR_USAGE, "%s: a dimension of %" PRId64 " is too large for IDX", sink->base.name, a->spec.shape[i]);
        p = lli_bytes_put_big(p, (uint64_t)a->spec.shape[i], 4);
    }
    a->place->offset = p - header;
    sink->big = true;
    sink->base.any_order = true;
    return lli_outfile_write_at(ctx, sink->file, 0, header, (size_t)a->place->offset);
}
