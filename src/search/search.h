/* SPDX-License-Identifier: MIT */
/* A search under way. */
#ifndef LLI_SEARCH_SEARCH_H
#define LLI_SEARCH_SEARCH_H

#include "base/meter.h"
#include "pipeline/found_theta.h"
#include "search/grid.h"
#include "store/trial_store.h"

typedef struct lli_search {
    ll_search_data data;     /* train and val as the runs see them */
    ll_dataset *train, *val; /* made for a network: its rows without, and only, those it held out */
    int64_t *halves;         /* [N test] the rows that choose, then the others; NULL when there are validation rows */
    lli_found_theta found;
    lli_grid grid;
    lli_trial_store store;
    char *folder;            /* of a rank's own store, NULL where that is the one asked for */
    lli_share part;          /* of the runs of the grid, dealt out one by one */
    int64_t *order;          /* [pending] runs with something left to do: side by side first, the costly ones before the cheap ones */
    int64_t pending, chains; /* chains: how many go side by side */
    lli_meter meter;
    bool ranked;     /* the parts are those of ranks, which know what is finished */
    lli_text *names; /* of the trials of the grid, each with a line break before and after; NULL = not wanted */
} lli_search;

/* ll_search, with the names of the trials that it asks for, whether the store had them or not. */
ll_status lli_search_named(ll_context *ctx, const char *store, const ll_search_data *data, const ll_search_options *options,
                           lli_text *names, const lli_share *part) LL_CHECK_RESULT;

/* The store. Of several ranks the first has the one asked for, and each other one beside it; what ranks of an interrupted search left is
 * taken first, and all know which trials are finished. */
ll_status lli_search_open(ll_context *ctx, lli_search *s, const char *store, const lli_provenance *identity,
                          const char *by) LL_CHECK_RESULT;
/* Of [trials] trials: what is finished on one rank is finished on all. */
ll_status lli_search_share_finished(ll_context *ctx, int64_t *finished, int64_t trials) LL_CHECK_RESULT;
/* The first rank takes the trials of the others, unless one failed. `status`: how the runs of this rank ended. */
ll_status lli_search_gather(ll_context *ctx, lli_search *s, const char *store, const lli_provenance *identity,
                            ll_status status) LL_CHECK_RESULT;

ll_status lli_search_trial_name(char **out, ll_context *ctx, const lli_grid_run *run, int64_t S) LL_CHECK_RESULT;
int64_t lli_search_rows(const lli_search *s); /* that every trial predicts */
/* Fits the run and finishes all its trials; one that diverges is finished too. */
ll_status lli_search_run(ll_context *ctx, lli_search *s, lli_grid_run *run) LL_CHECK_RESULT;

#endif
