/* SPDX-License-Identifier: MIT */
/* The rows of a comparison: which data choose and which report, and what an ensemble comes to on them. */
#ifndef LLI_SEARCH_JUDGE_H
#define LLI_SEARCH_JUDGE_H

#include "data/dataset.h"
#include "ensemble/ensemble.h"
#include "metrics/recommend.h"
#include "predict/predictions.h"
#include "report/comparison_text.h"

typedef struct lli_judge {
    ll_comparison *out; /* rows are added to it */
    ll_compare_options options;
    uint64_t seed;
    const ll_dataset *test, *choose; /* rows that choose lie in `choose`, which may be `test` */
    int64_t *halves;                 /* [N test] rows that choose, then rows that report; NULL: not of one set */
    int64_t *chosen;                 /* [choosing] rows of `choose` */
    int64_t choosing;
    ll_predictions *point;         /* of the reporting rows: what the others are compared with; NULL: row 0 diverged */
    ll_predictions **chooses;      /* [most] of the choosing rows, without probs; NULL: diverged */
    lli_candidate *candidates;     /* [most] */
    ll_calibration **calibrations; /* [most] NULL: none */
    int64_t most, candidate_count;
} lli_judge;

/* Room for `most` rows. Says which rows choose. */
ll_status lli_judge_init(lli_judge *j, ll_context *ctx, ll_comparison *out, const ll_dataset *test, const ll_compare_options *options,
                         uint64_t seed, int64_t most) LL_CHECK_RESULT;
void lli_judge_release(lli_judge *j);

/* Adds a row that begins as `row`, and fills it; `calibrated`: with a temperature, which the ensemble has while this runs. A prediction
 * that is not finite makes the row diverged. */
ll_status lli_judge_add(ll_context *ctx, lli_judge *j, const ll_compare_row *row, ll_ensemble *ensemble, bool fitted, int simplicity,
                        bool calibrated) LL_CHECK_RESULT;

/* FOLDER/NAME.npz of a row: what predict writes of the test rows that report, and the recommendation. */
ll_status lli_judge_write(ll_context *ctx, const lli_judge *j, int64_t row, ll_ensemble *ensemble) LL_CHECK_RESULT;

#endif
