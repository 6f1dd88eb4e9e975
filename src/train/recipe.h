/* SPDX-License-Identifier: MIT */
/* How a network is trained: ll_train_options with their defaults by network (paper section 5), and what the training loop makes of them. */
#ifndef LLI_TRAIN_RECIPE_H
#define LLI_TRAIN_RECIPE_H

#include "train/chain.h"

typedef struct lli_recipe {
    ll_train_options options; /* checked, lr and warm_up filled in */
    lli_optimiser optimiser;
    lli_chain_options chain; /* its optimiser points at the one above: a recipe is not to be copied */
    int64_t steps;           /* of one epoch */
} lli_recipe;

/* For N training rows. LL_ERR_USAGE where an option is out of its range. */
ll_status lli_recipe_init(ll_context *ctx, lli_recipe *recipe, const ll_train_options *options, int64_t N) LL_CHECK_RESULT;

/* Does this option of a checked recipe change anything? Files record those that do. step, the schedule of all older files, is not named. */
bool lli_recipe_uses(const ll_train_options *options, const char *name);

#endif
