/* SPDX-License-Identifier: MIT */
/* Where a method puts its members. In memory for the library, in a file that survives a kill for the command. */
#ifndef LLI_ENSEMBLE_STORE_H
#define LLI_ENSEMBLE_STORE_H

#include "base/hash.h"
#include "ensemble/ensemble.h"
#include "ensemble/fingerprint.h"

typedef struct lli_store lli_store;

/* A chain between two samples: enough to continue to the same bits. */
typedef struct lli_checkpoint {
    int64_t step;
    double first_nll, epoch_nll;
} lli_checkpoint;

/* Which floats of a state [copies,whole] are here: [copies,count], those of each copy from `first` on. */
typedef struct lli_window {
    int64_t copies, whole, first, count;
} lli_window;

/* A member or a checkpoint that is written piece by piece, each behind the last one: a member's tensors, or the floats of a state. A piece
 * has a multiple of 16 floats, but for the last one of a tensor. */
typedef struct lli_pieces {
    int64_t index; /* of the member, or of the task */
    bool checkpoint;
    lli_checkpoint state; /* of a checkpoint */
    /* the store's: */
    int tensor;
    int64_t done;
    uint64_t sequence;
    double begun;
    lli_hash hash;
    lli_fingerprint_work fingerprint;
} lli_pieces;

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
    /* The last one kept for this task, if any: *found; of its floats those of the window. */
    ll_status (*restore)(lli_store *store, ll_context *ctx, int64_t task, lli_checkpoint *state, float *theta, const lli_window *window,
                         bool *found);
    /* `save` and `checkpoint` in pieces. False: the last checkpoint is young, and this one is not written. */
    bool (*begin)(lli_store *store, lli_pieces *pieces);
    ll_status (*add)(lli_store *store, ll_context *ctx, lli_pieces *pieces, const float *floats, int64_t count);
    ll_status (*end)(lli_store *store, ll_context *ctx, lli_pieces *pieces);
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
