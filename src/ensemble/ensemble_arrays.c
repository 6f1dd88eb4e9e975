/* SPDX-License-Identifier: MIT */
/* The arrays of an ensemble's file. */
#include <string.h>

#include "base/array.h"
#include "ensemble/ensemble.h"

int64_t lli_ensemble_arrays(ll_named_array out[LLI_ENSEMBLE_ARRAYS_MAX], const lli_ensemble_plan *plan) {
    int tensors = plan->model->tensors;
    for (int i = 0; i < tensors; i++) {
        const lli_tensor *t = &plan->model->tensor[i];
        int64_t shape[LL_ARRAY_RANK_MAX] = {plan->stored};
        memcpy(shape + 1, t->shape, (size_t)t->rank * sizeof *shape);
        out[i] = (ll_named_array){t->name, ll_array_view(NULL, LL_DTYPE_F32, 1 + t->rank, shape)};
    }
    int64_t count = tensors;
    const int64_t fingerprints[] = {plan->stored, (int64_t)sizeof(lli_fingerprint)};
    out[count++] = (ll_named_array){LLI_FINGERPRINT_ARRAY, ll_array_view(NULL, LL_DTYPE_U8, 2, fingerprints)};
    out[count++] = (ll_named_array){"weight", ll_array_view(plan->weight, LL_DTYPE_F64, 1, &plan->S)};
    if (plan->net)
        out[count++] = (ll_named_array){"scaling", ll_array_view(plan->scaling, LL_DTYPE_F64, 1, (int64_t[]){2})};
    if (plan->calibration)
        out[count++] = (ll_named_array){"calibration", ll_array_view(plan->calibration, LL_DTYPE_F64, 2, (int64_t[]){2, plan->K})};
    if (plan->cut)
        out[count++] = (ll_named_array){"cut", ll_array_view(plan->cut, LL_DTYPE_F64, 1, &plan->K)};
    count += lli_gaussian_list(out + count, &plan->gaussian, plan->K, plan->D);
    return count + lli_scores_list(out + count, &plan->scores, plan->D);
}

int64_t lli_ensemble_list(ll_named_array out[LLI_ENSEMBLE_ARRAYS_MAX], const ll_ensemble *e) {
    int64_t count = lli_ensemble_arrays(out, &e->plan);
    int tensors = e->plan.model->tensors;
    for (int i = 0; i < tensors; i++)
        out[i].array.data = e->tensor[i];
    out[tensors].array.data = e->fingerprint;
    return count;
}

int64_t lli_ensemble_bytes(const ll_ensemble *e) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    lli_ensemble_plan own = e->plan; /* a view */
    own.scores = (lli_scores){0};
    int64_t bytes = 0, count = lli_ensemble_arrays(arrays, &own);
    for (int64_t i = 0; i < count; i++)
        bytes += lli_array_count(&arrays[i].array) * (int64_t)ll_dtype_size(arrays[i].array.dtype);
    return bytes;
}
