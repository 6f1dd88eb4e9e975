/* SPDX-License-Identifier: MIT */
/* What each member says about the rows that are hardest to decide: the numbers by which chains are diagnosed. */
#ifndef LLI_PREDICT_MEMBER_DRAWS_H
#define LLI_PREDICT_MEMBER_DRAWS_H

#include "data/dataset.h"
#include "ensemble/ensemble.h"

typedef struct lli_member_draws {
    int64_t R, S, among; /* rows chosen, members, rows they were chosen among */
    int64_t *row;        /* [R] in the data, the smallest margin first */
    double *p;           /* [R,S] probability that each member gives to the label of all of them together */
} lli_member_draws;

/* The `most` rows of smallest margin among `candidates` drawn by seed. For members that are stored. */
ll_status lli_member_draws_init(lli_member_draws *out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                                int64_t candidates, int64_t most) LL_CHECK_RESULT;
void lli_member_draws_release(lli_member_draws *draws);

#endif
