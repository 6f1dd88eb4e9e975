/* SPDX-License-Identifier: MIT */
/* The prior precision of a head, where the options leave it to the labels or to validation rows. docs/math/laplace.md */
#ifndef LLI_PIPELINE_PRIOR_H
#define LLI_PIPELINE_PRIOR_H

#include "data/dataset.h"
#include "methods/fit.h"
#include "model/head.h"
#include "train/curvature.h"

#define LLI_PRIOR_START 1.0 /* that theta* is solved with at first */

/* By evidence. `ours`, the MAP at LLI_PRIOR_START, becomes the MAP there; where it is NULL theta* is `given`, and stays. *c is the
 * curvature at theta*, to be released; with `structure` kfac and diagb it is what laplace needs. */
ll_status lli_prior_infer(ll_context *ctx, double *tau, lli_curvature *c, const char *structure, ll_head *ours, const ll_head *given,
                          const ll_dataset *data) LL_CHECK_RESULT;
/* Before theta* is looked for: are there validation rows, with labels, of a head of K classes on D features? */
ll_status lli_prior_check(ll_context *ctx, const ll_dataset *rows, int64_t K, int64_t D) LL_CHECK_RESULT;
/* By the NLL of laplace on options->validation, which lli_prior_check has seen. theta* stays: tau is that of the Gaussian around it. */
ll_status lli_prior_validate(ll_context *ctx, double *tau, const ll_fit_options *options, const lli_theta_star *star,
                             const ll_dataset *data) LL_CHECK_RESULT;

#endif
