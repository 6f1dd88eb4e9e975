/* SPDX-License-Identifier: MIT */
/* What the members say about one row, and the confidences made of it. docs/math/confidence.md */
#ifndef LLI_PREDICT_VERDICT_H
#define LLI_PREDICT_VERDICT_H

#include "base/status.h"

typedef struct lli_verdict {
    int64_t members;
    int64_t label;                    /* argmax of p_hat */
    int64_t vote;                     /* argmax of the votes */
    double most, second;              /* p_hat of the label, and the largest of the other classes */
    double tail;                      /* 1 - p_hat of the label, without cancellation */
    double margin;                    /* most - second; exactly 0 where rounding alone sets them apart */
    bool saturated;                   /* the logarithms that follow say more than tail, second and margin do */
    double log_tail, log_margin_tail; /* log of the tail, and of 1 - margin */
    double spread, range;             /* standard deviation and range over members of p of the label */
    double mixed;                     /* H(p_hat) */
    double information;               /* H(p_hat) - mean of H(p_i) */
    double vote_entropy;              /* H(q_hat) */
} lli_verdict;

/* -q ln q of a share of the votes, in multiples of LLI_VERDICT_UNIT. Integers add up to the same in any order: rows whose votes have the
 * same counts, on whatever classes, have the same entropy to the last bit, and tie. */
#define LLI_VERDICT_UNIT 0x1p-54
int64_t lli_verdict_vote_piece(double share);

/* Fills row `at` of the arrays of `out` that are not NULL; probs and the members' own are not part of a verdict. */
void lli_verdict_write(ll_prediction *out, int64_t at, const lli_verdict *v);

#endif
