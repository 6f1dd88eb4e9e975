/* SPDX-License-Identifier: MIT */
/* theta* of several dense layers on features. */
#ifndef LLI_TRAIN_DEEP_HEAD_H
#define LLI_TRAIN_DEEP_HEAD_H

#include "model/network.h"
#include "train/recipe.h"

/* Trains the network by the recipe, from its own random start. theta [floats of its model] receives the parameters. `options` are the
 * recipe's own, perhaps with another shuffle. */
ll_status lli_deep_head_train(ll_context *ctx, float *theta, const lli_network *network, const lli_recipe *recipe,
                              const lli_chain_options *options, const ll_dataset *data) LL_CHECK_RESULT;

#endif
