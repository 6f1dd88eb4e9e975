/* SPDX-License-Identifier: MIT */
/* theta*, where every method starts: given, solved for or trained. */
#ifndef LLI_PIPELINE_FOUND_THETA_H
#define LLI_PIPELINE_FOUND_THETA_H

#include "base/team.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "methods/method.h"
#include "model/head.h"
#include "train/curvature.h"

typedef struct lli_found_theta {
    lli_theta_star star;
    lli_model head_model;
    const ll_head *head; /* of one layer: given, or `solved` */
    ll_head *solved;     /* that was not given */
    lli_network *deep;   /* of several layers on features */
    lli_recipe recipe;
    lli_augment augment; /* of the rows of a network */
    ll_meta about[1];
    float *theta;                 /* [model->floats]; NULL until lli_found_theta_pack where ranks may divide the classes */
    lli_curvature curvature;      /* of a head whose prior precision was chosen */
    double prior, prior_gaussian; /* precision: of theta*, and of the Gaussian around it, which differ where validation chose */
    char hash[LLI_HASH_TEXT];
} lli_found_theta;

/* theta* is the head or the network where one is given (not both); else what options->layers and options->init ask for. Where
 * options->prior_precision is a choice, it becomes the number chosen. It is not to be copied: `star` points into it. */
ll_status lli_found_theta_init(ll_context *ctx, lli_found_theta *found, const ll_dataset *data, const ll_head *head,
                               const ll_network *network, ll_fit_options *options) LL_CHECK_RESULT;
/* A head as its model has it: whole, or on the ranks of a team each its own classes, of which all but the first of all ranks then forget
 * the rest. */
ll_status lli_found_theta_pack(ll_context *ctx, lli_found_theta *found, lli_team *team) LL_CHECK_RESULT;
double lli_found_theta_prior(const lli_found_theta *found, const char *method); /* the one that the method reads */
void lli_found_theta_release(lli_found_theta *found);

#endif
