/* SPDX-License-Identifier: MIT */
/* Where a method puts its members. In memory for the library, in a file that survives a kill for the command. */
#ifndef LLI_ENSEMBLE_STORE_H
#define LLI_ENSEMBLE_STORE_H

#include "ensemble/ensemble.h"

typedef struct lli_store lli_store;

/* A chain between two samples: enough to continue to the same bits. */
typedef struct lli_checkpoint {
    int64_t step;
    double first_nll, epoch_nll;
} lli_checkpoint;

/* A store that keeps nothing over an interruption has only `save`. */
typedef struct lli_store_ops {
    /* Keeps member i. Workers call it at once for different members. */
    ll_status (*save)(lli_store *store, ll_context *ctx, int64_t member, const float *const *tensors /* of the model */);
    /* Was member i kept by an earlier, interrupted run? */
    bool (*has)(lli_store *store, int64_t member);
    /* Keeps the state of this task's chain; may skip it when the last one is young. theta [floats]. Workers call it at once for different
     * tasks. */
    ll_status (*checkpoint)(lli_store *store, ll_context *ctx, int64_t task, const lli_checkpoint *state, const float *theta,
                            int64_t floats);
    /* The last one kept for this task, if any: *found. */
    ll_status (*restore)(lli_store *store, ll_context *ctx, int64_t task, lli_checkpoint *state, float *theta, int64_t floats, bool *found);
} lli_store_ops;

struct lli_store {
    const lli_store_ops *ops;
};

static inline bool lli_store_has(lli_store *store, int64_t member) {
    return store->ops->has && store->ops->has(store, member);
}

/* Straight into an ensemble in memory; nothing survives, nothing to restore. */
typedef struct lli_store_memory {
    lli_store store;
    ll_ensemble *ensemble;
    bool *saved; /* [stored], the caller's: which members were saved; NULL = not wanted */
} lli_store_memory;

void lli_store_memory_init(lli_store_memory *store, ll_ensemble *ensemble);

#endif
