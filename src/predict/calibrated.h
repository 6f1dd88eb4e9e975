/* SPDX-License-Identifier: MIT */
/* A calibrated row: p = softmax(scale o log p_hat + shift). docs/math/temperature.md */
#ifndef LLI_PREDICT_CALIBRATED_H
#define LLI_PREDICT_CALIBRATED_H

#include "predict/verdict.h"

/* log p_hat [K] becomes log p; what a verdict has of p_hat (label, sr, tails, margin, entropy) becomes that of p. What is made of the
 * members (votes, spread, range, mutual information) stays, spread and range those of the label before. calibration [2,K]: scale, then
 * shift. With one positive scale for all classes and no shift the label stays. */
void lli_calibrated_verdict(lli_verdict *v, double *logp, const double *calibration, int64_t K);

#endif
