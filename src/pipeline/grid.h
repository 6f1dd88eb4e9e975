/* SPDX-License-Identifier: MIT */
/* Lists of options to trials. Trials that differ in S only are one run, whose first members they take. */
#ifndef LLI_PIPELINE_GRID_H
#define LLI_PIPELINE_GRID_H

#include "data/dataset.h"
#include "methods/method.h"

typedef struct lli_run {
    char *name;             /* "sgld-lr0.01-B32": also its folder */
    ll_fit_options options; /* resolved; samples = the largest S */
    int64_t *samples;       /* [trials] rising */
    int64_t trials;
} lli_run;

typedef struct lli_grid {
    lli_run *runs;
    int64_t count, capacity;
} lli_grid;

/* Every run of the options on this training set; `network`: theta* is one. Words of the options stay borrowed. */
ll_status lli_grid_init(lli_grid *grid, ll_context *ctx, const ll_search_options *options, const ll_dataset *train,
                        bool network) LL_CHECK_RESULT;
/* Of the training of theta*, where that is trained by steps: the first of the list that holds for all methods. */
ll_status lli_grid_batch_size(int64_t *out, ll_context *ctx, const ll_search_options *options) LL_CHECK_RESULT;
void lli_grid_release(lli_grid *grid);

/* What a row costs: once through a training step, against once through a member's prediction. */
enum { LLI_TRAIN_COST = 3 };
int64_t lli_run_steps(const lli_run *run, const ll_dataset *train, const lli_origin *origin); /* of training */
int64_t lli_run_step_cost(const lli_run *run, const ll_dataset *train); /* in predictions of a row by a member */
/* All of it: training, and `rows` rows predicted for each trial. */
int64_t lli_run_cost(const lli_run *run, const ll_dataset *train, const lli_origin *origin, int64_t rows);

#endif
