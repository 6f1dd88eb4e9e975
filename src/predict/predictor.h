/* SPDX-License-Identifier: MIT */
/* Blocks of rows through an ensemble. */
#ifndef LLI_PREDICT_PREDICTOR_H
#define LLI_PREDICT_PREDICTOR_H

#include "base/meter.h"
#include "base/share.h"
#include "base/rows.h"
#include "data/dataset.h"
#include "ensemble/ensemble.h"
#include "predict/schema.h"

/* Running scores are summed within tiles of this many rows, then tile by tile. */
enum { LLI_PREDICT_TILE = 32 };

struct lli_draws_factors; /* predict/draws.h */
/* ll_predictor_new with the factors of the ensemble's Gaussian, borrowed; NULL: its own, where the ensemble has one. */
ll_status lli_predictor_new(ll_predictor **out, ll_context *ctx, const ll_ensemble *ensemble,
                            const struct lli_draws_factors *factors) LL_CHECK_RESULT;

/* Rows first..first+n-1 of a source that is known to be finite; `row` keys the masks of the first one. With `apart` the running arrays of
 * out are [tiles,S] instead of [S]. */
ll_status lli_predictor_run_rows(ll_prediction *out, ll_predictor *p, const lli_rows *rows, int64_t first, int64_t n, int64_t row,
                                 bool apart) LL_CHECK_RESULT;

/* What a stream hands on, in order: the fields by row of rows first..first+n-1, NULL where they are not there. */
typedef ll_status lli_predict_emit(ll_context *ctx, void *arg, int64_t first, int64_t n, void *const fields[LLI_FIELDS_MAX]);

typedef struct lli_predict_request {
    bool probs;
    bool running; /* with labels: scores of the first s members */
    int64_t row_offset;
    int64_t block;       /* rows per block, rounded up to whole tiles; 0 = lli_predict_block */
    const int64_t *rows; /* [R] rising, whose members are kept; NULL = none */
    int64_t R;
    lli_predict_rule rule;
    lli_meter *meter; /* counts rows; NULL = one of its own */
    lli_share part;   /* of the rows, in whole tiles; `rows` are then those of this part already */
    bool fitted;      /* just now, on good rows: logits beyond single precision are LL_ERR_DIVERGED, not LL_ERR_DATA */
} lli_predict_request;

/* LLI_WHEN_... that hold for these rows. */
unsigned lli_predict_when(const lli_predict_request *request, const ll_ensemble *ensemble, const ll_dataset *data);

/* The rows of the request's part, out of N: from *begin, their number returned. */
int64_t lli_predict_range(int64_t *begin, const lli_predict_request *request, int64_t N);

/* Results over all rows, owned by the caller. */
typedef struct lli_predict_totals {
    double *running;       /* [S,3] accuracy, NLL, Brier; of a part [tiles,S,3] the sums of each tile, which a merge adds in order */
    float *member_pmax;    /* [R,S] */
    int32_t *member_label; /* [R,S] */
} lli_predict_totals;

/* Rows of a block by which an ensemble is predicted fast. */
int64_t lli_predict_block(const ll_ensemble *ensemble);

/* Refuses rows that the ensemble cannot take. */
ll_status lli_predict_check_rows(ll_context *ctx, const ll_ensemble *ensemble, const lli_rows *rows) LL_CHECK_RESULT;

/* All rows in parallel blocks; emit is called in row order. Memory: a few blocks per worker. */
ll_status lli_predict_stream(ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data, const lli_predict_request *request,
                             lli_predict_totals *totals, lli_predict_emit *emit, void *arg) LL_CHECK_RESULT;

#endif
