/* SPDX-License-Identifier: MIT */
/* theta*, where every method starts: given, solved for or trained. */
#ifndef LLI_PIPELINE_FOUND_THETA_H
#define LLI_PIPELINE_FOUND_THETA_H

#include "data/augment.h"
#include "data/dataset.h"
#include "methods/method.h"
#include "model/head.h"

typedef struct lli_found_theta {
    lli_theta_star star;
    lli_model head_model;
    ll_head *solved;   /* of one layer that was not given */
    lli_network *deep; /* of several layers on features */
    lli_recipe recipe;
    lli_augment augment; /* of the rows of a network */
    ll_meta about[1];
    float *theta; /* [model->floats] */
    char hash[LLI_HASH_TEXT];
} lli_found_theta;

/* theta* is the head or the network where one is given (not both); else what options->layers and options->init ask for. It is not to
 * be copied: `star` points into it. */
ll_status lli_found_theta_init(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_head *head,
                               const ll_network *network, const ll_fit_options *options) LL_CHECK_RESULT;
void lli_found_theta_release(lli_found_theta *found);

#endif
