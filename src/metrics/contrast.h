/* SPDX-License-Identifier: MIT */
/* Two methods on the same rows: the difference of each metric, its interval and its p. Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_CONTRAST_H
#define LLI_METRICS_CONTRAST_H

#include "base/context.h"

/* One method: checked outcomes; all methods have the same n and truth, and where they have out points, equally many. A method without
 * points (it diverged) has no differences. */
typedef struct lli_contrast_side {
    const ll_outcome *points, *out_points; /* out_points or NULL */
} lli_contrast_side;

typedef struct lli_contrast_plan {
    ll_confidence by;   /* of the metrics that rank */
    double level, risk; /* of the intervals, in (0,1); of the coverage */
    uint64_t seed;      /* of what is resampled */
} lli_contrast_plan;

/* The second less the first; p_adjusted is NaN and word NULL. */
ll_status lli_contrast_measure(ll_difference out[LL_METRIC_COUNT], ll_context *ctx, const lli_contrast_side *first,
                               const lli_contrast_side *second, const lli_contrast_plan *plan) LL_CHECK_RESULT;

/* "better", "worse" or "within noise" at this level, by p_adjusted; NULL where there is no test. */
const char *lli_contrast_word(const ll_difference *difference, double level);

/* out [count, LL_METRIC_COUNT]: each against the first, whose own row is NaN; for each metric p is adjusted for the number of methods. */
ll_status lli_contrast_rows(ll_difference *out, ll_context *ctx, const lli_contrast_side *sides, int64_t count,
                            const lli_contrast_plan *plan) LL_CHECK_RESULT;

#endif
