/* SPDX-License-Identifier: MIT */
/* The paper's experiments, section 5 and appendix: what is trained, and which grids are searched. */
#ifndef LLI_PAPER_EXPERIMENT_H
#define LLI_PAPER_EXPERIMENT_H

#include "base/context.h"

/* One grid, in the words of ll_search_options. */
typedef struct lli_experiment_grid {
    const char *lr, *samples, *epochs, *dropout;
} lli_experiment_grid;

typedef struct lli_experiment {
    const char *name;
    const char *net;                /* what is trained; NULL: features are given */
    int64_t epochs;                 /* of that training; 0 = the recipe of the network */
    const char *half;               /* classes of the out-of-distribution task, "first:5"; NULL = there is none */
    const char *batch_size;         /* of the methods */
    int64_t layers;                 /* 1..layers dense layers on features; 1 = the last layer only */
    lli_experiment_grid last, full; /* full.lr NULL: no full network */
    const char *files;              /* what the user has to bring, options in backquotes; NULL = tools/get-data fetches it */
} lli_experiment;

/* LL_ERR_USAGE with the names there are. */
ll_status lli_experiment_find(lli_experiment *out, ll_context *ctx, const char *name, bool quick) LL_CHECK_RESULT;

#endif
