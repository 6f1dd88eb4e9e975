/* SPDX-License-Identifier: MIT */
/* Rows whose temperature comes from other rows, so that they may judge it. docs/math/temperature.md */
#ifndef LLI_CALIBRATE_CROSS_FIT_H
#define LLI_CALIBRATE_CROSS_FIT_H

#include "data/dataset.h"
#include "ensemble/ensemble.h"
#include "predict/predictions.h"

/* *out: predictions of rows `rows` ([n], n >= 2) of the data, each half of them (drawn by the seed) with the temperature of the other.
 * *calibration: the temperature of all of them, which the ensemble has afterwards. */
ll_status lli_cross_fit(ll_predictions **out, ll_calibration **calibration, ll_context *ctx, ll_ensemble *ensemble, const ll_dataset *data,
                        const int64_t *rows, int64_t n, const lli_predict_request *request, uint64_t seed) LL_CHECK_RESULT;

#endif
