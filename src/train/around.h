/* SPDX-License-Identifier: MIT */
/* Steps of a sampler that knows the whole problem at theta*: batches as differences to theta* (control variates), and steps that are as
 * long in each direction as the posterior is wide (preconditioning by KFAC). Of heads. docs/math/samplers.md */
#ifndef LLI_TRAIN_AROUND_H
#define LLI_TRAIN_AROUND_H

#include "train/curvature.h"
#include "train/optimiser.h"

/* What all chains of a fit share. */
typedef struct lli_around {
    const lli_model *model;
    double N;
    float *theta;            /* [floats] theta*; NULL: plain batches */
    float *gradient;         /* [floats] of the mean of -w log p over all rows at theta* */
    lli_curvature curvature; /* of the metric */
    double *root;            /* [K,D+1] 1 / sqrt(b_i a_j + tau); NULL: no metric */
} lli_around;

/* One or two passes over the rows. */
ll_status lli_around_init(ll_context *ctx, lli_around *around, const ll_dataset *data, const lli_model *model, const float *theta,
                          double prior_precision, bool control, bool metric) LL_CHECK_RESULT;
void lli_around_release(lli_around *around);

/* Of one chain, for batches of up to B: all that its steps need. */
typedef struct lli_around_scratch {
    const lli_around *around;
    float *work;          /* descend_floats */
    float *gradient;      /* [floats] */
    float *other;         /* [floats] that at theta*; later the step */
    float *tensors;       /* W, b */
    double *g, *y, *wide; /* [K,D+1], of the metric */
    double *product;      /* [LLI_LINEAR_WORK] */
} lli_around_scratch;

ll_status lli_around_scratch_init(ll_context *ctx, lli_around_scratch *scratch, const lli_around *around, int64_t B) LL_CHECK_RESULT;
void lli_around_scratch_release(lli_around_scratch *scratch);

/* As lli_optimiser_step. With a metric the rule is that of Langevin in its coordinates: with g the gradient of the mean objective,
 * theta <- theta - lr N U'(R o (U g V')) V + U'(sqrt(2 lr R) o xi) V, R = root^2. */
ll_status lli_around_step(double *nll, ll_context *ctx, lli_around_scratch *scratch, const lli_optimiser *optimiser, float *theta,
                          float *slots, const lli_rows *rows, const lli_step *step) LL_CHECK_RESULT;

#endif
