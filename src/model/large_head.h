/* SPDX-License-Identifier: MIT */
/* The head with many classes as a model: theta in panels, see kernels/large.h. */
#ifndef LLI_MODEL_LARGE_HEAD_H
#define LLI_MODEL_LARGE_HEAD_H

#include "kernels/kernels.h"
#include "model/model.h"

bool lli_large_head_suits(const lli_kernels *kernels, int64_t K, int64_t D); /* does this shape run faster in panels? */
bool lli_large_head_divides(const lli_model *model); /* may ranks divide its classes? Then model->team may be set. */
/* Every rank gets the parts of theta that the others have, and of the `copies` - 1 arrays of model->floats that follow it. */
ll_status lli_large_head_collect(ll_context *ctx, const lli_model *model, float *theta, int64_t copies) LL_CHECK_RESULT;
extern const lli_model_ops lli_large_head_ops;

#endif
