/* SPDX-License-Identifier: MIT */
/* The identity of an ensemble: what its predictions are made of, and nothing of its record. */
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "ensemble/ensemble.h"

const char *const lli_certificate_entries[] = {LLI_CERTIFICATE_JSON, LLI_CERTIFICATE_STATEMENT, LLI_CERTIFICATE_BY,
                                               LLI_CERTIFICATE_ENSEMBLE, NULL};

/* Names and shapes of all arrays; then the members by their fingerprints, the others by their bytes. */
static void add_arrays(lli_hash *hash, const ll_ensemble *e) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    lli_ensemble_plan plan = e->plan;
    plan.cut = NULL; /* it decides which answers are given, not what they are */
    int64_t count = lli_ensemble_arrays(arrays, &plan);
    for (int64_t i = 0; i < count; i++) {
        const ll_array *a = &arrays[i].array;
        if (i == plan.model->tensors)
            continue;
        lli_hash_add(hash, arrays[i].name, strlen(arrays[i].name) + 1);
        lli_hash_add(hash, a->shape, (size_t)a->rank * sizeof *a->shape);
        if (i > plan.model->tensors)
            lli_hash_add(hash, a->data, (size_t)lli_array_count(a) * ll_dtype_size(a->dtype));
    }
    for (int64_t s = 0; s < plan.stored; s++)
        lli_hash_add(hash, e->fingerprint[s].sha256, LLI_HASH_BYTES);
}

void lli_ensemble_hash(const ll_ensemble *e, char out[LLI_HASH_TEXT]) {
    const lli_ensemble_plan *plan = &e->plan;
    lli_hash hash;
    lli_hash_init(&hash);
    add_arrays(&hash, e);
    const uint64_t masks[] = {plan->drop16, plan->drop16 ? plan->seed : 0};
    lli_hash_add(&hash, masks, sizeof masks);
    if (plan->by_content)
        lli_hash_add(&hash, &plan->by_content, 1);
    const uint64_t draws[] = {plan->seed, plan->gaussian.common, plan->gaussian.link};
    if (plan->gaussian.structure)
        lli_hash_add(&hash, draws, sizeof draws);
    lli_hash_text(&hash, out);
}

ll_status lli_ensemble_hash_anew(ll_context *ctx, const ll_ensemble *e, char out[LLI_HASH_TEXT]) {
    ll_ensemble anew = *e;
    LLI_TRY(lli_memory_new(ctx, &anew.fingerprint, e->plan.stored, sizeof *anew.fingerprint));
    for (int64_t s = 0; s < e->plan.stored; s++)
        lli_fingerprint_take(&anew.fingerprint[s], e->plan.model, e->tensor, s);
    lli_ensemble_hash(&anew, out);
    lli_memory_free(anew.fingerprint);
    return LL_OK;
}
