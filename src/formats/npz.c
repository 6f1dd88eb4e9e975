/* SPDX-License-Identifier: MIT */
/* Reader of .npz: a zip archive of .npy files. Stored arrays are used in place. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/meta.h"
#include "formats/readers.h"
#include "formats/refused.h"
#include "formats/zip.h"

/* Adds the name of the array, without data so far. */
static ll_status list_entry(ll_context *ctx, ll_bundle *bundle, const lli_zip *a, const lli_zip_entry *e) {
    char *name;
    size_t length = e->name_size - strlen(".npy");
    if (memchr(e->name, 0, length))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the name of an array holds a zero byte", a->file);
    LLI_TRY(lli_memory_new(ctx, &name, (int64_t)length + 1, 1));
    memcpy(name, e->name, length);
    ll_status status = lli_bundle_add(ctx, bundle, name, (ll_array){0}, NULL);
    lli_memory_free(name);
    return status;
}

ll_status lli_npz_list(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    lli_zip a;
    lli_zip_entry e;
    LLI_TRY(lli_zip_open(&a, ctx, bytes, size, name));
    LLI_TRY(lli_meta_parse(ctx, bundle, (const char *)a.comment, a.comment_size));
    while (a.left > 0) {
        LLI_TRY(lli_zip_next(&e, &a, ctx));
        if (lli_zip_ends(&e, "/data.pkl"))
            return lli_refused_torch(ctx, name);
        if (lli_zip_ends(&e, ".npy"))
            LLI_TRY(list_entry(ctx, bundle, &a, &e));
    }
    if (bundle->count == 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: a zip archive without any .npy file in it", name);
    return LL_OK;
}

static ll_status load_entry(ll_context *ctx, lli_bundle_item *item, const lli_zip *a, const lli_zip_entry *e) {
    const unsigned char *data;
    unsigned char *inflated;
    char where[512];
    lli_raw raw;
    size_t offset;
    snprintf(where, sizeof where, "%s:%s", a->file, item->name);
    LLI_TRY(lli_zip_load(&data, &inflated, ctx, a, e, item->name));
    ll_status status = lli_npy_check(&raw, &offset, ctx, data, (size_t)e->size, where);
    if (status != LL_OK) {
        lli_memory_free(inflated);
        return status;
    }
    ll_array array;
    LLI_TRY(lli_raw_view(&array, &item->owned, ctx, &raw, data + offset, inflated));
    lli_bundle_item_set(item, &array);
    return LL_OK;
}

ll_status lli_npz_load(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name, int64_t only) {
    lli_zip a;
    lli_zip_entry e;
    uint64_t left = size; /* entries that share their bytes could otherwise multiply without bound */
    LLI_TRY(lli_zip_open(&a, ctx, bytes, size, name));
    for (int64_t i = 0; i < bundle->count;) {
        LLI_TRY(lli_zip_next(&e, &a, ctx));
        if (!lli_zip_ends(&e, ".npy"))
            continue;
        if (e.packed > left)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: its arrays together are longer than the file; it is truncated or damaged", name);
        left -= e.packed;
        if (only < 0 || i == only)
            LLI_TRY(load_entry(ctx, &bundle->items[i], &a, &e));
        i++;
    }
    return LL_OK;
}

ll_status lli_npz_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    LLI_TRY(lli_npz_list(ctx, bundle, bytes, size, name));
    return lli_npz_load(ctx, bundle, bytes, size, name, -1);
}
