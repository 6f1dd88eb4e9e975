/* SPDX-License-Identifier: MIT */
/* How well a network answers: NLL and accuracy over rows with known labels, one pass in blocks. */
#ifndef LLI_TRAIN_SCORE_H
#define LLI_TRAIN_SCORE_H

#include "base/context.h"
#include "data/dataset.h"
#include "model/model.h"

typedef struct lli_score lli_score; /* the workspace of such passes */

ll_status lli_score_new(lli_score **out, ll_context *ctx, const lli_model *model) LL_CHECK_RESULT;
void lli_score_free(lli_score *score);
/* Means over the rows. Same bits on any number of threads. Allocates nothing. */
ll_status lli_score_run(double *nll, double *accuracy, ll_context *ctx, lli_score *score, const float *theta,
                        const ll_dataset *data) LL_CHECK_RESULT;

#endif
