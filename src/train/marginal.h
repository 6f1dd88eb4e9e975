/* SPDX-License-Identifier: MIT */
/* The prior precision under which the labels of a head are likeliest, with the Gaussian of its curvature: the fixed point of tau = g /
 * |theta|^2, g = sum b_i a_j / (b_i a_j + tau), theta without its mean over classes. docs/math/laplace.md */
#ifndef LLI_TRAIN_MARGINAL_H
#define LLI_TRAIN_MARGINAL_H

#include "model/head.h"
#include "train/curvature.h"

#define LLI_MARGINAL_LOW 1e-8 /* tau is sought from here .. */
#define LLI_MARGINAL_HIGH 1e8 /* .. to here */

typedef struct lli_marginal {
    double tau, determined; /* g: how many parameters the rows determine */
    int solves;             /* of theta*; 0: it was kept */
    bool settled;
} lli_marginal;

/* At one theta*, which stays. */
lli_marginal lli_marginal_at(const lli_curvature *c, const lli_curvature_head *head);
/* With theta* = the MAP of each tau in turn: head is the MAP at `tau`, and then the one at out->tau, where *c is its curvature. `diagonal`
 * as in lli_curvature_init. */
ll_status lli_marginal_solve(ll_context *ctx, lli_marginal *out, lli_curvature *c, ll_head *head, const ll_dataset *data, double tau,
                             bool diagonal) LL_CHECK_RESULT;

#endif
