/* SPDX-License-Identifier: MIT */
/* Statistics of the training rows for scores, in f64, with the same bits for any number of threads. docs/math/ood.md */
#ifndef LLI_SCORES_SCORES_FIT_H
#define LLI_SCORES_SCORES_FIT_H

#include "data/dataset.h"
#include "kernels/kernels.h"
#include "scores/scores.h"

/* s->which is the set that is wanted; what these rows cannot give is taken out of it, with a warning. theta*: W [K,D], b [K]. All rows
 * count the same. */
ll_status lli_scores_fit(ll_context *ctx, lli_scores *s, const ll_dataset *data, const float *W, const float *b, int64_t K,
                         uint64_t seed) LL_CHECK_RESULT;

/* ---- between its files ---- */

enum { LLI_SCORES_FIT_ROWS = 64 }; /* of a block, at most */

/* Rows as they come: in memory, or in files, brought to the worker's scratch. */
typedef struct lli_scores_rows {
    const lli_kernels *kernels;
    const ll_dataset *data;
    int64_t N, D;
    char *scratch; /* [workers,bytes] */
    int64_t bytes;
} lli_scores_rows;

ll_status lli_scores_fit_block(lli_rows *out, ll_context *ctx, const lli_scores_rows *r, int64_t first, int64_t count,
                               int worker) LL_CHECK_RESULT;
/* [count,D] as f64; `unit`: of length 1. */
ll_status lli_scores_fit_read(ll_context *ctx, double *out, const lli_scores_rows *r, int64_t first, int64_t count, bool unit,
                              int worker) LL_CHECK_RESULT;

ll_status lli_scores_fit_bank(ll_context *ctx, lli_scores *s, const lli_scores_rows *r, uint64_t seed) LL_CHECK_RESULT;
ll_status lli_scores_fit_vim(ll_context *ctx, lli_scores *s, const lli_scores_rows *r) LL_CHECK_RESULT;

/* Takes scores out, and says why. */
void lli_scores_fit_drop(ll_context *ctx, lli_scores *s, unsigned which, const char *why);

#endif
