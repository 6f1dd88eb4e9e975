/* SPDX-License-Identifier: MIT */
/* The MAP of a softmax head, by L-BFGS, of all rows or of resamples. docs/math/map.md */
#ifndef LLI_TRAIN_SOLVE_H
#define LLI_TRAIN_SOLVE_H

#include "base/context.h"
#include "data/dataset.h"
#include "train/divided.h"

/* The weighted mean objective and its gradient at theta [K,ld]: f = (1/w) (sum -w_i log p(y_i|z_i) + tau/2 |theta|^2), w = sum w_i, which
 * is N without weights. It has the minimum of the objective that divides by N, and the same scale for all weights. Same bits on any number
 * of threads: rows are cut into fixed slices, summed in f64 in slice order, or, in very wide heads, added in row order. For the solver and
 * its tests. */
typedef struct lli_objective lli_objective;
ll_status lli_objective_new(lli_objective **out, ll_context *ctx, const ll_dataset *data, int64_t K,
                            double prior_precision) LL_CHECK_RESULT;
/* Of a very wide head whose classes the ranks of a team divide (NULL: all are here): theta and the gradient are those of the classes here.
 */
ll_status lli_objective_divided(lli_objective **out, ll_context *ctx, const ll_dataset *data, int64_t K, double prior_precision,
                                lli_team *team) LL_CHECK_RESULT;
lli_divided *lli_objective_classes(lli_objective *objective);
void lli_objective_free(lli_objective *objective);
ll_status lli_objective_run(ll_context *ctx, lli_objective *objective, double *value, double *gradient,
                            /* [K,ld] */ const double *theta) LL_CHECK_RESULT;
/* Whether from now on theta stays f64 and the logits are f64 too, at several times the cost. Not of very wide heads. */
ll_status lli_objective_exact(ll_context *ctx, lli_objective *objective, bool on) LL_CHECK_RESULT;
void lli_objective_weigh(lli_objective *objective, const float *weights /* [N], borrowed */); /* in place of those of the data */

#define LLI_SOLVE_TOLERANCE 1e-5 /* on the norm of the gradient of the mean objective */

/* Searches on the same rows, one after the other; one for each thread. */
typedef struct lli_solve lli_solve;
typedef struct lli_solve_result {
    double norm;
    int64_t iterations, passes; /* over the rows */
} lli_solve_result;

/* The second and later ones borrow the coordinates of the first, `owner`; NULL: it is the first. The ranks of a team divide the classes of
 * a very wide head, and all find the same; NULL: there is none. */
ll_status lli_solve_new(lli_solve **out, ll_context *ctx, const ll_dataset *data, int64_t K, double prior_precision, const lli_solve *owner,
                        lli_team *team) LL_CHECK_RESULT;
void lli_solve_free(lli_solve *solve);
/* From (W [K,D], b [K]) to the minimum, which is then there, rounded to f32. The norm is that before rounding. weights [N] of the rows,
 * NULL: those of the data. */
ll_status lli_solve_run(ll_context *ctx, lli_solve *solve, lli_solve_result *result, float *W, float *b, const float *weights,
                        const ll_head_solve_options *options) LL_CHECK_RESULT;
/* The head, which may be the MAP of another prior, becomes that of this one; without a word. */
ll_status lli_solve_head(ll_context *ctx, ll_head *head, const ll_dataset *data, double prior_precision) LL_CHECK_RESULT;

#endif
