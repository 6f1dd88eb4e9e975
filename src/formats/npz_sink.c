/* SPDX-License-Identifier: MIT */
/* Writer of .npz: stored entries, each array at a multiple of 64 so that it can be mapped in place, zip64 sizes throughout, no
 * timestamps. The checksums are known last, so the local headers are written at the end. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "formats/bytes.h"
#include "formats/meta.h"
#include "formats/file_sink.h"

enum { LOCAL = 30, CENTRAL = 46, END64 = 56, ALIGN = 64 };
enum { ENTRY_NAME_MAX = 60000, COMMENT_MAX = 65535 };
enum {
    VERSION = 45,      /* the one with zip64 */
    DATE = 1 << 5 | 1, /* 1 January 1980, the zero of zip's calendar */
    FLAG_UTF8 = 1 << 11,
    ZIP64_LOCAL = 20,   /* extra field: sizes */
    ZIP64_CENTRAL = 28, /* extra field: sizes and offset */
    PADDING_ID = 0xd935 /* the extra field that others use for alignment too */
};

/* Bytes of the entry: .npy header and elements. */
static int64_t entry_bytes(const lli_sink_array *a, size_t header) {
    return (int64_t)header + a->rows * a->row_bytes;
}

static size_t npy_header_size(const lli_sink_array *a) {
    unsigned char header[LLI_NPY_HEADER_MAX];
    return lli_npy_sink_header_text(header, &a->spec);
}

static unsigned name_flags(const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name >= 0x80)
            return FLAG_UTF8;
    return 0;
}

/* version needed .. date: the same in both headers. */
static unsigned char *put_common(unsigned char *p, const lli_sink_array *a) {
    p = lli_bytes_put(p, VERSION, 2);
    p = lli_bytes_put(p, name_flags(a->name), 2);
    p = lli_bytes_put(p, 0, 2); /* stored */
    p = lli_bytes_put(p, 0, 2); /* time */
    p = lli_bytes_put(p, DATE, 2);
    p = lli_bytes_put(p, a->place->crc, 4);
    p = lli_bytes_put(p, UINT32_MAX, 4); /* sizes: see the zip64 field */
    p = lli_bytes_put(p, UINT32_MAX, 4);
    return lli_bytes_put(p, strlen(a->name) + 4, 2);
}

static unsigned char *put_name(unsigned char *p, const char *name) {
    size_t length = strlen(name);
    memcpy(p, name, length);
    memcpy(p + length, ".npy", 4);
    return p + length + 4;
}

static ll_status write_local(lli_sink_file *sink, ll_context *ctx, const lli_sink_array *a) {
    size_t npy = npy_header_size(a), length = strlen(a->name) + 4;
    int64_t total = a->place->offset - (int64_t)npy - a->place->header, padding = total - LOCAL - (int64_t)length - ZIP64_LOCAL;
    unsigned char *p = sink->scratch;
    memcpy(p, "PK\3\4", 4);
    p = put_common(p + 4, a);
    p = lli_bytes_put(p, (uint64_t)(ZIP64_LOCAL + padding), 2);
    p = put_name(p, a->name);
    p = lli_bytes_put(p, 1, 2);
    p = lli_bytes_put(p, ZIP64_LOCAL - 4, 2);
    p = lli_bytes_put(p, (uint64_t)entry_bytes(a, npy), 8);
    p = lli_bytes_put(p, (uint64_t)entry_bytes(a, npy), 8);
    p = lli_bytes_put(p, PADDING_ID, 2);
    p = lli_bytes_put(p, (uint64_t)(padding - 4), 2);
    memset(p, 0, (size_t)(padding - 4));
    return lli_outfile_write_at(ctx, sink->file, a->place->header, sink->scratch, (size_t)total);
}

static ll_status write_central(lli_sink_file *sink, ll_context *ctx, const lli_sink_array *a, int64_t *offset) {
    unsigned char *p = sink->scratch;
    uint64_t bytes = (uint64_t)entry_bytes(a, npy_header_size(a));
    memcpy(p, "PK\1\2", 4);
    p = lli_bytes_put(p + 4, VERSION, 2);
    p = put_common(p, a);
    p = lli_bytes_put(p, ZIP64_CENTRAL, 2);
    p = lli_bytes_put(p, 0, 2 + 2); /* comment length, disk */
    p = lli_bytes_put(p, 0, 2 + 4); /* attributes */
    p = lli_bytes_put(p, UINT32_MAX, 4);
    p = put_name(p, a->name);
    p = lli_bytes_put(p, 1, 2);
    p = lli_bytes_put(p, ZIP64_CENTRAL - 4, 2);
    p = lli_bytes_put(p, bytes, 8);
    p = lli_bytes_put(p, bytes, 8);
    p = lli_bytes_put(p, (uint64_t)a->place->header, 8);
    size_t size = (size_t)(p - sink->scratch);
    LLI_TRY(lli_outfile_write_at(ctx, sink->file, *offset, sink->scratch, size));
    *offset += (int64_t)size;
    return LL_OK;
}

