/* SPDX-License-Identifier: MIT */
/* Hamiltonian Monte Carlo on the log posterior of a head: trajectories of leapfrogs over all rows, in coordinates y in which the Gaussian
 * of the curvature at the MAP is white, theta = MAP + U' (y o sqrt(R)) V. docs/math/hmc.md */
#ifndef LLI_TRAIN_HAMILTON_H
#define LLI_TRAIN_HAMILTON_H

#include "train/curvature.h"
#include "train/solve.h"

enum { LLI_HAMILTON_WARMUP = 200 }; /* draws that choose the step, and are dropped */

/* What the chains of a run share. */
typedef struct lli_hamilton_space {
    const ll_dataset *data;
    double tau;
    lli_curvature curvature;
    double *root; /* [K,n] sqrt(R) */
    double *map;  /* [K,n] where y = 0 */
} lli_hamilton_space;

/* Every row of the data has a positive weight, and tau is positive. */
ll_status lli_hamilton_space_init(ll_context *ctx, lli_hamilton_space *space, const ll_dataset *data, const lli_curvature_head *map,
                                  double tau) LL_CHECK_RESULT;
void lli_hamilton_space_release(lli_hamilton_space *space);

/* Where a chain is, besides y: numbers, so that a checkpoint can keep them. */
typedef struct lli_hamilton_state {
    double draws;              /* made so far, those of the warm-up included */
    double log_step, log_mean; /* of the warm-up: the step of the next draw, and the mean of steps, which is used afterwards */
    double drift;              /* of the warm-up: mean of target - acceptance */
    double accepted;           /* after the warm-up: sum over draws of the probability to accept */
    double passes;             /* over all rows */
} lli_hamilton_state;

typedef struct lli_hamilton {
    const lli_hamilton_space *space;
    lli_objective *objective;
    uint64_t seed;
    int64_t number;            /* of the chain, which keys its random numbers */
    lli_hamilton_state *state; /* the first of `kept` */
    double *kept;              /* [lli_hamilton_kept] the state, then y [K,n]: all that a chain goes on from */
    double *y, energy;         /* y is the rest of `kept`; N U at y */
    double *g;                 /* [K,n] gradient of the energy in y */
    double *y_old, *g_old;     /* [K,n] where the trajectory began */
    double *p, *theta;         /* [K,n] momentum, parameters */
    double *wide, *wide_g;     /* [K,ld] parameters and gradient of the objective */
    double *spare, *work;      /* [K,n], [LLI_LINEAR_WORK] */
    float *normals;            /* [K n] */
} lli_hamilton;

int64_t lli_hamilton_kept(int64_t K, int64_t D); /* doubles */
/* All the memory a chain will ever use. */
ll_status lli_hamilton_new(lli_hamilton **out, ll_context *ctx, const lli_hamilton_space *space) LL_CHECK_RESULT;
void lli_hamilton_free(lli_hamilton *chain);
/* At the MAP, before the warm-up; or, after `kept` was filled, where that says. */
void lli_hamilton_start(lli_hamilton *chain, uint64_t seed, int64_t number);
ll_status lli_hamilton_arrive(ll_context *ctx, lli_hamilton *chain) LL_CHECK_RESULT;
/* One trajectory, accepted or not; chain->theta is then the draw. */
ll_status lli_hamilton_draw(ll_context *ctx, lli_hamilton *chain) LL_CHECK_RESULT;
double lli_hamilton_step(const lli_hamilton_state *state);       /* of the next draw */
double lli_hamilton_acceptance(const lli_hamilton_state *state); /* mean after the warm-up */

#endif
