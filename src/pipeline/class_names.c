/* SPDX-License-Identifier: MIT */
/* Lines of a text file. */
#include "pipeline/class_names.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/file.h"

/* Cuts the text, of `size` bytes and a NUL, into lines. */
static ll_status cut(lli_class_names *n, ll_context *ctx, int64_t size) {
    int64_t count = 0;
    for (int64_t i = 0; i < size; i++)
        count += n->text[i] == '\n' || i + 1 == size;
    LLI_TRY(lli_memory_new(ctx, &n->list, count, sizeof *n->list));
    for (char *line = n->text; n->count < count; n->count++) {
        size_t length = strcspn(line, "\n");
        n->list[n->count] = line;
        if (length && line[length - 1] == '\r')
            line[length - 1] = 0;
        line[length] = 0;
        line += length + 1;
    }
    return LL_OK;
}

ll_status lli_class_names_read(lli_class_names *out, ll_context *ctx, const char *path, int64_t K) {
    lli_file file;
    lli_budget budget = NULL;
    ll_status status;
    *out = (lli_class_names){0};
    LLI_TRY(lli_file_read(&file, ctx, path));
    LLI_DO(lli_budget_begin(&budget, ctx, path, file.size));
    int64_t size = (int64_t)file.size;
    if (memchr(file.bytes, 0, file.size))
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is not a text file; expected the name of one class per line", path));
    LLI_DO(lli_memory_new(ctx, &out->text, size + 1, 1));
    memcpy(out->text, file.bytes, file.size);
    LLI_DO(cut(out, ctx, size));
    if (K && out->count != K)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "%s has %" PRId64 " lines; expected %" PRId64 ", the name of one class each", path, out->count,
                        K));
done:
    lli_budget_end(&budget, ctx);
    lli_file_release(&file);
    return status;
}

void lli_class_names_release(lli_class_names *names) {
    lli_memory_free(names->text);
    lli_memory_free(names->list);
    *names = (lli_class_names){0};
}