/* The zip64 end record, its locator and the plain end record, whose fields are cut at their largest value. */
static ll_status write_end(lli_sink_file *sink, ll_context *ctx, int64_t begin, int64_t end) {
    unsigned char *p = sink->scratch;
    size_t comment = sink->comment ? strlen(sink->comment) : 0;
    uint64_t count = (uint64_t)sink->base.count, size = (uint64_t)(end - begin);
    memcpy(p, "PK\6\6", 4);
    p = lli_bytes_put(p + 4, END64 - 12, 8);
    p = lli_bytes_put(p, VERSION, 2);
    p = lli_bytes_put(p, VERSION, 2);
    p = lli_bytes_put(p, 0, 8); /* disks */
    p = lli_bytes_put(p, count, 8);
    p = lli_bytes_put(p, count, 8);
    p = lli_bytes_put(p, size, 8);
    p = lli_bytes_put(p, (uint64_t)begin, 8);
    memcpy(p, "PK\6\7", 4);
    p = lli_bytes_put(p + 4, 0, 4);
    p = lli_bytes_put(p, (uint64_t)end, 8);
    p = lli_bytes_put(p, 1, 4);
    memcpy(p, "PK\5\6", 4);
    p = lli_bytes_put(p + 4, 0, 4);
    p = lli_bytes_put(p, LLI_MIN(count, UINT16_MAX), 2);
    p = lli_bytes_put(p, LLI_MIN(count, UINT16_MAX), 2);
    p = lli_bytes_put(p, LLI_MIN(size, UINT32_MAX), 4);
    p = lli_bytes_put(p, LLI_MIN((uint64_t)begin, UINT32_MAX), 4);
    p = lli_bytes_put(p, comment, 2);
    size_t length = (size_t)(p - sink->scratch);
    LLI_TRY(lli_outfile_write_at(ctx, sink->file, end, sink->scratch, length));
    return lli_outfile_write_at(ctx, sink->file, end + (int64_t)length, sink->comment, comment);
}

static ll_status finish(lli_sink_file *sink, ll_context *ctx) {
    const lli_sink_array *last = &sink->base.arrays[sink->base.count - 1];
    int64_t begin = last->place->offset + last->rows * last->row_bytes, end = begin;
    for (int64_t i = 0; i < sink->base.count; i++)
        LLI_TRY(write_local(sink, ctx, &sink->base.arrays[i]));
    for (int64_t i = 0; i < sink->base.count; i++)
        LLI_TRY(write_central(sink, ctx, &sink->base.arrays[i], &end));
    return write_end(sink, ctx, begin, end);
}

ll_status lli_sink_npz(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count) {
    int64_t at = 0;
    for (int64_t i = 0; i < sink->base.count; i++) {
        lli_sink_array *a = &sink->base.arrays[i];
        unsigned char header[LLI_NPY_HEADER_MAX];
        LLI_TRY(lli_npy_sink_writable(ctx, sink->base.name, a));
        if (strlen(a->name) > ENTRY_NAME_MAX)
            return lli_fail(ctx, LL_ERR_USAGE, "%s: the name of array %" PRId64 " is too long", sink->base.name, i);
        size_t size = lli_npy_sink_header_text(header, &a->spec);
        int64_t start = at + LOCAL + (int64_t)strlen(a->name) + 4 + ZIP64_LOCAL + 4;
        a->place->header = at;
        a->place->offset = (start + ALIGN - 1) / ALIGN * ALIGN + (int64_t)size;
        a->place->crc = (uint32_t)crc32_z(0, header, size);
        LLI_TRY(lli_outfile_write_at(ctx, sink->file, a->place->offset - (int64_t)size, header, size));
        at = a->place->offset + a->rows * a->row_bytes;
    }
    sink->checksums = true;
    sink->finish = finish;
    if (meta_count == 0)
        return LL_OK;
    lli_text text;
    lli_text_init(&text, ctx);
    lli_meta_text(&text, meta, meta_count);
    bool fits = text.length <= COMMENT_MAX;
    ll_status status = lli_text_take(&text, &sink->comment);
    lli_text_release(&text);
    if (status == LL_OK && !fits)
        status = lli_fail(ctx, LL_ERR_USAGE, "%s: the metadata are longer than the %d bytes an .npz can hold; write .safetensors",
                          sink->base.name, COMMENT_MAX);
    return status;
}
