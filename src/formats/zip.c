/* SPDX-License-Identifier: MIT */
/* Walks the central directory of a zip archive (zip64 included) and hands out entries, stored ones in place, deflated ones inflated; both
 * are held against their checksum. */
#include "formats/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "formats/bytes.h"
#include "formats/readers.h"

enum { END = 22, END64 = 56, LOCATOR = 20, CENTRAL = 46, LOCAL = 30, COMMENT_MAX = 65535 };
enum { STORED = 0, DEFLATED = 8, FLAG_ENCRYPTED = 1 };

static ll_status damaged(ll_context *ctx, const lli_zip *a) {
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: the central directory of the zip archive is damaged", a->file);
}

/* The zip64 record, when its locator stands before the plain one. */
static bool find_end64(const lli_zip *a, const unsigned char *end, const unsigned char **out) {
    *out = NULL;
    if (end - a->bytes < LOCATOR || memcmp(end - LOCATOR, "PK\6\7", 4) != 0)
        return true;
    uint64_t offset = lli_bytes_little(end - LOCATOR + 8, 8);
    if (a->size < END64 || offset > a->size - END64 || memcmp(a->bytes + offset, "PK\6\6", 4) != 0)
        return false;
    *out = a->bytes + offset;
    return true;
}

ll_status lli_zip_open(lli_zip *a, ll_context *ctx, const unsigned char *bytes, size_t size, const char *file) {
    *a = (lli_zip){.bytes = bytes, .size = size, .file = file};
    const unsigned char *end = NULL, *end64;
    for (size_t back = END; back <= size && back <= END + COMMENT_MAX && !end; back++) {
        const unsigned char *p = bytes + size - back;
        if (memcmp(p, "PK\5\6", 4) == 0 && lli_bytes_little(p + 20, 2) == back - END)
            end = p;
    }
    if (!end)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the directory at the end of the zip archive is missing; the file is truncated", file);
    a->comment = end + END;
    a->comment_size = (size_t)lli_bytes_little(end + 20, 2);
    if (!find_end64(a, end, &end64))
        return damaged(ctx, a);
    a->left = end64 ? lli_bytes_little(end64 + 32, 8) : lli_bytes_little(end + 10, 2);
    uint64_t length = end64 ? lli_bytes_little(end64 + 40, 8) : lli_bytes_little(end + 12, 4);
    uint64_t offset = end64 ? lli_bytes_little(end64 + 48, 8) : lli_bytes_little(end + 16, 4);
    if (offset > size || length > size - offset || a->left > length / CENTRAL)
        return damaged(ctx, a);
    a->p = bytes + offset;
    a->end = a->p + length;
    return LL_OK;
}

/* Sizes of 2^32 - 1 in the entry stand for those in its zip64 field, in this order. */
static bool read_zip64(lli_zip_entry *e, const unsigned char *p, const unsigned char *end) {
    while (end - p >= 4) {
        unsigned id = (unsigned)lli_bytes_little(p, 2), length = (unsigned)lli_bytes_little(p + 2, 2);
        p += 4;
        if (end - p < (int64_t)length)
            return false;
        const unsigned char *stop = p + length;
        uint64_t *fields[] = {&e->size, &e->packed, &e->offset};
        for (size_t i = 0; id == 1 && i < LLI_COUNT(fields); i++) {
            if (*fields[i] != UINT32_MAX)
                continue;
            if (stop - p < 8)
                return false;
            *fields[i] = lli_bytes_little(p, 8);
            p += 8;
        }
        p = stop;
    }
    return true;
}

