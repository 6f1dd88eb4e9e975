/* SPDX-License-Identifier: MIT */
/* Selective classification: what abstaining by a confidence buys. Equations: docs/math/selective.md. */
#ifndef LLI_METRICS_SELECTIVE_H
#define LLI_METRICS_SELECTIVE_H

#include "metrics/curve.h"

/* Of a closed curve whose marks are the errors, n > 0. `expected_ties`: aurc is the mean over random orders inside ties
 * instead of the paper's formula. */
void lli_selective_measure(ll_selective *out, const lli_curve *curve, bool expected_ties);

/* The largest coverage with risk <= `risk`; out->found tells if there is one. */
void lli_selective_at_risk(ll_threshold *out, const lli_curve *curve, double risk);
/* The smallest attainable coverage >= `coverage`, which is in (0,1]. */
void lli_selective_at_coverage(ll_threshold *out, const lli_curve *curve, double coverage);

#endif
