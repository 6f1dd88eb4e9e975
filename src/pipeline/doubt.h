/* SPDX-License-Identifier: MIT */
/* Warnings about an ensemble that was fitted just now. */
#ifndef LLI_PIPELINE_DOUBT_H
#define LLI_PIPELINE_DOUBT_H

#include "pipeline/fit.h"

/* Looks at the ensemble on some of its training rows and warns through the log where it cannot be right: members that hardly differ,
 * dropout that unlearns. Changes nothing. `options` are those that made it. A look that fails is no failure of the fit. */
void lli_fit_doubt(ll_context *ctx, const ll_ensemble *ensemble, const lli_start *start, const ll_fit_options *options,
                   const ll_dataset *data);

#endif