ll_status lli_zip_next(lli_zip_entry *e, lli_zip *a, ll_context *ctx) {
    const unsigned char *p = a->p;
    if (a->end - p < CENTRAL || memcmp(p, "PK\1\2", 4) != 0)
        return damaged(ctx, a);
    *e = (lli_zip_entry){.name = (const char *)p + CENTRAL,
                         .flags = (unsigned)lli_bytes_little(p + 8, 2),
                         .method = (unsigned)lli_bytes_little(p + 10, 2),
                         .crc = (uint32_t)lli_bytes_little(p + 16, 4),
                         .packed = lli_bytes_little(p + 20, 4),
                         .size = lli_bytes_little(p + 24, 4),
                         .name_size = (size_t)lli_bytes_little(p + 28, 2),
                         .offset = lli_bytes_little(p + 42, 4)};
    size_t extra = (size_t)lli_bytes_little(p + 30, 2), comment = (size_t)lli_bytes_little(p + 32, 2);
    if ((size_t)(a->end - p) < CENTRAL + e->name_size + extra + comment)
        return damaged(ctx, a);
    p += CENTRAL + e->name_size;
    if (!read_zip64(e, p, p + extra))
        return damaged(ctx, a);
    a->p = p + extra + comment;
    a->left--;
    return LL_OK;
}

bool lli_zip_ends(const lli_zip_entry *e, const char *tail) {
    size_t length = strlen(tail);
    return e->name_size >= length && memcmp(e->name + e->name_size - length, tail, length) == 0;
}

static ll_status check_crc(ll_context *ctx, const lli_zip *a, const char *array, const unsigned char *bytes, uint64_t size,
                           uint32_t expected) {
    enum { PIECE = 1 << 22 };
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t i = 0; i < size; i += PIECE) {
        LLI_TRY(lli_cancel_check(ctx));
        crc = crc32(crc, bytes + i, (uInt)LLI_MIN(size - i, (uint64_t)PIECE));
    }
    if ((uint32_t)crc == expected)
        return LL_OK;
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: the checksum of \"%s\" is wrong; the file is damaged", a->file, array);
}

/* Where the bytes of the entry lie in the archive. */
static ll_status find_data(const unsigned char **out, ll_context *ctx, const lli_zip *a, const lli_zip_entry *e, const char *array) {
    if (e->flags & FLAG_ENCRYPTED)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" is encrypted, which is not read", a->file, array);
    if (e->method != STORED && e->method != DEFLATED)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" is packed by method %u; expected 0 (stored) or 8 (deflated)", a->file, array,
                        e->method);
    if (a->size < LOCAL || e->offset > a->size - LOCAL || memcmp(a->bytes + e->offset, "PK\3\4", 4) != 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" is not where the directory says; the file is damaged", a->file, array);
    const unsigned char *local = a->bytes + e->offset;
    uint64_t begin = e->offset + LOCAL + lli_bytes_little(local + 26, 2) + lli_bytes_little(local + 28, 2);
    if (begin > a->size || e->packed > a->size - begin)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" has %" PRIu64 " bytes at %" PRIu64 " but the file ends at %zu; it is truncated",
                        a->file, array, e->packed, begin, a->size);
    *out = a->bytes + begin;
    return LL_OK;
}

ll_status lli_zip_load(const unsigned char **out, unsigned char **owned, ll_context *ctx, const lli_zip *a, const lli_zip_entry *e,
                       const char *name) {
    char where[512];
    *owned = NULL;
    snprintf(where, sizeof where, "%s:%s", a->file, name);
    LLI_TRY(find_data(out, ctx, a, e, name));
    if (e->method == STORED && e->packed != e->size)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the sizes of the stored \"%s\" disagree; the file is damaged", a->file, name);
    if (e->size / LLI_INFLATE_RATIO > e->packed)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" promises %" PRIu64 " bytes, which %" PRIu64 " compressed bytes cannot hold",
                        a->file, name, e->size, e->packed);
    ll_status status = LL_OK;
    if (e->method == DEFLATED) {
        LLI_TRY(lli_memory_new(ctx, owned, (int64_t)e->size, 1));
        LLI_DO(lli_inflate(ctx, *owned, (size_t)e->size, *out, (size_t)e->packed, -15, where));
        *out = *owned;
    }
    LLI_DO(check_crc(ctx, a, name, *out, e->size, e->crc));
done:
    if (status != LL_OK) {
        lli_memory_free(*owned);
        *owned = NULL;
    }
    return status;
}
