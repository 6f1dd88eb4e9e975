/* SPDX-License-Identifier: MIT */
/* One line per set: its hash and the mean of |z|^2, as the bits of a double. */
#include "formats/set_cache.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/file.h"
#include "formats/text_file.h"

enum { HASH = LLI_HASH_TEXT - 1, LINE = HASH + 1 + 16 + 1 };

/* The folder, made if `make`; nothing where there is no home. */
static void place(lli_text *out, ll_context *ctx, const char *key, bool make) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool given = cache && cache[0] == '/';
    if (!given && !(home && home[0] == '/'))
        return;
    lli_text_add(out, "%s%s", given ? cache : home, given ? "" : "/.cache");
    if (make && out->status == LL_OK && lli_file_make_folder(ctx, out->data) != LL_OK)
        return;
    lli_text_add(out, "/lastlayer");
    if (make && out->status == LL_OK && lli_file_make_folder(ctx, out->data) != LL_OK)
        return;
    lli_text_add(out, "/set-%s", key);
}

static bool parse(const char *line, char hash[LLI_HASH_TEXT], double *mean_square) {
    uint64_t bits = 0;
    for (int i = 0; i < HASH + 17; i++) {
        bool hex = (line[i] >= '0' && line[i] <= '9') || (line[i] >= 'a' && line[i] <= 'f');
        if (i == HASH ? line[i] != ' ' : !hex)
            return false;
        if (i > HASH)
            bits = bits << 4 | (uint64_t)(line[i] <= '9' ? line[i] - '0' : line[i] - 'a' + 10);
    }
    memcpy(hash, line, HASH);
    hash[HASH] = 0;
    memcpy(mean_square, &bits, sizeof bits);
    return line[LINE - 1] == '\n' && isfinite(*mean_square) && *mean_square >= 0;
}

bool lli_set_cache_get(ll_context *ctx, const char *key, char hash[LLI_HASH_TEXT], double *mean_square) {
    ll_context quiet;
    lli_text path;
    lli_file file;
    lli_context_child(&quiet, ctx);
    lli_text_init(&path, &quiet);
    place(&path, &quiet, key, false);
    bool found = path.data && path.status == LL_OK && lli_file_exists(path.data) && lli_file_read(&file, &quiet, path.data) == LL_OK;
    lli_text_release(&path);
    if (!found)
        return false;
    found = file.size == LINE && parse((const char *)file.bytes, hash, mean_square);
    lli_file_release(&file);
    return found;
}

void lli_set_cache_put(ll_context *ctx, const char *key, const char *hash, double mean_square) {
    ll_context quiet;
    lli_text path, line;
    uint64_t bits;
    lli_context_child(&quiet, ctx);
    lli_text_init(&path, &quiet);
    lli_text_init(&line, &quiet);
    place(&path, &quiet, key, true);
    memcpy(&bits, &mean_square, sizeof bits);
    lli_text_add(&line, "%s %016" PRIx64 "\n", hash, bits);
    ll_status unheeded = path.data && path.status == LL_OK ? lli_text_file_write(&quiet, path.data, &line) : LL_OK;
    (void)unheeded;
    lli_text_release(&path);
    lli_text_release(&line);
}
