/* SPDX-License-Identifier: MIT */
/* Reader of IDX, the format of the MNIST files, plain or gzipped: big-endian, one array. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/bytes.h"
#include "formats/readers.h"

enum { MAGIC = 4, HEADER_MAX = MAGIC + 4 * LL_ARRAY_RANK_MAX };

static bool dtype_of(ll_dtype *out, unsigned char code) {
    switch (code) {
    case 0x08: *out = LL_DTYPE_U8; return true;
    case 0x09: *out = LL_DTYPE_I8; return true;
    case 0x0b: *out = LL_DTYPE_I16; return true;
    case 0x0c: *out = LL_DTYPE_I32; return true;
    case 0x0d: *out = LL_DTYPE_F32; return true;
    case 0x0e: *out = LL_DTYPE_F64; return true;
    default: return false;
    }
}

/* *bytes: of header and data together. */
static ll_status read_header(lli_raw *out, size_t *offset, int64_t *bytes, ll_context *ctx, const unsigned char *p, size_t size,
                             const char *name) {
    *out = (lli_raw){.big = true};
    if (size < MAGIC || p[0] != 0 || p[1] != 0 || !dtype_of(&out->dtype, p[2]))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: does not start like an IDX file, or is truncated", name);
    if (p[3] < 1 || p[3] > LL_ARRAY_RANK_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: %d dimensions; expected 1 to %d", name, p[3], LL_ARRAY_RANK_MAX);
    out->rank = p[3];
    *offset = (size_t)MAGIC + 4 * (size_t)out->rank;
    if (size < *offset)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the file ends inside its IDX header; it is truncated", name);
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = (int64_t)lli_bytes_big(p + MAGIC + 4 * i, 4);
    if (!lli_raw_bytes(bytes, out) || *bytes > INT64_MAX - HEADER_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises a shape that overflows", name);
    *bytes += (int64_t)*offset;
    return LL_OK;
}

ll_status lli_idx_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    lli_raw raw;
    size_t offset;
    int64_t expected;
    LLI_TRY(read_header(&raw, &offset, &expected, ctx, bytes, size, name));
    if ((uint64_t)expected != size)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises a file of %" PRId64 " bytes but it has %zu%s", name, expected, size,
                        (uint64_t)expected > size ? "; it is truncated" : "");
    return lli_raw_add(ctx, bundle, "array", &raw, bytes + offset, NULL);
}

ll_status lli_idx_gz_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    enum { GZIP = 31 };
    unsigned char start[HEADER_MAX], *inflated;
    size_t got, offset;
    int64_t expected;
    lli_raw raw;
    LLI_TRY(lli_inflate_start(&got, ctx, start, sizeof start, bytes, size, GZIP, name));
    if (got < MAGIC || start[0] != 0 || start[1] != 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the gzipped content is not an IDX file; only .idx.gz is read; unpack anything else first",
                        name);
    LLI_TRY(read_header(&raw, &offset, &expected, ctx, start, got, name));
    if ((uint64_t)expected / LLI_INFLATE_RATIO > size)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises %" PRId64 " bytes, which %zu compressed bytes cannot hold", name,
                        expected, size);
    LLI_TRY(lli_memory_new(ctx, &inflated, expected, 1));
    ll_status status = lli_inflate(ctx, inflated, (size_t)expected, bytes, size, GZIP, name);
    if (status != LL_OK) {
        lli_memory_free(inflated);
        return status;
    }
    return lli_raw_add(ctx, bundle, "array", &raw, inflated + offset, inflated);
}
