/* SPDX-License-Identifier: MIT */
/* The folder of a search:
 *
 *     store.json       what all its trials have in common: version, data, head, seed; another search is refused
 *     runs.jsonl       one line per finished trial; locked while a search runs
 *     RUN/S100.json    the evaluations of a trial in full
 *     best/            predictions of each method's best trial so far, PROTOCOL-METHOD.npz
 *     work/            members of a network's run while it is under way
 *     choice.json      what the last search chose, on which rows and by which rule
 *
 * A trial exists once its line does; everything else of it is written before. */
#ifndef LLI_STORE_TRIAL_STORE_H
#define LLI_STORE_TRIAL_STORE_H

#include "base/lock.h"
#include "ensemble/ensemble.h"
#include "metrics/selection.h"
#include "store/results.h"
#include "predict/predictions.h"

enum { LLI_PROTOCOLS = 2 };

typedef struct lli_trial_store {
    const char *folder;
    struct lli_journal *journal;
    ll_results *results;
    lli_selection selection[LLI_PROTOCOLS]; /* honest, paper */
    lli_lock *lock;
} lli_trial_store;

/* What a protocol reports of a finished trial. */
typedef struct lli_trial_points {
    const ll_predictions *points, *out_points; /* out_points may be NULL */
} lli_trial_points;

/* Makes or opens the folder and locks it. `identity` is compared with, or becomes, store.json. `work`: runs are fitted into files. */
ll_status lli_trial_store_open(lli_trial_store *store, ll_context *ctx, const char *folder, const lli_provenance *identity, const char *by,
                               bool work) LL_CHECK_RESULT;
/* A finished trial, from any worker: its evaluations ([LL_SPLIT_COUNT], NULL if it diverged), the predictions if it is the best so far, its
 * line. */
ll_status lli_trial_store_add(ll_context *ctx, lli_trial_store *store, const ll_trial *trial, const ll_evaluation *evaluations,
                              const lli_trial_points points[LLI_PROTOCOLS], const lli_provenance *provenance) LL_CHECK_RESULT;
/* Refuses a folder that belongs to another search. */
ll_status lli_trial_store_same(ll_context *ctx, const char *folder, const lli_provenance *identity) LL_CHECK_RESULT;
/* Takes over the trials of another folder that this one does not hold, with all their files; then, from all folders, the predictions of
 * each method's best. */
ll_status lli_trial_store_take(ll_context *ctx, lli_trial_store *store, const char *folder) LL_CHECK_RESULT;
ll_status lli_trial_store_take_best(ll_context *ctx, lli_trial_store *store, char *const *folders, int64_t count) LL_CHECK_RESULT;
ll_status lli_trial_store_conclude(ll_context *ctx, lli_trial_store *store,
                                   const lli_selection *selection) LL_CHECK_RESULT; /* choice.json */
void lli_trial_store_close(lli_trial_store *store);

#endif
