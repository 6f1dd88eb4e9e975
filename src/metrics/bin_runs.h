/* SPDX-License-Identifier: MIT */
/* Points in the bins of a reliability diagram, and what is drawn of them: points with replacement, and labels from the confidences. Both by
 * counts of whole runs, so that a draw of a million points takes the time of some ten thousand. Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_BIN_RUNS_H
#define LLI_METRICS_BIN_RUNS_H

#include "metrics/curve.h"

/* The bins of a closed curve, those of the most confident points first; bin 0 is none: it holds the points that are in no bin. */
typedef struct lli_bin_runs {
    int64_t count;
    int64_t *end;       /* [count] of the points of each bin */
    int64_t *wrong;     /* [count] where its wrong points begin, which come after the right ones */
    double *confidence; /* [n] */
    double *expected;   /* [count] sum of its confidences */
    double *lo, *hi;    /* [runs] least and largest confidence of each run, the runs of each bin in order */
} lli_bin_runs;

ll_status lli_bin_runs_init(lli_bin_runs *runs, ll_context *ctx, const lli_curve *curve, const ll_bin *bin, int64_t bins) LL_CHECK_RESULT;
void lli_bin_runs_release(lli_bin_runs *runs);

/* values [LLI_RESAMPLE_DRAWS]: the ECE of points drawn with replacement. Where more than 4096 right or wrong points of a bin are drawn, the
 * sum of their confidences is normal. */
ll_status lli_bin_runs_ece(double *values, ll_context *ctx, const lli_bin_runs *runs, uint64_t seed) LL_CHECK_RESULT;

/* right [count]: how many points of each bin come out right when each does so with its confidence as the chance. */
void lli_bin_runs_labels(int64_t *right, const lli_bin_runs *runs, uint64_t seed, int64_t draw);

#endif
