/* SPDX-License-Identifier: MIT */
/* The one training loop: a trajectory of steps over shuffled batches, each by a rule on the model's gradient. Its whole state is theta,
 * the slots of the rule and a few numbers, so it can stop anywhere and continue to the same bits. docs/math/sgld.md,
 * docs/math/optimisers.md */
#ifndef LLI_TRAIN_CHAIN_H
#define LLI_TRAIN_CHAIN_H

#include "base/meter.h"
#include "data/dataset.h"
#include "model/model.h"
#include "train/around.h"
#include "train/optimiser.h"
#include "train/schedule.h"

typedef struct lli_chain_options {
    const lli_optimiser *optimiser; /* with the rule of the chain */
    double lr, lr_t0, lr_power;
    lli_schedule schedule; /* lr is multiplied by it */
    int64_t batch_size;
    double prior_precision;
    uint32_t drop16; /* 0 = no dropout but the network's own */
    bool drop_own;   /* drop16 acts at the network's own dropout layers */
    uint64_t seed;
    int64_t member;
    int64_t block_rows; /* of a block shuffle; 0 = full shuffle, or independent batches */
    bool independent;   /* each batch is drawn with replacement, and none is short */
    bool resampled;     /* bootstrap: visit this member's resample instead of the rows */
} lli_chain_options;

/* What a checkpoint holds besides theta and the slots. */
typedef struct lli_chain_state {
    int64_t step;
    double first_nll; /* mean training NLL of the first epoch, weighted; NaN before its end */
    double epoch_nll; /* weighted sum over the epoch under way */
} lli_chain_state;

typedef struct lli_chain {
    const lli_model *model;
    const ll_dataset *data;
    lli_rows rows;    /* of data, padded if its owner likes */
    lli_meter *meter; /* counts steps */
    lli_chain_options options;
    lli_chain_state state;
    float *theta; /* [1 + slots, model->floats]: the slots of the rule follow the parameters */
    int slots;
    float *work;
    int64_t *order;  /* [ceil(N/B) B] the rows of an epoch's batches: N, or all of them where batches are independent */
    int64_t *list;   /* [N] the resample, NULL where there is none */
    int64_t *blocks; /* [ceil(N/block_rows)] order of the blocks, NULL without blocks */
    int32_t *labels; /* [B] */
    float *weights;  /* [B], NULL where the data have none */
    void *fetched;   /* [B,D] the rows of a batch as they are stored, and their places 0 .. B-1, where a store has them; else NULL */
    int64_t *places;
    int64_t epoch;              /* that `order` is for; -1 = none */
    double last_nll;            /* mean training NLL of the last whole epoch, weighted */
    lli_around_scratch scratch; /* where steps know the whole problem */
} lli_chain;

/* All the memory a chain will ever use; one per worker, started again for each member. */
ll_status lli_chain_new(lli_chain **out, ll_context *ctx, const lli_model *model, const ll_dataset *data, const lli_rule *rule,
                        int64_t batch_size, int64_t block_rows, bool resampled) LL_CHECK_RESULT;
/* From now on steps are those of `around`. */
ll_status lli_chain_surround(ll_context *ctx, lli_chain *chain, const lli_around *around, int64_t batch_size) LL_CHECK_RESULT;
int64_t lli_chain_floats(const lli_chain *chain); /* of theta and the slots after it: what a checkpoint keeps */
void lli_chain_free(lli_chain *chain);
void lli_chain_start(lli_chain *chain, const lli_chain_options *options, const float *theta); /* at step 0 */
/* Goes on to step `until`. LL_ERR_DIVERGED names the step and lr. Allocates nothing. */
ll_status lli_chain_run(ll_context *ctx, lli_chain *chain, int64_t until) LL_CHECK_RESULT;

int64_t lli_chain_epoch_steps(int64_t N, int64_t batch_size);        /* ceil(N/B) */
double lli_chain_lr(const lli_chain_options *options, int64_t step); /* lr schedule(k) (1 + k/t0)^-power */

#endif
