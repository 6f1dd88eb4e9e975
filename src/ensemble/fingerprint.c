/* SPDX-License-Identifier: MIT */
#include "ensemble/fingerprint.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"

_Static_assert(sizeof(lli_fingerprint) == 64, "a fingerprint is written as it lies in memory");

void lli_fingerprint_init(lli_fingerprint_work *work) {
    lli_hash_init(&work->hash);
    lli_hash_sum_init(work->sum);
}

void lli_fingerprint_add(lli_fingerprint_work *work, const float *tensor, int64_t count) {
    lli_hash_add(&work->hash, tensor, (size_t)count * sizeof *tensor);
    lli_hash_sum_add(work->sum, tensor, (size_t)count * sizeof *tensor);
}

void lli_fingerprint_end(lli_fingerprint_work *work, lli_fingerprint *out) {
    lli_hash_bytes(&work->hash, out->sha256);
    lli_hash_sum_add(work->sum, out->sha256, sizeof out->sha256);
    memcpy(out->sum, work->sum, sizeof out->sum);
}

void lli_fingerprint_take(lli_fingerprint *out, const lli_model *model, const float *const *tensors, int64_t s) {
    lli_fingerprint_work work;
    lli_fingerprint_init(&work);
    for (int i = 0; i < model->tensors; i++)
        lli_fingerprint_add(&work, tensors[i] + s * model->tensor[i].count, model->tensor[i].count);
    lli_fingerprint_end(&work, out);
}

bool lli_fingerprint_fits(const lli_fingerprint *given, const lli_model *model, const float *const *tensors, int64_t s) {
    uint64_t sum[LLI_HASH_LANES];
    lli_hash_sum_init(sum);
    for (int i = 0; i < model->tensors; i++)
        lli_hash_sum_add(sum, tensors[i] + s * model->tensor[i].count, (size_t)model->tensor[i].count * sizeof(float));
    lli_hash_sum_add(sum, given->sha256, sizeof given->sha256);
    return memcmp(sum, given->sum, sizeof sum) == 0;
}

ll_status lli_fingerprint_from(lli_fingerprint *out, ll_context *ctx, const ll_bundle *bundle, const char *path, const lli_model *model,
                               const float *const *tensors, int64_t stored) {
    int64_t at = ll_bundle_find(bundle, LLI_FINGERPRINT_ARRAY), changed = 0;
    if (at >= 0) {
        ll_array a = ll_bundle_array(bundle, at);
        char text[LLI_ARRAY_TEXT];
        if (a.dtype != LL_DTYPE_U8 || a.rank != 2 || a.shape[0] != stored || a.shape[1] != (int64_t)sizeof *out)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array " LLI_FINGERPRINT_ARRAY " is %s; expected [%" PRId64 ",%d] u8", path,
                            lli_array_text(text, &a), stored, (int)sizeof *out);
        memcpy(out, a.data, (size_t)stored * sizeof *out);
    }
    for (int64_t s = 0; s < stored; s++) {
        if (at >= 0 && lli_fingerprint_fits(&out[s], model, tensors, s))
            continue;
        changed++;
        lli_fingerprint_take(&out[s], model, tensors, s);
    }
    if (at >= 0 && changed)
        lli_log(ctx, LL_LOG_WARNING,
                "%s: %" PRId64 " of %" PRId64 " members were changed after they were written: their fingerprints do not fit, and are made "
                "anew",
                path, changed, stored);
    return LL_OK;
}
