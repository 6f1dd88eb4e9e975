/* SPDX-License-Identifier: MIT */
/* The store in memory. */
#include "ensemble/store.h"

#include <string.h>

static ll_status save(lli_store *store, ll_context *ctx, int64_t member, const float *W, const float *b) {
    (void)ctx;
    ll_ensemble *e = ((lli_store_memory *)store)->ensemble;
    int64_t K = e->plan.K, D = e->plan.D;
    memcpy(e->owned_W + member * K * D, W, (size_t)(K * D) * sizeof *W);
    memcpy(e->owned_b + member * K, b, (size_t)K * sizeof *b);
    return LL_OK;
}

void lli_store_memory_init(lli_store_memory *store, ll_ensemble *ensemble) {
    static const lli_store_ops ops = {.save = save};
    store->store.ops = &ops;
    store->ensemble = ensemble;
}
