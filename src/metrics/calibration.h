/* SPDX-License-Identifier: MIT */
/* Calibration: does a confidence of 0.8 mean right eight times in ten? Equations: docs/math/calibration.md. */
#ifndef LLI_METRICS_CALIBRATION_H
#define LLI_METRICS_CALIBRATION_H

#include "metrics/curve.h"

typedef enum lli_calibration_edges { LLI_CALIBRATION_LEFT, LLI_CALIBRATION_RIGHT, LLI_CALIBRATION_MASS } lli_calibration_edges;

/* Of a closed curve of probabilities whose marks are the errors. Fills bin [m] and returns how many bins there are: m, or for
 * equal-mass bins those that hold a point. `drop_one`: points with confidence 1 are in no bin, but still counted in n. */
int64_t lli_calibration_measure(double *ece, double *mce, ll_bin *bin, const lli_curve *curve, int64_t m, lli_calibration_edges edges,
                                bool drop_one);

#endif
