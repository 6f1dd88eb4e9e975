/* SPDX-License-Identifier: MIT */
/* What the bootstrap measures of one draw: coverage at a risk and FPR95, each from weights on places of a sorted list, without sorting
 * again. Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_STATISTIC_H
#define LLI_METRICS_STATISTIC_H

#include "metrics/curve.h"

/* code [n] of a closed curve, one per place: its mark, and whether it is the first of its group. */
enum { LLI_STATISTIC_MARK = 1, LLI_STATISTIC_FIRST = 2 };
void lli_statistic_code(uint8_t *code, const lli_curve *curve);

/* The weight of a place is that of the same number, or of place[i] where the weights belong to another list. */
typedef struct lli_statistic_cut {
    const uint8_t *code;  /* [n], marks are errors */
    const int64_t *place; /* [n] or NULL */
    int64_t n;
    double risk;
} lli_statistic_cut;

typedef struct lli_statistic_out {
    const uint8_t *code;              /* [n + n_out], marks are out points */
    const int64_t *place, *out_place; /* [n], [n_out] or NULL */
    int64_t n, n_out;
} lli_statistic_out;

/* As lli_statistic (metrics/resample.h); arg is of the type above. */
double lli_statistic_coverage(const void *arg, const uint8_t *weight, const uint8_t *out_weight);
double lli_statistic_fpr95(const void *arg, const uint8_t *weight, const uint8_t *out_weight);

#endif
