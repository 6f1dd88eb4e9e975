/* SPDX-License-Identifier: MIT */
/* How much each point moves a ranking metric: the influence functions of AURC, E-AURC and AUGRC, and DeLong's of AUROC. Their sums of
 * squares are standard errors; differences of two methods are made row by row. Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_INFLUENCE_H
#define LLI_METRICS_INFLUENCE_H

#include "metrics/curve.h"

typedef enum lli_ranking { LLI_RANKING_AURC, LLI_RANKING_EAURC, LLI_RANKING_AUGRC, LLI_RANKING_AUROC } lli_ranking;

/* Standard error of a metric of a closed curve; O(steps). NaN where there are not two points, or no marked or no other points; of AUROC,
 * where there are not two of each. */
double lli_influence_error(const lli_curve *curve, lli_ranking metric);

/* rows [n]: what each row, in the order of adding, contributes. The contributions sum to 0, the root of the sum of their squares is the
 * standard error. Where that is undefined all are NaN. */
void lli_influence_rows(double *rows, const lli_curve *curve, lli_ranking metric);

#endif
