/* SPDX-License-Identifier: MIT */
/* Are members as wide as the posterior? docs/math/samplers.md */
#ifndef LLI_METHODS_VIRIAL_H
#define LLI_METHODS_VIRIAL_H

#include "ensemble/ensemble.h"
#include "methods/fit.h"

/* The mean over some late members of (theta - theta*)' N grad U(theta), divided by the number of parameters: 1 for draws from the
 * posterior, whatever its shape and theta*, more for members that are too wide, less for a chain that has not left theta* yet. Costs a pass
 * over the rows for each of these members. Of heads. */
ll_status lli_virial_ratio(ll_context *ctx, double *ratio, const ll_ensemble *ensemble, const ll_dataset *data, const lli_theta_star *star,
                           double prior_precision) LL_CHECK_RESULT;

bool lli_virial_applies(const ll_fit_options *options); /* to chains whose lr alone does not tell the diffusion time */

/* Says it, and warns where it is far from 1. */
ll_status lli_virial_tell(ll_context *ctx, const ll_fit_options *options, const ll_ensemble *ensemble, const ll_dataset *data,
                          const lli_theta_star *star) LL_CHECK_RESULT;

#endif
