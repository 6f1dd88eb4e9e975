/* SPDX-License-Identifier: MIT */
/* Where every method starts: theta*, given, solved for or trained. */
#ifndef LLI_PIPELINE_FIT_H
#define LLI_PIPELINE_FIT_H

#include "data/augment.h"
#include "data/dataset.h"
#include "methods/method.h"
#include "model/head.h"

typedef struct lli_start {
    lli_origin origin;
    lli_model head_model;
    ll_head *solved;      /* of one layer that was not given */
    lli_network *deep;    /* of several layers on features */
    lli_recipe recipe;
    lli_augment augment;  /* of the rows of a network */
    ll_meta about[1];
    float *theta;         /* [model->floats] */
    char hash[LLI_HASH_TEXT];
} lli_start;

/* theta* is the head or the network where one is given (not both); else what options->layers and options->init ask for. A start is not to
 * be copied: its origin points into it. */
ll_status lli_start_init(ll_context *ctx, lli_start *start, const ll_dataset *data, const ll_head *head, const ll_network *network,
                         const ll_fit_options *options) LL_CHECK_RESULT;
void lli_start_release(lli_start *start);

#endif
