/* SPDX-License-Identifier: MIT */
/* What names a member: the SHA-256 of its tensors, one behind the other, kept with the ensemble, so that a prediction need not take it
 * again. A sum of the same bytes, and of the SHA-256 itself, is compared whenever an ensemble is read: a member that was changed by
 * something that knows no fingerprints gets a new one. */
#ifndef LLI_ENSEMBLE_FINGERPRINT_H
#define LLI_ENSEMBLE_FINGERPRINT_H

#include "base/bundle.h"
#include "base/hash.h"
#include "model/model.h"

/* As it lies in files. */
typedef struct lli_fingerprint {
    unsigned char sha256[LLI_HASH_BYTES];
    uint64_t sum[LLI_HASH_LANES];
} lli_fingerprint;

#define LLI_FINGERPRINT_ARRAY "fingerprint" /* [stored,64] u8 */

/* Of tensors that come one after the other. */
typedef struct lli_fingerprint_work {
    lli_hash hash;
    uint64_t sum[LLI_HASH_LANES];
} lli_fingerprint_work;

void lli_fingerprint_init(lli_fingerprint_work *work);
void lli_fingerprint_add(lli_fingerprint_work *work, const float *tensor, int64_t count);
void lli_fingerprint_end(lli_fingerprint_work *work, lli_fingerprint *out);

/* Of member s of tensors [stored, shape of the model's]. */
void lli_fingerprint_take(lli_fingerprint *out, const lli_model *model, const float *const *tensors, int64_t s);
/* Does the sum fit that member? */
bool lli_fingerprint_fits(const lli_fingerprint *given, const lli_model *model, const float *const *tensors, int64_t s);
/* Those of a file that has some, and new ones where they do not fit; all new ones where it has none. */
ll_status lli_fingerprint_from(lli_fingerprint *out, ll_context *ctx, const ll_bundle *bundle, const char *path, const lli_model *model,
                               const float *const *tensors, int64_t stored) LL_CHECK_RESULT;

#endif
