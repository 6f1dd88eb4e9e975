/* SPDX-License-Identifier: MIT */
/* Where every method starts: theta*, as a model and as its parameters. */
#ifndef LLI_PIPELINE_FIT_H
#define LLI_PIPELINE_FIT_H

#include "data/dataset.h"
#include "ensemble/ensemble.h"
#include "model/head.h"

typedef struct lli_start {
    const ll_head *head; /* given or solved */
    ll_head *solved;
    lli_model model;
    float *theta;        /* [model.floats] */
} lli_start;

ll_status lli_start_init(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_head *head, double prior_precision) LL_CHECK_RESULT;
void lli_start_release(lli_start *start);
ll_status lli_start_plan(ll_context *ctx, lli_ensemble_plan *plan, const lli_start *start, const ll_fit_options *options, const ll_dataset *data) LL_CHECK_RESULT;

#endif
