/* SPDX-License-Identifier: MIT */
/* Stores of searches put together: trials, their evaluations, the predictions of the best, the choice. */
#include <string.h>

#include "base/memory.h"
#include "formats/tree.h"
#include "store/parts.h"
#include "store/trial_store.h"

/* store.json of a part: all of it, and what the whole has of it. */
static ll_status read_identity(ll_context *ctx, lli_provenance *part, lli_provenance *whole, const char *folder) {
    lli_text path;
    lli_tree *tree = NULL;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/store.json", folder);
    LLI_DO(path.status);
    LLI_DO(lli_tree_read(&tree, ctx, path.data));
    for (int64_t i = 0; i < lli_tree_count(tree); i++) {
        const lli_tree *entry = lli_tree_at(tree, i);
        const char *key = lli_tree_key(entry), *value = lli_tree_text(entry);
        if (!key || !value)
            LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s: expected texts alone", path.data));
        LLI_DO(lli_provenance_add(ctx, part, key, value));
        if (strncmp(key, LLI_PARTS_PREFIX, strlen(LLI_PARTS_PREFIX)) != 0)
            LLI_DO(lli_provenance_add(ctx, whole, key, value));
    }
done:
    lli_tree_free(tree);
    lli_text_release(&path);
    return status;
}

ll_status lli_parts_join_stores(ll_context *ctx, const char *folder, const lli_parts *parts) {
    lli_provenance part = {0}, whole = {0};
    lli_trial_store store = {0};
    lli_selection selection;
    ll_status status;
    LLI_DO(read_identity(ctx, &part, &whole, parts->path[0]));
    for (int64_t i = 1; i < parts->count; i++)
        LLI_DO(lli_trial_store_same(ctx, parts->path[i], &part));
    const char *by = lli_provenance_get(&part, LLI_PARTS_BY);
    LLI_DO(lli_selection_parse(&selection, ctx, lli_provenance_get(&part, LLI_PARTS_PROTOCOL), by));
    LLI_DO(lli_trial_store_open(&store, ctx, folder, &whole, by, false));
    for (int64_t i = 0; i < parts->count; i++)
        LLI_DO(lli_trial_store_take(ctx, &store, parts->path[i]));
    LLI_DO(lli_trial_store_take_best(ctx, &store, parts->path, parts->count));
    LLI_DO(lli_trial_store_conclude(ctx, &store, &selection));
done:
    lli_trial_store_close(&store);
    lli_provenance_release(&part);
    lli_provenance_release(&whole);
    return status;
}
