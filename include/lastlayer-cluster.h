/* SPDX-License-Identifier: MIT */
/* The processes that mpirun started, as one team for the calls of lastlayer.h. A library of its own (src/cluster), which lastlayer-mpi
 * links and nobody else needs: it is not part of the interface of liblastlayer, and may change with every version. */
#ifndef LASTLAYER_CLUSTER_H
#define LASTLAYER_CLUSTER_H

#include "lastlayer.h"

typedef struct ll_cluster ll_cluster;

/* Meets the other processes, once, before anything else. NULL with a sentence in `why` when MPI cannot be used. */
ll_cluster *ll_cluster_start(char *why, size_t size, int *argc, char ***argv);
int64_t ll_cluster_rank(const ll_cluster *cluster);
int64_t ll_cluster_size(const ll_cluster *cluster);
/* Worker threads for a rank that was not told how many: the processors of its machine are shared by the ranks there. */
int ll_cluster_threads(const ll_cluster *cluster);
/* Seconds of silence after which a rank counts as lost; then the job ends. */
void ll_cluster_deadline(ll_cluster *cluster, double seconds);

/* Calls with this context are made by all ranks together. Refuses ranks of other versions or kernels. */
ll_status ll_cluster_join(ll_cluster *cluster, ll_context *ctx) LL_CHECK_RESULT;
/* How the call ended, on all ranks: LL_OK, or what the first rank that failed has to say. Nothing is done with the context afterwards. */
ll_status ll_cluster_leave(ll_cluster *cluster, ll_context *ctx, ll_status status) LL_CHECK_RESULT;
/* Takes leave of the other processes. */
void ll_cluster_end(ll_cluster *cluster);

#endif
