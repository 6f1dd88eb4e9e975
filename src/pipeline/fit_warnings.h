/* SPDX-License-Identifier: MIT */
/* Warnings about an ensemble that was fitted just now. */
#ifndef LLI_PIPELINE_FIT_WARNINGS_H
#define LLI_PIPELINE_FIT_WARNINGS_H

#include "pipeline/found_theta.h"

/* Looks at the ensemble on some of its training rows and warns through the log where it cannot be right: members that hardly differ,
 * dropout that unlearns. Changes nothing. `options` are those that made it. A look that fails is no failure of the fit. */
void lli_fit_warnings(ll_context *ctx, const ll_ensemble *ensemble, const lli_found_theta *found, const ll_fit_options *options,
                      const ll_dataset *data);

#endif
