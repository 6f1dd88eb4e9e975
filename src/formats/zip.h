/* SPDX-License-Identifier: MIT */
/* A zip archive in memory: the way through its directory, and the bytes of an entry. */
#ifndef LLI_FORMATS_ZIP_H
#define LLI_FORMATS_ZIP_H

#include "base/context.h"

typedef struct lli_zip {
    const unsigned char *bytes;
    size_t size;
    const char *file;       /* its name */
    const unsigned char *p; /* walks the central directory */
    const unsigned char *end;
    uint64_t left; /* entries that lli_zip_next has not given yet */
    const unsigned char *comment;
    size_t comment_size;
} lli_zip;

typedef struct lli_zip_entry {
    const char *name; /* not terminated */
    size_t name_size;
    unsigned method, flags;
    uint32_t crc;
    uint64_t packed, size, offset;
} lli_zip_entry;

ll_status lli_zip_open(lli_zip *out, ll_context *ctx, const unsigned char *bytes, size_t size, const char *file) LL_CHECK_RESULT;
ll_status lli_zip_next(lli_zip_entry *out, lli_zip *zip, ll_context *ctx) LL_CHECK_RESULT;
bool lli_zip_ends(const lli_zip_entry *entry, const char *tail); /* whether its name does */

/* Its bytes, size of them: *out points into the archive, or into *owned, which is then to free. `name` is what messages call it. */
ll_status lli_zip_load(const unsigned char **out, unsigned char **owned, ll_context *ctx, const lli_zip *zip, const lli_zip_entry *entry,
                       const char *name) LL_CHECK_RESULT;

#endif
