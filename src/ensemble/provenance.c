/* SPDX-License-Identifier: MIT */
/* Key-value pairs that say where numbers come from. */
#include <string.h>

#include "base/memory.h"
#include "base/option.h"
#include "ensemble/ensemble.h"

ll_status lli_provenance_add(ll_context *ctx, lli_provenance *p, const char *key, const char *value) {
    if (p->count == p->capacity) {
        int64_t capacity = LLI_MAX(16, 2 * p->capacity);
        LLI_TRY(lli_memory_grow(ctx, &p->pairs, p->count, capacity, sizeof *p->pairs));
        p->capacity = capacity;
    }
    char *k = NULL, *v = NULL;
    LLI_TRY(lli_memory_text(ctx, &k, key));
    ll_status status = lli_memory_text(ctx, &v, value);
    if (status != LL_OK) {
        lli_memory_free(k);
        return status;
    }
    p->pairs[p->count++] = (ll_meta){k, v};
    return LL_OK;
}

ll_status lli_provenance_add_text(ll_context *ctx, lli_provenance *p, const char *key, lli_text *value) {
    ll_status status = value->status;
    if (status == LL_OK)
        status = lli_provenance_add(ctx, p, key, value->data ? value->data : "");
    lli_text_release(value);
    return status;
}

ll_status lli_provenance_add_number(ll_context *ctx, lli_provenance *p, const char *key, double x) {
    lli_text value;
    lli_text_init(&value, ctx);
    lli_text_number(&value, x);
    return lli_provenance_add_text(ctx, p, key, &value);
}

ll_status lli_provenance_add_option(ll_context *ctx, lli_provenance *p, const char *prefix, const ll_option *option, const void *options) {
    lli_text key, value;
    lli_text_init(&key, ctx);
    lli_text_init(&value, ctx);
    lli_text_add(&key, "%s%s", prefix, option->name);
    lli_option_text(&value, option, options);
    ll_status status = key.status;
    if (status == LL_OK)
        status = lli_provenance_add_text(ctx, p, key.data, &value);
    else
        lli_text_release(&value);
    lli_text_release(&key);
    return status;
}

const char *lli_provenance_get(const lli_provenance *p, const char *key) {
    for (int64_t i = 0; i < p->count; i++)
        if (strcmp(p->pairs[i].key, key) == 0)
            return p->pairs[i].value;
    return NULL;
}

ll_status lli_provenance_set(ll_context *ctx, lli_provenance *p, const char *key, const char *value) {
    int64_t i = 0;
    while (i < p->count && strcmp(p->pairs[i].key, key) != 0)
        i++;
    if (i == p->count)
        return value ? lli_provenance_add(ctx, p, key, value) : LL_OK;
    char *copy = NULL;
    if (value)
        LLI_TRY(lli_memory_text(ctx, &copy, value));
    lli_memory_free((void *)p->pairs[i].value);
    p->pairs[i].value = copy;
    if (copy)
        return LL_OK;
    lli_memory_free((void *)p->pairs[i].key);
    p->count--;
    memmove(p->pairs + i, p->pairs + i + 1, (size_t)(p->count - i) * sizeof *p->pairs);
    return LL_OK;
}

void lli_provenance_release(lli_provenance *p) {
    for (int64_t i = 0; i < p->count; i++) {
        lli_memory_free((void *)p->pairs[i].key);
        lli_memory_free((void *)p->pairs[i].value);
    }
    lli_memory_free(p->pairs);
    *p = (lli_provenance){0};
}
