/* SPDX-License-Identifier: MIT */
/* Every source of this folder is compiled once per level. The build defines LLI_LEVEL (base, v3, v4), LLI_BYTES (of a vector), LLI_FMA
 * where the processor has it, LLI_NEEDS where not every processor can run the level, and LLI_ON_REQUEST where nothing else may choose it.
 * LEVEL(logits) is then lli_logits_base or lli_logits_v3. */
#ifndef LLI_KERNELS_SIMD_LEVEL_H
#define LLI_KERNELS_SIMD_LEVEL_H

#include "kernels/kernels.h"

#define LEVEL_JOIN_(name, level) lli_##name##_##level
#define LEVEL_JOIN(name, level) LEVEL_JOIN_(name, level)
#define LEVEL(name) LEVEL_JOIN(name, LLI_LEVEL)

double LEVEL(step)(float *theta, float *work, const lli_rows *rows, const lli_batch *batch, const lli_update *u, const lli_mask *mask,
                   int64_t K);
int64_t LEVEL(step_floats)(int64_t B, int64_t D, int64_t K);
void LEVEL(gather)(float *z, const void *features, bool half, const int64_t *rows, int64_t first, int64_t n, int64_t D, int64_t ld);
void LEVEL(mask)(float *out, const float *z, const lli_mask *mask, int64_t first, int64_t n, int64_t D, int64_t ld);
void LEVEL(logits)(float *logits, const float *theta, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk);
double LEVEL(residual)(float *logits, const int32_t *labels, const float *weights, int64_t n, int64_t K, int64_t ldk);
void LEVEL(update)(float *theta, const float *g, const float *z, const lli_update *u, int64_t n, int64_t K, int64_t D, int64_t ld,
                   int64_t ldk);
void LEVEL(gradient)(double *gradient, const float *g, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk);
void LEVEL(gemm_pack)(float *packed, lli_matrix a, int64_t m, int64_t k, int64_t first, int64_t end);
void LEVEL(gemm)(const lli_gemm *product, float *work);
void LEVEL(below)(uint64_t *out, lli_stream stream, int64_t first, int64_t count, uint64_t n, uint64_t grow);
void LEVEL(normals)(float *out, lli_stream stream, int64_t first, int64_t count);
void LEVEL(panels)(lli_tally *t, const void *features, bool half, int64_t first, float scale);
void LEVEL(member_logits)(lli_tally *t, const lli_members *m);
void LEVEL(predict)(lli_tally *t, const lli_members *m);
void LEVEL(finish)(lli_tally *t);
void LEVEL(adam)(float *theta, float *m, float *v, const float *gradient, const lli_adam *a, float decay, int64_t count);
void LEVEL(momentum)(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, int64_t count);

/* The second half of predict: logits in t->odds -> softmax, and the sums. */
void LEVEL(tally)(lli_tally *t, const lli_members *m);
/* With the truth: scores after member `member` of the chunk, for the rows of group g. Adds the member to t->shift on the way. */
void LEVEL(score)(lli_tally *t, const lli_members *m, int64_t member, double weight, int64_t shares, int64_t g);

extern const struct lli_large LEVEL(large);
extern const struct lli_wide LEVEL(wide);
extern const struct lli_conv_kernels LEVEL(conv);
extern const struct lli_norm_kernels LEVEL(norm);
extern const struct lli_linear_kernels LEVEL(linear);

/* The arithmetic of a step on a tiny head, STEP_PAIR rows at a time: z repeats its last row up to a multiple of that.
 * g has K times as many floats. Asks memory for the rows `next` (NULL: none), repeated in the same way. */
enum { STEP_PAIR = 2 * LLI_BYTES / 4, STEP_TINY_D = 64, STEP_TINY_K = 16 };
double LEVEL(step_tiny)(float *theta, float *g, const float *const *z, const float *const *next, const int32_t *labels,
                        const float *weights, const lli_update *u, int64_t n, int64_t K, int64_t D, int64_t ld);

/* The mask and the two products on rows that lie anywhere. For the mask the first row has index `first`; update also asks memory for the
 * rows `next` (NULL: none), n of them. */
void LEVEL(mask_of)(float *out, const float *const *z, const lli_mask *mask, int64_t first, int64_t n, int64_t D, int64_t ld,
                    int64_t columns);
void LEVEL(logits_of)(float *logits, const float *theta, const float *const *z, int64_t n, int64_t K, int64_t ld, int64_t ldk);
void LEVEL(update_of)(float *theta, const float *g, const float *const *z, const float *const *next, const lli_update *u, int64_t n,
                      int64_t K, int64_t D, int64_t ld, int64_t ldk);

/* theta[k,j] += noise * normal number k ld + j of the stream, for j <= D. */
void LEVEL(add_noise)(float *theta, lli_stream stream, int64_t K, int64_t D, int64_t ld, float noise);

#endif
