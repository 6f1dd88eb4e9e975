/* SPDX-License-Identifier: MIT */
/* Methods side by side on the same rows: their numbers, their differences to the first, and the one to take. */
#ifndef LLI_METRICS_COMPARISON_H
#define LLI_METRICS_COMPARISON_H

#include "metrics/contrast.h"
#include "metrics/recommend.h"

#define LLI_COMPARISON_RISK 0.01 /* of the cuts, where no risk was asked for */

/* Which rows chose. */
typedef enum lli_choosing { LLI_CHOOSING_APART, LLI_CHOOSING_HALF, LLI_CHOOSING_SAME } lli_choosing;

/* A row minus row 0, on the reporting rows. */
typedef struct lli_comparison_gap {
    ll_difference of[LL_METRIC_COUNT];
} lli_comparison_gap;

struct ll_comparison {
    int64_t count;
    ll_compare_row *rows;            /* [count] */
    ll_evaluation *evaluations;      /* [count] */
    lli_comparison_gap *differences; /* [count] */
    double risk, level;
    lli_choosing from;
    int64_t choosing;                 /* rows */
    ll_recommendation recommendation; /* row -1: there is none */
};

/* Room for `most` rows in a comparison of zeros. */
ll_status lli_comparison_init(ll_comparison *c, ll_context *ctx, int64_t most, const ll_compare_options *options) LL_CHECK_RESULT;

/* Outcomes of one row, all checked. */
typedef struct lli_comparison_points {
    const ll_outcome *reports; /* what its numbers are made of */
    const ll_outcome *out;     /* out-of-distribution, or NULL */
    const ll_outcome *cuts;    /* what its cuts are found on */
    const ll_outcome *point;   /* row 0 on the reporting rows, to subtract; NULL: this is row 0, or row 0 diverged */
} lli_comparison_points;

/* A new row that begins as `row`; its number. */
int64_t lli_comparison_add(ll_comparison *c, const ll_compare_row *row);
ll_status lli_comparison_measure(ll_comparison *c, ll_context *ctx, int64_t row, const lli_comparison_points *points,
                                 uint64_t seed) LL_CHECK_RESULT;
/* The tests of all rows together, and the recommendation; `risk` as lli_recommend takes it. */
ll_status lli_comparison_finish(ll_comparison *c, ll_context *ctx, const lli_candidate *candidates, int64_t count, double risk,
                                uint64_t seed) LL_CHECK_RESULT;

#endif
