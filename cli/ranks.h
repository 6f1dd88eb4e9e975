/* SPDX-License-Identifier: MIT */
/* The processes that run one command together. ranks_one.c is that of lastlayer, which is alone; ranks_mpi.c that of lastlayer-mpi. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "command.h"

/* Before anything else. On failure the sentence is kept for term_error. */
ll_status ranks_start(int *argc, char ***argv) LL_CHECK_RESULT;
/* Whether this process is the one that prints, and that runs commands which are not divided. */
bool ranks_first(void);
/* What every command has beside its own options. */
typedef struct ranks_args {
    double deadline; /* seconds */
} ranks_args;

extern const ll_option ranks_table[];
extern const size_t ranks_count;
/* Worker threads where --threads was not given; 0: all processors. */
int ranks_threads(void);

/* The processes make the calls of `ctx` together, unless the command is one that the first makes alone. */
ll_status ranks_join(ll_context *ctx, bool together, double deadline) LL_CHECK_RESULT;
/* How the command ended, for all. */
ll_status ranks_leave(ll_context *ctx, ll_status status) LL_CHECK_RESULT;
void ranks_end(void);

#endif
