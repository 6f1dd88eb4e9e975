/* SPDX-License-Identifier: MIT */
/* Lines of a text file. */
#include "interop/class_names.h"

#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "ensemble/ensemble.h"
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
    LLI_DO(lli_memory_budget_begin(&budget, ctx, path, file.size));
    int64_t size = (int64_t)file.size;
    if (memchr(file.bytes, 0, file.size))
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is not a text file; expected the name of one class per line", path));
    LLI_DO(lli_memory_new(ctx, &out->text, size + 1, 1));
    memcpy(out->text, file.bytes, file.size);
    LLI_DO(cut(out, ctx, size));
    if (K && out->count != K)
        LLI_DO(
            lli_fail(ctx, LL_ERR_DATA, "%s has %" PRId64 " lines; expected %" PRId64 ", the name of one class each", path, out->count, K));
done:
    lli_memory_budget_end(&budget, ctx);
    lli_file_release(&file);
    return status;
}

ll_status ll_ensemble_set_class_list(ll_context *ctx, ll_ensemble *ensemble, const char *const *names, int64_t count) {
    LLI_NEED(ctx, ensemble, names);
    if (count != ensemble->plan.K)
        return lli_fail(ctx, LL_ERR_DATA, "there are %" PRId64 " names; expected %" PRId64 ", one for each class", count, ensemble->plan.K);
    lli_text text;
    lli_text_init(&text, ctx);
    ll_status status = LL_OK;
    for (int64_t k = 0; k < count && status == LL_OK; k++) {
        if (!names[k] || strchr(names[k], '\n'))
            status = lli_fail(ctx, LL_ERR_USAGE, "the name of class %" PRId64 " is %s; expected a text of one line", k,
                              names[k] ? "of several lines" : "NULL");
        else
            lli_text_add(&text, "%s%s", k ? "\n" : "", names[k]);
    }
    if (status == LL_OK)
        status = text.status;
    if (status == LL_OK)
        status = lli_provenance_set(ctx, &ensemble->plan.provenance, LLI_CLASS_NAMES, text.data);
    lli_text_release(&text);
    return status;
}

ll_status ll_ensemble_set_class_names(ll_context *ctx, ll_ensemble *ensemble, const char *path) {
    LLI_NEED(ctx, ensemble, path);
    lli_class_names names;
    ll_status status = lli_class_names_read(&names, ctx, path, ensemble->plan.K);
    if (status == LL_OK)
        status = ll_ensemble_set_class_list(ctx, ensemble, names.list, names.count);
    lli_class_names_release(&names);
    return status;
}

void lli_class_names_release(lli_class_names *names) {
    lli_memory_free(names->text);
    lli_memory_free(names->list);
    *names = (lli_class_names){0};
}
