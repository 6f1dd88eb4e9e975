/* SPDX-License-Identifier: MIT */
/* Is an ECE more than chance? Its distribution when the confidences are true, and a distance that chance does not inflate.
 * Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_MISCALIBRATION_H
#define LLI_METRICS_MISCALIBRATION_H

#include "metrics/curve.h"

/* The bins of a closed curve as runs of its places: run 0 holds the points in no bin, the others the bins from the most confident down. */
typedef struct lli_bin_runs {
    int64_t *end; /* [count] */
    double *gap;  /* [n] right - confidence of each place */
    int64_t count;
} lli_bin_runs;

ll_status lli_miscalibration_runs_init(lli_bin_runs *runs, ll_context *ctx, const lli_curve *curve, const ll_bin *bin,
                                       int64_t bins) LL_CHECK_RESULT;
void lli_miscalibration_runs_release(lli_bin_runs *runs);

/* The share of draws, of the labels from the confidences, whose ECE is at least this one; the draw that happened counts as one. */
ll_status lli_miscalibration_p(double *p, ll_context *ctx, const lli_curve *curve, const lli_bin_runs *runs, double ece,
                               uint64_t seed) LL_CHECK_RESULT;

/* sum over bins of n_b/n [gap^2 - accuracy (1 - accuracy)/(n_b - 1)]; may be below 0. */
double lli_miscalibration_l2(const ll_bin *bin, int64_t bins, int64_t n);

#endif
