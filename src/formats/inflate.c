/* SPDX-License-Identifier: MIT */
/* zlib over whole blocks of memory, with the library's own allocator. */
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "formats/readers.h"

static voidpf allocate(voidpf ctx, uInt items, uInt size) {
    void *block;
    return lli_memory_new(ctx, &block, (int64_t)items, size) == LL_OK ? block : Z_NULL;
}

static void release(voidpf ctx, voidpf block) {
    (void)ctx;
    lli_memory_free(block);
}

static ll_status begin(z_stream *z, ll_context *ctx, int bits, const char *name) {
    *z = (z_stream){.zalloc = allocate, .zfree = release, .opaque = ctx};
    int result = inflateInit2(z, bits);
    if (result == Z_OK)
        return LL_OK;
    return result == Z_MEM_ERROR ? LL_ERR_MEMORY : lli_fail(ctx, LL_ERR_INTERNAL, "%s: zlib cannot start", name);
}

/* Runs until the output is full, the stream ends or the input does; zlib counts in 32 bits, so both go in pieces. *got grows. */
static int run(z_stream *z, unsigned char *out, size_t out_size, size_t *got, const unsigned char **in, size_t *left) {
    enum { PIECE = 1 << 22 };
    for (;;) {
        if (lli_cancelled(z->opaque))
            return Z_BUF_ERROR; /* fail() says why */
        uInt give = (uInt)LLI_MIN(*left, (size_t)PIECE), room = (uInt)LLI_MIN(out_size - *got, (size_t)PIECE);
        z->next_in = (Bytef *)(uintptr_t)*in;
        z->avail_in = give;
        z->next_out = out + *got;
        z->avail_out = room;
        int result = inflate(z, Z_NO_FLUSH);
        *in += give - z->avail_in;
        *left -= give - z->avail_in;
        *got += room - z->avail_out;
        bool stuck = give == z->avail_in && room == z->avail_out;
        if (result != Z_OK || stuck || *got == out_size)
            return result;
    }
}

static ll_status fail(ll_context *ctx, const z_stream *z, int result, const char *name) {
    LLI_TRY(lli_cancel_check(ctx));
    if (result == Z_MEM_ERROR)
        return LL_ERR_MEMORY; /* the allocator has left its sentence */
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: the compressed data are damaged or truncated (%s)", name,
                    z->msg ? z->msg : "they end too early");
}

ll_status lli_inflate_start(size_t *got, ll_context *ctx, void *out, size_t out_size, const unsigned char *in, size_t in_size, int bits,
                            const char *name) {
    z_stream z;
    *got = 0;
    LLI_TRY(begin(&z, ctx, bits, name));
    int result = run(&z, out, out_size, got, &in, &in_size);
    ll_status status = *got > 0 || result == Z_STREAM_END ? LL_OK : fail(ctx, &z, result, name);
    inflateEnd(&z);
    return status;
}

ll_status lli_inflate(ll_context *ctx, void *out, size_t out_size, const unsigned char *in, size_t in_size, int bits, const char *name) {
    z_stream z;
    size_t got = 0, spare = 0;
    unsigned char extra;
    LLI_TRY(begin(&z, ctx, bits, name));
    ll_status status = LL_OK;
    int result = out_size > 0 ? run(&z, out, out_size, &got, &in, &in_size) : Z_OK;
    /* The stream may still have its end, with its checksum, to show. */
    if (result == Z_OK && got == out_size)
        result = run(&z, &extra, 1, &spare, &in, &in_size);
    if (spare > 0)
        status = lli_fail(ctx, LL_ERR_FORMAT, "%s: the compressed data hold more than the %zu bytes promised", name, out_size);
    else if (result == Z_STREAM_END && got < out_size)
        status = lli_fail(ctx, LL_ERR_FORMAT, "%s: the compressed data hold %zu bytes instead of the %zu promised", name, got, out_size);
    else if (result != Z_STREAM_END)
        status = fail(ctx, &z, result, name);
    inflateEnd(&z);
    return status;
}
