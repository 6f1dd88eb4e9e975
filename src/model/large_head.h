/* SPDX-License-Identifier: MIT */
/* The head with many classes as a model: theta in panels, see kernels/large.h. */
#ifndef LLI_MODEL_LARGE_HEAD_H
#define LLI_MODEL_LARGE_HEAD_H

#include "base/team.h"
#include "kernels/kernels.h"
#include "model/model.h"

bool lli_large_head_suits(const lli_kernels *kernels, int64_t K, int64_t D); /* does this shape run faster in panels? */
bool lli_large_head_divides(const lli_model *model); /* may ranks divide its classes? Then model->team may be set. */
/* The model of the classes that this rank of a team has: theta is theirs alone. Tensors that it packs are whole. */
void lli_large_head_divide(lli_model *out, const lli_model *whole, lli_team *team);
/* Rows `first` .. `first` + `count` - 1 of W, or of b where `bias`, of the classes here: out [count,D] or [count]. */
void lli_large_head_rows(const lli_model *model, float *out, const float *theta, int64_t first, int64_t count, bool bias);
/* The classes of a rank: *first, and their number. */
int64_t lli_large_head_classes(const lli_model *model, int64_t rank, int64_t *first);
int64_t lli_large_head_floats(const lli_model *model, int64_t rank); /* of theta that it has */
extern const lli_model_ops lli_large_head_ops;

#endif
