/* SPDX-License-Identifier: MIT */
/* What ranks say to each other: collectives of MPI that do not block. They are tested until they are done, so that cancelling and the pulse
 * (pulse.h) go on meanwhile. */
#ifndef LLI_CLUSTER_TALK_H
#define LLI_CLUSTER_TALK_H

#include <mpi.h>
#include <pthread.h>

#include "base/team.h"
#include "cluster/pulse.h"

typedef struct lli_talk {
    lli_team team; /* first: the table's functions find the rest behind it */
    MPI_Comm comm;
    pthread_mutex_t *mpi; /* held around every call of MPI */
    lli_pulse *pulse;
    void (*abort)(struct lli_talk *talk, ll_status status); /* ends all ranks */
    /* Of a group. It may be left in the middle of a sentence, when a rank has failed elsewhere; so MPI gets memory that nobody else has. */
    bool group, left;
    char *stage;
    int64_t room;
} lli_talk;

extern const lli_team_table lli_talk_table;

#endif
