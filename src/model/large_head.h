/* SPDX-License-Identifier: MIT */
/* The head with many classes as a model: theta in panels, see kernels/large.h. */
#ifndef LLI_MODEL_LARGE_HEAD_H
#define LLI_MODEL_LARGE_HEAD_H

#include "kernels/kernels.h"
#include "model/model.h"

bool lli_large_head_suits(const lli_kernels *kernels, int64_t K, int64_t D); /* does this shape run faster in panels? */
extern const lli_model_ops lli_large_head_ops;

#endif
