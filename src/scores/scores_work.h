/* SPDX-License-Identifier: MIT */
/* Scores of blocks of rows, in f64. An answer does not depend on the block that its row is in. docs/math/ood.md */
#ifndef LLI_SCORES_SCORES_WORK_H
#define LLI_SCORES_SCORES_WORK_H

#include "kernels/kernels.h"
#include "scores/scores.h"

enum { LLI_SCORES_NEIGHBOURS = 50 }; /* k of knn, where the bank has so many rows */

typedef struct lli_scores_work {
    const lli_scores *s;
    const lli_kernels *kernels;
    int64_t rows, D, n; /* of a block at most; features; of this block */
    double *z;          /* [rows,D] the block */
    double *x;          /* [rows,D] moved, or of length 1 */
    double *y;          /* [rows,D] in other coordinates */
    double *tile;       /* [TILE,D] rows of an array of the scores */
    double *dots;       /* [rows,TILE] */
    double *nearest;    /* [rows,k] squared distances, a heap each with the largest first */
    double *value;      /* [3,rows] */
    double *work;
} lli_scores_work;

/* Workspace for blocks of up to `rows` rows; `s` is borrowed. */
ll_status lli_scores_work_init(ll_context *ctx, lli_scores_work *w, const lli_scores *s, int64_t rows, int64_t D) LL_CHECK_RESULT;
void lli_scores_work_release(lli_scores_work *w);

/* out[c - LLI_SCORES_FIRST] [n]: score c of rows first .. first+n-1 of the features [..,D]; NULL: not wanted. Scores that `s` does not
 * have are left alone. */
void lli_scores_work_run(lli_scores_work *w, double *const out[LLI_SCORES_COUNT], const void *features, bool half, int64_t first,
                         int64_t n);

/* Pieces of it, for fitting: takes a block in; by theta* the largest logit [n] and log sum exp(f - that) [n];
 * the length [n] outside. */
void lli_scores_work_take(lli_scores_work *w, const void *features, bool half, int64_t first, int64_t n);
void lli_scores_work_logits(lli_scores_work *w, double *most, double *beyond);
void lli_scores_work_outside(lli_scores_work *w, double *out);

/* `count` features as f64; the same divided by their length, zeros stay zeros. */
void lli_scores_work_read(double *out, const void *features, bool half, int64_t first, int64_t count);
void lli_scores_work_unit(double *out, const double *z, int64_t D, const lli_kernels *kernels);

#endif
