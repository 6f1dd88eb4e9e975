/* SPDX-License-Identifier: MIT */
/* The chains of a run, one per worker: for methods whose members come from steps of training. */
#ifndef LLI_METHODS_CHAINS_H
#define LLI_METHODS_CHAINS_H

#include "methods/method.h"

typedef struct lli_chains {
    lli_chain **chain; /* [workers] */
    float *padded;     /* [N,ld] rows for the steps of all chains, or NULL; data/padded.h */
    lli_around around; /* where the options ask for steps that know the whole problem */
} lli_chains;

enum { LLI_CHAINS_CYCLE = 5 }; /* a cycle is so many times as long as the part of it that gives members, its last */

/* prepare and release of a row. */
ll_status lli_chains_prepare(ll_context *ctx, lli_fit *fit) LL_CHECK_RESULT;
void lli_chains_release(lli_fit *fit);

lli_chain_options lli_chains_options(const lli_fit *fit, int64_t member); /* as the options of the fit have it */

/* Of a task: keeps where its chain is, and goes back there. */
ll_status lli_chains_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) LL_CHECK_RESULT;
ll_status lli_chains_restore(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) LL_CHECK_RESULT;

/* A task that is one member: `epochs` of training from `start`, a checkpoint after each, then the member is saved. */
ll_status lli_chains_train(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain_options *options, const float *start,
                           int64_t epochs, int worker) LL_CHECK_RESULT;

/* A task that is a chain: from theta*, after the burn-in, or in the last part of each cycle, a sample every `thin` steps. Chain c of C has
 * members c S/C to (c + 1) S/C - 1. */
ll_status lli_chains_sample(ll_context *ctx, lli_fit *fit, const lli_chain_options *options, int64_t task, int worker) LL_CHECK_RESULT;
int64_t lli_chains_sample_step(const lli_fit *fit, int64_t member); /* of its chain, after which it is taken */
int64_t lli_chains_sample_steps(const lli_fit *fit);                /* of all chains */

#endif
