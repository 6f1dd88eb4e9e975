/* SPDX-License-Identifier: MIT */
/* Coordinates in which the features are white, so that L-BFGS need not learn their geometry.
 *
 * The Hessian of the objective is (1/w) (sum_i w_i (diag(p_i) - p_i p_i') (x) z_i z_i' + tau), w = sum_i w_i. With the same p at every
 * row it would be a multiple of G = (1/w) sum_i w_i z_i z_i' + lambda I in every class. So with G = U'U the solver works on u = U theta,
 * where the Hessian is near a multiple of the identity. docs/math/map.md */
#ifndef LLI_TRAIN_PRECONDITION_H
#define LLI_TRAIN_PRECONDITION_H

#include "base/context.h"
#include "base/team.h"
#include "data/dataset.h"

typedef struct lli_precondition lli_precondition;

/* Costs 2 N D^2 + D^3/3 operations and 8 D^2 bytes. The ranks of a team divide the first, and each has K classes of its own; NULL: there is
 * none. */
ll_status lli_precondition_new(lli_precondition **out, ll_context *ctx, const ll_dataset *data, int64_t K, double lambda,
                               lli_team *team) LL_CHECK_RESULT;
/* Another one for another thread, which borrows the factor of `owner`. */
ll_status lli_precondition_share(lli_precondition **out, ll_context *ctx, const lli_precondition *owner) LL_CHECK_RESULT;
void lli_precondition_free(lli_precondition *p);
ll_status lli_precondition_start(ll_context *ctx, lli_precondition *p, double *theta /* [K,ld] */) LL_CHECK_RESULT; /* u = U theta */
/* theta = U^-1 u, and the gradient in u from that in theta, U'^-1 g; both in place, for every class. */
ll_status lli_precondition_theta(ll_context *ctx, lli_precondition *p, double *u /* [K,ld] */) LL_CHECK_RESULT;
ll_status lli_precondition_gradient(ll_context *ctx, lli_precondition *p, double *g /* [K,ld] */) LL_CHECK_RESULT;

#endif
