/* SPDX-License-Identifier: MIT */
/* The one training loop: a trajectory of steps over shuffled batches. A step is the model's own (sgd, sgld) or that of an optimiser on the
 * model's gradient. Its whole state is theta, the optimiser's moments and a few numbers, so it can stop anywhere and go on to the same
 * bits. docs/math/sgld.md, docs/math/optimisers.md */
#ifndef LLI_TRAIN_CHAIN_H
#define LLI_TRAIN_CHAIN_H

#include "base/meter.h"
#include "data/dataset.h"
#include "model/model.h"
#include "train/optimiser.h"

typedef struct lli_chain_options {
    const lli_optimiser *optimiser; /* that lli_chain_add_optimiser made room for; NULL = the model's own steps */
    double lr, lr_t0, lr_power;
    double lr_factor;   /* lr is multiplied by it every lr_every steps */
    int64_t lr_every;   /* 0 = never */
    int64_t batch_size;
    double prior_precision;
    bool noise;      /* sgld */
    uint32_t drop16; /* 0 = no dropout but the network's own */
    bool drop_own;   /* drop16 acts at the network's own dropout layers */
    uint64_t seed;
    int64_t member;
    int64_t block_rows; /* of a block shuffle; 0 = full shuffle, or independent batches */
    bool independent;   /* each batch is drawn with replacement, and none is short */
    bool resampled;  /* bootstrap: visit this member's resample instead of the rows */
} lli_chain_options;

/* What a checkpoint holds besides theta and the moments. */
typedef struct lli_chain_state {
    int64_t step;
    double first_nll; /* mean training NLL of the first epoch; NaN before its end */
    double epoch_nll; /* sum over the epoch under way */
} lli_chain_state;

typedef struct lli_chain {
    const lli_model *model;
    const ll_dataset *data;
    lli_rows rows;    /* of data, padded if its owner likes */
    lli_meter *meter; /* counts steps */
    lli_chain_options options;
    lli_chain_state state;
    float *theta;     /* [1 + slots, model->floats]: the moments of an optimiser follow the parameters */
    int slots;        /* moments per parameter */
    float *work;
    int64_t *order;   /* [ceil(N/B) B] the rows of an epoch's batches: N, or all of them where batches are independent */
    int64_t *list;    /* [N] the resample, NULL where there is none */
    int64_t *blocks;  /* [ceil(N/block_rows)] order of the blocks, NULL without blocks */
    int32_t *labels;  /* [B] */
    int64_t epoch;    /* that `order` is for; -1 = none */
    double last_nll;  /* mean training NLL of the last whole epoch */
} lli_chain;

/* All the memory a chain will ever use; one per worker, started again for each member. */
ll_status lli_chain_new(lli_chain **out, ll_context *ctx, const lli_model *model, const ll_dataset *data, int64_t batch_size,
                        int64_t block_rows, bool resampled) LL_CHECK_RESULT;
/* Room for the steps of an optimiser; before the start. */
ll_status lli_chain_add_optimiser(ll_context *ctx, lli_chain *chain, const lli_rule *rule) LL_CHECK_RESULT;
int64_t lli_chain_floats(const lli_chain *chain); /* of theta and the moments behind it: what a checkpoint keeps */
void lli_chain_free(lli_chain *chain);
void lli_chain_start(lli_chain *chain, const lli_chain_options *options, const float *theta); /* at step 0 */
/* Goes on to step `until`. LL_ERR_DIVERGED names the step and lr. Allocates nothing. */
ll_status lli_chain_run(ll_context *ctx, lli_chain *chain, int64_t until) LL_CHECK_RESULT;

int64_t lli_chain_epoch_steps(int64_t N, int64_t batch_size);                  /* ceil(N/B) */
double lli_chain_lr(const lli_chain_options *options, int64_t step);           /* lr factor^(k/every) (1 + k/t0)^-power */

#endif
