/* SPDX-License-Identifier: MIT */
/* Whether chains have mixed: rank-normalised split R-hat, and how many independent draws they are worth in the bulk and in the tails.
 * Equations: docs/math/diagnostics.md. */
#ifndef LLI_METRICS_MIXING_H
#define LLI_METRICS_MIXING_H

#include "base/context.h"

enum { LLI_MIXING_DRAWS_MIN = 16 }; /* of a chain: halves of eight */

typedef struct lli_mixing {
    double rhat, bulk, tail; /* NaN where all draws are equal */
} lli_mixing;

/* Of one number, draws [chains,n] in the order in which each chain made them, n >= LLI_MIXING_DRAWS_MIN. */
ll_status lli_mixing_of(lli_mixing *out, ll_context *ctx, const double *draws, int64_t chains, int64_t n) LL_CHECK_RESULT;

/* Correlation at lag 1 .. lags within chains, pooled over them: out [lags + 1], out[0] = 1. NaN where all draws of each chain are equal. */
void lli_mixing_correlation(double *out, const double *draws, int64_t chains, int64_t n, int64_t lags);

/* An R-hat above this is a sign that chains of this shape differ: 1.01, or what independent draws exceed once in a hundred times. */
double lli_mixing_rhat_limit(int64_t chains, int64_t n);

#endif
