/* SPDX-License-Identifier: MIT */
/* How far the chains of a fit have gone, in the time that a direction of the posterior needs to be crossed. docs/math/samplers.md */
#ifndef LLI_METHODS_DIFFUSION_H
#define LLI_METHODS_DIFFUSION_H

#include "methods/method.h"

/* Wider heads are not looked at: the eigenvalues would cost too much. */
enum { LLI_DIFFUSION_MAX = 1024, LLI_DIFFUSION_ROWS = 2048 };

/* The 10 % point of lambda = (b_i a_j + tau) / N, each weighted by the share of its direction in the variance of the logits, which have no
 * common mode. `rows` are some of N, drawn evenly. */
ll_status lli_diffusion_lambda(ll_context *ctx, double *lambda, const ll_dataset *rows, int64_t N, const lli_curvature_head *head,
                               double prior_precision) LL_CHECK_RESULT;

double lli_diffusion_length(const lli_fit *fit); /* the sum of lr over the steps of one chain from its first sample on, or through its
                                                    cycles; NaN: it has none, or lr alone does not say how long steps are */

/* Says the diffusion time of each chain, and warns where it is too short. Of heads. */
ll_status lli_diffusion_tell(ll_context *ctx, const ll_fit_options *options, const ll_dataset *rows, const ll_dataset *data,
                             const lli_theta_star *star) LL_CHECK_RESULT;

#endif
