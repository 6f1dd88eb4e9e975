/* SPDX-License-Identifier: MIT */
/* Out-of-distribution detection: does the confidence tell the two kinds of points apart? Equations: docs/math/ood.md. */
#ifndef LLI_METRICS_OOD_H
#define LLI_METRICS_OOD_H

#include "metrics/curve.h"

/* How precision goes between two thresholds. TRAPEZOID starts at recall 0, precision 1; BARE has no such anchor. */
typedef enum lli_ood_aupr { LLI_OOD_STEP, LLI_OOD_TRAPEZOID, LLI_OOD_BARE } lli_ood_aupr;

/* Of a closed curve whose marks are the out-of-distribution points, with points of both kinds. */
void lli_ood_measure(ll_ood *out, const lli_curve *curve, lli_ood_aupr aupr);

#endif
