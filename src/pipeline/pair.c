/* SPDX-License-Identifier: MIT */
/* Rows and labels, which may share a table. */
#include "pipeline/pair.h"

#include <string.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/format.h"

ll_status lli_pair_read(ll_bundle *held[2], ll_array *x, ll_array *y, ll_context *ctx, const char *what, const char *from,
                        const char *const *names, const char *labels) {
    static const char *const label_names[] = {"labels", "truth", "y", NULL};
    char *files[2] = {NULL, NULL};
    const char *name, *column = NULL;
    ll_status status;
    held[0] = held[1] = NULL;
    LLI_DO(lli_format_split(&files[0], &name, ctx, from));
    if (labels)
        LLI_DO(lli_format_split(&files[1], &column, ctx, labels));
    if (column && !lli_file_same(files[0], files[1]))
        column = NULL;
    LLI_DO(lli_format_read(&held[0], x, ctx, from, names, column));
    if (labels)
        LLI_DO(ll_array_read(&held[1], y, ctx, labels, label_names));
    const char *columns = column && strcmp(ll_bundle_format(held[0]), "csv") == 0 ? lli_bundle_meta(held[0], "columns") : NULL;
    if (columns)
        lli_log(ctx, LL_LOG_NOTE, "the %s are the columns %s of %s; %s holds the labels", what, columns, files[0], column);
done:
    lli_memory_free(files[0]);
    lli_memory_free(files[1]);
    return status;
}
