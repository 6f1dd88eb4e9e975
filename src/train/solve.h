/* SPDX-License-Identifier: MIT */
/* The MAP of a softmax head, by L-BFGS. docs/math/map.md */
#ifndef LLI_TRAIN_SOLVE_H
#define LLI_TRAIN_SOLVE_H

#include "base/context.h"
#include "data/dataset.h"

/* The weighted mean objective and its gradient at theta [K,ld]: f = (1/w) (sum -w_i log p(y_i|z_i) + tau/2 |theta|^2), w = sum w_i, which
 * is N without weights. It has the minimum of the objective that divides by N, and the same scale for all weights. Same bits on any number
 * of threads: rows are cut into fixed slices, summed in f64 in slice order. For the solver and its tests. */
typedef struct lli_objective lli_objective;
ll_status lli_objective_new(lli_objective **out, ll_context *ctx, const ll_dataset *data, int64_t K,
                            double prior_precision) LL_CHECK_RESULT;
void lli_objective_free(lli_objective *objective);
ll_status lli_objective_run(ll_context *ctx, lli_objective *objective, double *value, double *gradient,
                            /* [K,ld] */ const double *theta) LL_CHECK_RESULT;

#endif
