/* SPDX-License-Identifier: MIT */
/* Is an ECE more than chance? Its distribution when the confidences are true, and a distance that chance does not inflate.
 * Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_MISCALIBRATION_H
#define LLI_METRICS_MISCALIBRATION_H

#include "metrics/bin_runs.h"

/* The share of draws, of the labels from the confidences, whose ECE is at least this one; the draw that happened counts as one. */
ll_status lli_miscalibration_p(double *p, ll_context *ctx, const lli_bin_runs *runs, double ece, uint64_t seed) LL_CHECK_RESULT;

/* sum over bins of n_b/n [gap^2 - accuracy (1 - accuracy)/(n_b - 1)]; may be below 0. */
double lli_miscalibration_l2(const ll_bin *bin, int64_t bins, int64_t n);

#endif
