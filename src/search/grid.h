/* SPDX-License-Identifier: MIT */
/* Lists of options to trials. Trials that differ in S only are one run, whose first members they take. */
#ifndef LLI_SEARCH_GRID_H
#define LLI_SEARCH_GRID_H

#include "data/dataset.h"
#include "methods/method.h"

typedef struct lli_grid_run {
    char *name;             /* "sgld-lr0.01-B32": also its folder */
    ll_fit_options options; /* resolved; samples = the largest S */
    int64_t *samples;       /* [trials] rising */
    int64_t trials;
} lli_grid_run;

typedef struct lli_grid {
    lli_grid_run *runs;
    int64_t count, capacity;
} lli_grid;

bool lli_grid_lists(const ll_option *option); /* one of ll_fit_options: may a list vary it? */

/* Every run of the options on this training set, `fit` where they list nothing; `network`: theta* is one. Their words stay borrowed. */
ll_status lli_grid_init(lli_grid *grid, ll_context *ctx, const ll_search_options *options, const ll_fit_options *fit,
                        const ll_dataset *train, bool network) LL_CHECK_RESULT;
/* Of the training of theta*, where that is trained by steps: the first of the list that holds for all methods. */
ll_status lli_grid_batch_size(int64_t *out, ll_context *ctx, const ll_search_options *options, const ll_fit_options *fit) LL_CHECK_RESULT;
void lli_grid_release(lli_grid *grid);

/* What a row costs: once through a training step, against once through a member's prediction. */
enum { LLI_TRAIN_COST = 3 };
int64_t lli_grid_run_steps(const lli_grid_run *run, const ll_dataset *train, const lli_theta_star *star); /* of training */
int64_t lli_grid_run_step_cost(const lli_grid_run *run, const ll_dataset *train); /* in predictions of a row by a member */
/* All of it: training, and `rows` rows predicted for each trial. */
int64_t lli_grid_run_cost(const lli_grid_run *run, const ll_dataset *train, const lli_theta_star *star, int64_t rows);

#endif
