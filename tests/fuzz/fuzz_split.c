/* SPDX-License-Identifier: MIT */
/* Any text as FILE or FILE:NAME: both parts are pieces of it. */
#include "base/memory.h"
#include "formats/format.h"
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    char where[256], *file;
    const char *name;
    if (!fuzz_piece(where, sizeof where, &bytes, &size, 0) || !fuzz_ok(lli_format_split(&file, &name, fuzz_context(), where)))
        return;
    size_t length = strlen(file);
    if (strncmp(file, where, length) != 0 || (name ? where[length] != ':' || name != where + length + 1 : where[length] != 0))
        abort();
    lli_memory_free(file);
}

FUZZ_TARGET(run)
