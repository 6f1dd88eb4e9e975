/* SPDX-License-Identifier: MIT */
/* The objective of a very wide head: blocks of rows through the classes that are here. docs/math/map.md */
#ifndef LLI_TRAIN_WIDE_OBJECTIVE_H
#define LLI_TRAIN_WIDE_OBJECTIVE_H

#include "data/dataset.h"
#include "train/divided.h"

typedef struct lli_wide_objective lli_wide_objective;

ll_status lli_wide_objective_new(lli_wide_objective **out, ll_context *ctx, const ll_dataset *data,
                                 const lli_divided *classes) LL_CHECK_RESULT;
void lli_wide_objective_free(lli_wide_objective *objective);
/* *nll = sum over rows of -w log p(y), gradient [classes->count,ld] its gradient, at theta (f32). weights [N], NULL: all 1. */
ll_status lli_wide_objective_run(ll_context *ctx, lli_wide_objective *objective, double *nll, double *gradient, const float *theta,
                                 const float *weights) LL_CHECK_RESULT;

#endif
