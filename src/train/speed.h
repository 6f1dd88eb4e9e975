/* SPDX-License-Identifier: MIT */
/* How long work will take: a few steps of it are timed. Never decides a number. */
#ifndef LLI_TRAIN_SPEED_H
#define LLI_TRAIN_SPEED_H

#include "data/dataset.h"
#include "model/model.h"

/* Seconds per row of training, on all workers where the model uses them, else on one. */
ll_status lli_speed_model(double *seconds, ll_context *ctx, const lli_model *model, const float *theta, const ll_dataset *data,
                          int64_t batch_size) LL_CHECK_RESULT;
/* The same of a head of this shape, on rows made up. */
ll_status lli_speed_head(double *seconds, ll_context *ctx, int64_t D, int64_t K, int64_t batch_size) LL_CHECK_RESULT;

#endif
