/* SPDX-License-Identifier: MIT */
/* The identity of an ensemble: what its predictions are made of, and nothing of its record. */
#include <string.h>

#include "ensemble/ensemble.h"

const char *const lli_certificate_entries[] = {LLI_CERTIFICATE_JSON, LLI_CERTIFICATE_STATEMENT, LLI_CERTIFICATE_BY,
                                               LLI_CERTIFICATE_ENSEMBLE, NULL};

void lli_ensemble_hash(const ll_ensemble *e, char out[LLI_HASH_TEXT]) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    lli_ensemble_plan plan = e->plan;
    plan.cut = NULL; /* it decides which answers are given, not what they are */
    int64_t count = lli_ensemble_arrays(arrays, &plan);
    lli_hash hash;
    lli_hash_init(&hash);
    for (int64_t i = 0; i < count; i++) {
        const ll_array *a = &arrays[i].array;
        size_t bytes = ll_dtype_size(a->dtype);
        for (int axis = 0; axis < a->rank; axis++)
            bytes *= (size_t)a->shape[axis];
        lli_hash_add(&hash, arrays[i].name, strlen(arrays[i].name) + 1);
        lli_hash_add(&hash, a->shape, (size_t)a->rank * sizeof *a->shape);
        lli_hash_add(&hash, i < plan.model->tensors ? e->tensor[i] : a->data, bytes);
    }
    const uint64_t masks[] = {plan.drop16, plan.drop16 ? plan.seed : 0};
    lli_hash_add(&hash, masks, sizeof masks);
    if (plan.by_content) /* else the hash is that of ensembles from before there was a choice */
        lli_hash_add(&hash, &plan.by_content, 1);
    const uint64_t draws[] = {plan.seed, plan.gaussian.common, plan.gaussian.link};
    if (plan.gaussian.structure)
        lli_hash_add(&hash, draws, sizeof draws);
    lli_hash_text(&hash, out);
}
