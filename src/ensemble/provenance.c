/* SPDX-License-Identifier: MIT */
/* Key-value pairs that say where numbers come from. */
#include <string.h>

#include "base/memory.h"
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

const char *lli_provenance_get(const lli_provenance *p, const char *key) {
    for (int64_t i = 0; i < p->count; i++)
        if (strcmp(p->pairs[i].key, key) == 0)
            return p->pairs[i].value;
    return NULL;
}

void lli_provenance_release(lli_provenance *p) {
    for (int64_t i = 0; i < p->count; i++) {
        lli_memory_free((void *)p->pairs[i].key);
        lli_memory_free((void *)p->pairs[i].value);
    }
    lli_memory_free(p->pairs);
    *p = (lli_provenance){0};
}
