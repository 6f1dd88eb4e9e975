/* SPDX-License-Identifier: MIT */
/* Blocks of rows through a head: the rows, and their probabilities in f64. */
#ifndef LLI_TRAIN_HEAD_PASS_H
#define LLI_TRAIN_HEAD_PASS_H

#include "data/dataset.h"
#include "kernels/kernels.h"
#include "train/curvature.h"

enum { LLI_HEAD_PASS_ROWS = 64 }; /* of a block, at most */

typedef struct lli_head_pass {
    const lli_kernels *kernels;
    const ll_dataset *data;
    int64_t K, D, ld, ldk;
    float *theta;  /* [K,ld] */
    float *z;      /* [workers,LLI_HEAD_PASS_ROWS,ld] */
    float *logits; /* [workers,LLI_HEAD_PASS_ROWS,ldk] */
    double *p;     /* [workers,K] */
    char *scratch; /* [workers,block_bytes] of rows in files */
    int64_t block_bytes;
} lli_head_pass;

ll_status lli_head_pass_init(ll_context *ctx, lli_head_pass *pass, const ll_dataset *data, const lli_curvature_head *head) LL_CHECK_RESULT;
void lli_head_pass_release(lli_head_pass *pass);
/* *z = rows first .. first+count-1 as (z,1) [count,ld], the worker's; with `logits` those too. */
ll_status lli_head_pass_rows(const float **z, ll_context *ctx, lli_head_pass *pass, int64_t first, int64_t count, int worker,
                             bool logits) LL_CHECK_RESULT;
/* p [K] of row i of that block, the worker's; *top is the class of the largest, and *tail the sum of the others. */
const double *lli_head_pass_softmax(lli_head_pass *pass, int64_t i, int worker, int64_t *top, double *tail);
double lli_head_pass_weight(const lli_head_pass *pass, int64_t row);

#endif
