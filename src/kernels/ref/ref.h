/* SPDX-License-Identifier: MIT */
/* What the plain kernels share. */
#ifndef LLI_KERNELS_REF_REF_H
#define LLI_KERNELS_REF_REF_H

#include "kernels/kernels.h"

bool lli_ref_dropped(const lli_mask *m, int64_t row, int64_t unit, int64_t D);
void lli_ref_gemm_pack(float *packed, lli_matrix a, int64_t m, int64_t k, int64_t first, int64_t end);
void lli_ref_gemm(const lli_gemm *product, float *work);
void lli_ref_panels(lli_tally *t, const void *features, bool half, int64_t first, float scale);
void lli_ref_member_logits(lli_tally *t, const lli_members *m);
void lli_ref_predict(lli_tally *t, const lli_members *m);
void lli_ref_tally(lli_tally *t, const lli_members *m);
void lli_ref_finish(lli_tally *t);
void lli_ref_adam(float *theta, float *m, float *v, const float *gradient, const lli_adam *a, float decay, int64_t count);
void lli_ref_momentum(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, int64_t count);

extern const struct lli_wide lli_ref_wide;
extern const struct lli_conv_kernels lli_ref_conv;
extern const struct lli_norm_kernels lli_ref_norm;
extern const struct lli_linear_kernels lli_ref_linear;

#endif
