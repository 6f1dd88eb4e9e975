/* SPDX-License-Identifier: MIT */
/* The intervals of one evaluation: what a curve says at once, and what is resampled, for all confidences together, at the end. */
#ifndef LLI_METRICS_UNCERTAINTY_H
#define LLI_METRICS_UNCERTAINTY_H

#include "metrics/curve.h"
#include "metrics/miscalibration.h"
#include "metrics/resample.h"
#include "metrics/statistic.h"

typedef struct lli_uncertainty {
    ll_context *ctx;
    ll_evaluation *out;                                            /* its rules and numbers are read, its intervals written */
    double z;                                                      /* 0: no intervals are wanted, and all calls do nothing */
    lli_bin_runs runs;                                             /* of the ECE */
    int64_t cuts, fars;                                            /* of what is resampled: coverage at a risk, FPR95 */
    uint8_t *cut[LL_CONFIDENCE_COUNT], *code[LL_CONFIDENCE_COUNT]; /* [cuts], [fars], owned */
    ll_interval *cut_interval[LL_CONFIDENCE_COUNT], *far_interval[LL_CONFIDENCE_COUNT];
    lli_statistic_out far[LL_CONFIDENCE_COUNT];
} lli_uncertainty;

/* Of an evaluation whose rules, n and n_out are set; all its intervals become undefined. */
void lli_uncertainty_init(lli_uncertainty *u, ll_context *ctx, ll_evaluation *out);
void lli_uncertainty_release(lli_uncertainty *u);

/* Each after the number itself, from the curve that it was made of. */
void lli_uncertainty_rank(lli_uncertainty *u, ll_confidence c, const lli_curve *curve);
ll_status lli_uncertainty_cut(lli_uncertainty *u, ll_confidence c, const lli_curve *curve) LL_CHECK_RESULT;
ll_status lli_uncertainty_detect(lli_uncertainty *u, ll_confidence c, const lli_curve *curve) LL_CHECK_RESULT;
ll_status lli_uncertainty_calibrate(lli_uncertainty *u, const lli_curve *curve) LL_CHECK_RESULT;
ll_status lli_uncertainty_finish(lli_uncertainty *u) LL_CHECK_RESULT;

#endif
