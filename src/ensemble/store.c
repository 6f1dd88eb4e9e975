/* SPDX-License-Identifier: MIT */
/* The store in memory. */
#include "ensemble/store.h"

#include <string.h>

static ll_status save(lli_store *store, ll_context *ctx, int64_t member, const float *const *tensors) {
    (void)ctx;
    ll_ensemble *e = ((lli_store_memory *)store)->ensemble;
    for (int i = 0; i < e->plan.model->tensors; i++) {
        int64_t count = e->plan.model->tensor[i].count;
        memcpy(e->owned[i] + member * count, tensors[i], (size_t)count * sizeof(float));
    }
    lli_fingerprint_take(&e->fingerprint[member], e->plan.model, e->tensor, member);
    if (((lli_store_memory *)store)->saved)
        ((lli_store_memory *)store)->saved[member] = true;
    return LL_OK;
}

void lli_store_memory_init(lli_store_memory *store, ll_ensemble *ensemble) {
    static const lli_store_ops ops = {.save = save};
    store->store.ops = &ops;
    store->ensemble = ensemble;
    store->saved = NULL;
}
