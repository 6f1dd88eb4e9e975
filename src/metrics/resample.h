/* SPDX-License-Identifier: MIT */
/* The bootstrap: points drawn again with replacement, as whole weights that sum to n, exactly multinomial. Draw d has the same weights for
 * every method, confidence, number of threads and order of the input: they belong to places of a sorted list, not to rows.
 * Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_RESAMPLE_H
#define LLI_METRICS_RESAMPLE_H

#include "base/context.h"

enum { LLI_RESAMPLE_DRAWS = 2000 };

/* Which weights of a draw. */
typedef enum lli_resample_kind { LLI_RESAMPLE_POINTS, LLI_RESAMPLE_OUT } lli_resample_kind;

/* weight [n] of draw d, n >= 1. A weight above 255 has no chance to occur: it is less than 1e-500. */
void lli_resample_weights(uint8_t *weight, int64_t n, uint64_t seed, int64_t draw, lli_resample_kind kind);

/* One number of a draw, from the weights of the points and of the out points. */
typedef double lli_statistic(const void *arg, const uint8_t *weight, const uint8_t *out_weight);

typedef struct lli_resample {
    int64_t n, n_out; /* n_out 0: no out points */
    uint64_t seed;
    int64_t count; /* of statistics */
    lli_statistic *const *statistic;
    const void *const *arg;
} lli_resample;

/* values [count, LLI_RESAMPLE_DRAWS]: each statistic of each draw, in parallel. */
ll_status lli_resample_run(double *values, ll_context *ctx, const lli_resample *plan) LL_CHECK_RESULT;

/* The middle `level` of values [LLI_RESAMPLE_DRAWS], which it sorts; quantiles between two values are interpolated. */
ll_interval lli_resample_middle(double *values, double level);

#endif
