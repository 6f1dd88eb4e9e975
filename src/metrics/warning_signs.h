/* SPDX-License-Identifier: MIT */
/* Signs that an ensemble cannot be right, in what it says about rows it was fitted on. docs/math/confidence.md */
#ifndef LLI_METRICS_WARNING_SIGNS_H
#define LLI_METRICS_WARNING_SIGNS_H

#include "base/context.h"

/* A spread below so many times the rounding of single precision orders rows by chance. */
#define LLI_WARNING_SIGNS_SPREAD 100

/* Median over the rows of the standard deviation over members of p(label), in units of the rounding noise of single precision: a logit
 * gap m is known to some 2^-24 (1 + |m|), and p(label) then to that times p (1 - p). NaN where no row shows it (one member; all p exactly 0
 * or 1). Needs sr, sr_tail and std. */
ll_status lli_warning_signs_spread(double *out, ll_context *ctx, const ll_outcome *points) LL_CHECK_RESULT;

typedef struct lli_loss {
    int64_t right, right_before; /* rows that the ensemble, and the point it started from, label rightly */
    bool certain;                /* more rows were lost than a twentieth of them and three standard errors together */
} lli_loss;

/* How much larger the share of rows labelled rightly is than the mean of sr: above 0 the answers are too unsure. */
double lli_warning_signs_unsure(const ll_outcome *points);
#define LLI_WARNING_SIGNS_UNSURE 0.15 /* that an ensemble may have more of it than theta*, on the rows it was fitted on */

/* Both outcomes are of the same rows and have truth. */
lli_loss lli_warning_signs_loss(const ll_outcome *points, const ll_outcome *before);

#endif
