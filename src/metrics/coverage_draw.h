/* SPDX-License-Identifier: MIT */
/* The bootstrap of the coverage at a risk, without a weight for every point. How many draws fall into a run of places is binomial, and so
 * is how many of these are errors; single places are drawn only in the runs where the cut may be. Exactly multinomial, like
 * metrics/resample.h, but a draw of a million points takes the time of some ten thousand. Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_COVERAGE_DRAW_H
#define LLI_METRICS_COVERAGE_DRAW_H

#include "base/context.h"

/* values [count, LLI_RESAMPLE_DRAWS]: the coverage at this risk in each draw, of lists of n places; code[k] [n] as lli_statistic_code makes
 * it. All lists have the same streams, so that equal ones have equal values. */
ll_status lli_coverage_draw(double *values, ll_context *ctx, const uint8_t *const *code, int64_t count, int64_t n, double risk,
                            uint64_t seed) LL_CHECK_RESULT;

#endif
