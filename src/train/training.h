/* SPDX-License-Identifier: MIT */
/* A network's training, epoch by epoch: a chain with an optimiser, the score on held-out rows after each epoch, the best one kept. */
#ifndef LLI_TRAIN_TRAINING_H
#define LLI_TRAIN_TRAINING_H

#include "train/recipe.h"
#include "train/score.h"

typedef struct lli_training {
    const lli_recipe *recipe;
    const lli_model *model;
    const ll_dataset *holdout; /* NULL: none */
    lli_chain *chain;
    lli_score *score;
    /* With the chain's theta and state, all that an interruption must not lose: */
    struct lli_training_state {
        int64_t done; /* epochs */
        int64_t best; /* epoch whose parameters are kept, from 0 */
    } state;
    ll_epoch *epochs;  /* [recipe->options.epochs] */
    float *best_theta; /* [model->floats] of the best epoch; NULL where the last is wanted */
} lli_training;

/* All the memory of a training. Everything given must outlive it. */
ll_status lli_training_new(lli_training **out, ll_context *ctx, const lli_recipe *recipe, const lli_model *model, const ll_dataset *data,
                           const ll_dataset *holdout) LL_CHECK_RESULT;
void lli_training_free(lli_training *training);
void lli_training_start(lli_training *training, const float *theta /* [floats] */);
ll_status lli_training_epoch(ll_context *ctx, lli_training *training) LL_CHECK_RESULT; /* one more */
const float *lli_training_theta(const lli_training *training);                         /* [floats] of the epoch that the recipe keeps */

#endif
