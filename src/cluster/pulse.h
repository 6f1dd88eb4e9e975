/* SPDX-License-Identifier: MIT */
/* Whether the other ranks are alive. A thread of each rank exchanges a byte with rank 0 some times a second, whatever the rank computes, so
 * that long work is not taken for death. */
#ifndef LLI_CLUSTER_PULSE_H
#define LLI_CLUSTER_PULSE_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One byte of a pulse. */
enum { LLI_PULSE_WELL = 1, LLI_PULSE_FAILING = 2, LLI_PULSE_BYE = 3 };

typedef struct lli_pulse_peer {
    int rank;
    unsigned char in, out;
    MPI_Request receive, send;
    double heard;    /* time of its last byte */
    bool gone, told; /* it said bye; we did */
} lli_pulse_peer;

typedef struct lli_pulse {
    MPI_Comm comm;
    pthread_mutex_t *mpi;  /* held around every call of MPI */
    lli_pulse_peer *peers; /* rank 0: all others; another rank: rank 0 */
    int count;
    _Atomic double deadline; /* seconds */
    _Atomic bool failing;    /* here or elsewhere; all are to stop */
    _Atomic bool ending;
    void (*on_failing)(void *arg); /* a rank fails elsewhere */
    void (*on_silence)(void *arg, int rank, double seconds);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} lli_pulse;

/* `count` peers, whose ranks are set. False when there is no thread to be had. */
bool lli_pulse_start(lli_pulse *pulse);
/* At once, instead of with the next beat. */
void lli_pulse_fail(lli_pulse *pulse);
/* Says bye, and waits for that of the peers. */
void lli_pulse_stop(lli_pulse *pulse);

#endif
