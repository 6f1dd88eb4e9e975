/* SPDX-License-Identifier: MIT */
/* The finished trials of a store, in memory. */
#ifndef LLI_STORE_RESULTS_H
#define LLI_STORE_RESULTS_H

#include "base/context.h"

struct ll_results {
    ll_trial *trials; /* their texts are owned */
    int64_t count, capacity;
};

/* The trial called `name`, or -1. */
int64_t lli_results_find(const ll_results *results, const char *name);
/* A copy of the trial is added, at its place in the order: by method, then by options, the largest lr first. */
ll_status lli_results_add(ll_context *ctx, ll_results *results, const ll_trial *trial) LL_CHECK_RESULT;
/* Forgets the trials that the text does not name; each name stands between line breaks. */
void lli_results_keep(ll_results *results, const char *names);

#endif
