/* SPDX-License-Identifier: MIT */
/* Parts between the ranks of one run: each rank writes its own, the first puts them together and removes them. */
#include <inttypes.h>

#include "base/memory.h"
#include "base/team.h"
#include "formats/file.h"
#include "formats/folder.h"
#include "store/parts.h"

ll_status lli_parts_of_ranks(char **out, ll_context *ctx, const char *path) {
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "%s.ranks", path);
    return lli_text_take(&text, out);
}

ll_status lli_parts_of_team(lli_parts *out, ll_context *ctx, const char *ranks) {
    int64_t size = ctx->team->size;
    ll_status status;
    *out = (lli_parts){NULL, size};
    LLI_DO(lli_memory_new(ctx, &out->path, size, sizeof *out->path));
    for (int64_t i = 0; i < size; i++) {
        LLI_DO(lli_parts_path(&out->path[i], ctx, ranks, &(lli_share){i, size}));
        if (!lli_file_exists(out->path[i]))
            LLI_DO(lli_fail(ctx, LL_ERR_WRITE, "rank %" PRId64 " wrote %s, and rank 0 does not see it: all ranks must see one folder", i,
                            out->path[i]));
    }
done:
    if (status != LL_OK)
        lli_parts_release(out);
    return status;
}

void lli_parts_remove(const lli_parts *parts) {
    for (int64_t i = 0; i < parts->count; i++)
        lli_folder_remove(parts->path[i]);
}
