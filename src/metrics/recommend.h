/* SPDX-License-Identifier: MIT */
/* Which of several methods to take: the simplest of those that the rows cannot distinguish from the best. docs/math/selection.md */
#ifndef LLI_METRICS_RECOMMEND_H
#define LLI_METRICS_RECOMMEND_H

#include "base/context.h"

typedef struct lli_candidate {
    const ll_outcome *points; /* the same rows for all, checked, with truth and sr */
    int64_t row;              /* its number in the table */
    int simplicity;           /* more comes first, */
    bool calibrated;          /* then what has no temperature, then the order of the list */
} lli_candidate;

/* The criterion is the coverage at `risk` by sr, where risk is not NaN and some candidate reaches it, else AURC(sr). Recommended is the
 * first, in the order of simplicity, whose paired interval to the best covers 0, or does not exist. count >= 1. */
ll_status lli_recommend(ll_recommendation *out, ll_context *ctx, const lli_candidate *candidates, int64_t count, double risk, double level,
                        uint64_t seed) LL_CHECK_RESULT;

#endif
