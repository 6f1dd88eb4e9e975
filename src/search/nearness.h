/* SPDX-License-Identifier: MIT */
/* Which samplers of a comparison are as wide as the posterior of the head: their virial ratio is near 1. docs/math/samplers.md */
#ifndef LLI_SEARCH_NEARNESS_H
#define LLI_SEARCH_NEARNESS_H

#include "base/text.h"
#include "ensemble/ensemble.h"
#include "methods/fit.h"

typedef struct lli_nearness {
    lli_text names; /* of the rows that are */
    int64_t rows;   /* chains that were looked at */
} lli_nearness;

/* Looks at some members of a chain on a head, and at nothing else: the factors of a Gaussian may be wrong in theta and right in
 * predictions. Leaves out heads on which the look would take seconds. */
ll_status lli_nearness_add(ll_context *ctx, lli_nearness *n, const char *name, const ll_ensemble *ensemble, const ll_dataset *data,
                           const lli_theta_star *star, double prior_precision) LL_CHECK_RESULT;
/* A note, where a row was looked at. */
void lli_nearness_tell(ll_context *ctx, const lli_nearness *n);

#endif
