/* SPDX-License-Identifier: MIT */
/* The softmax head: p(k|z) = softmax(W z + b)_k. docs/math/model.md */
#ifndef LLI_MODEL_HEAD_H
#define LLI_MODEL_HEAD_H

#include "base/context.h"
#include "base/hash.h"
#include "base/team.h"
#include "kernels/kernels.h"
#include "model/model.h"

struct ll_head {
    int64_t K, D;
    float *W;             /* [K,D] */
    float *b;             /* [K] */
    double gradient_norm; /* NaN unless solved for */
    char hash[LLI_HASH_TEXT];
};

/* Zeros; fill W and b, then lli_head_seal. */
ll_status lli_head_alloc(ll_head **out, ll_context *ctx, int64_t K, int64_t D) LL_CHECK_RESULT;
ll_status lli_head_seal(ll_context *ctx, ll_head *head) LL_CHECK_RESULT; /* refuses NaN and infinities, takes the hash */

/* The head as a trainable model: tensors W [K,D] and b [K]. theta is [K,ld], see kernels/kernels.h; or, where there are so many classes
 * that it pays, in panels, see kernels/large.h. */
ll_status lli_head_model(ll_context *ctx, lli_model *model, int64_t K, int64_t D) LL_CHECK_RESULT;
/* The model and theta of the head, in the place of those that are there: whole, or, on the ranks of a team (NULL: none), their own classes
 * alone. */
ll_status lli_head_pack(ll_context *ctx, lli_model *model, float **theta, const ll_head *head, lli_team *team) LL_CHECK_RESULT;
ll_status lli_head_rows(ll_context *ctx, lli_model *model, int64_t K, int64_t D) LL_CHECK_RESULT; /* always [K,ld] */

/* A step as the kernels take it. */
typedef struct lli_head_step {
    lli_batch batch;
    lli_update update;
    bool dropout; /* else mask means nothing */
    lli_mask mask;
} lli_head_step;

lli_head_step lli_head_step_of(const lli_step *step);
lli_update lli_head_mean_gradient(int64_t n); /* makes of zeros the mean gradient of n rows */

#endif
