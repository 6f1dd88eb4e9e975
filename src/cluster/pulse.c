/* SPDX-License-Identifier: MIT */
/* The thread that says and hears that ranks are alive. */
#include "cluster/pulse.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

/* Beats: often enough that ten fit into the deadline, and that a failure spreads soon. */
static double period(const lli_pulse *p) {
    double tenth = atomic_load(&p->deadline) / 10;
    return atomic_load(&p->ending) ? 0.002 : tenth < 0.25 ? tenth : 0.25;
}

static void hear(lli_pulse *p, lli_pulse_peer *peer) {
    int done = 0;
    if (peer->gone || MPI_Test(&peer->receive, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
        return;
    peer->heard = lli_clock_seconds();
    peer->gone = peer->in == LLI_PULSE_BYE;
    if (peer->in == LLI_PULSE_FAILING && !atomic_exchange(&p->failing, true))
        p->on_failing(p->arg);
    if (!peer->gone)
        MPI_Irecv(&peer->in, 1, MPI_BYTE, peer->rank, 0, p->comm, &peer->receive);
}

static void say(lli_pulse *p, lli_pulse_peer *peer) {
    int done = 0;
    if (MPI_Test(&peer->send, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done || peer->told)
        return;
    peer->told = atomic_load(&p->ending);
    peer->out = peer->told ? LLI_PULSE_BYE : atomic_load(&p->failing) ? LLI_PULSE_FAILING : LLI_PULSE_WELL;
    MPI_Isend(&peer->out, 1, MPI_BYTE, peer->rank, 0, p->comm, &peer->send);
}

/* One beat; false once everybody has said bye and heard it. */
static bool beat(lli_pulse *p) {
    bool over = atomic_load(&p->ending);
    pthread_mutex_lock(p->mpi);
    for (int i = 0; i < p->count; i++) {
        lli_pulse_peer *peer = &p->peers[i];
        hear(p, peer);
        say(p, peer);
        over = over && peer->gone && peer->told && peer->send == MPI_REQUEST_NULL;
    }
    pthread_mutex_unlock(p->mpi);
    double now = lli_clock_seconds();
    for (int i = 0; i < p->count; i++) /* one that left before us is as silent as a dead one */
        if (!(p->peers[i].gone && atomic_load(&p->ending)) && now - p->peers[i].heard > atomic_load(&p->deadline))
            p->on_silence(p->arg, p->peers[i].rank, now - p->peers[i].heard);
    return !over;
}

static void sleep_for(lli_pulse *p, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t nano = until.tv_nsec + (int64_t)(1e9 * seconds);
    until.tv_sec += nano / 1000000000;
    until.tv_nsec = nano % 1000000000;
    pthread_mutex_lock(&p->lock);
    pthread_cond_timedwait(&p->wake, &p->lock, &until);
    pthread_mutex_unlock(&p->lock);
}

static void *run(void *pulse) {
    lli_pulse *p = pulse;
    while (beat(p))
        sleep_for(p, period(p));
    return NULL;
}

bool lli_pulse_start(lli_pulse *p) {
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_mutex_lock(p->mpi);
    for (int i = 0; i < p->count; i++) {
        lli_pulse_peer *peer = &p->peers[i];
        peer->heard = lli_clock_seconds();
        peer->send = MPI_REQUEST_NULL;
        MPI_Irecv(&peer->in, 1, MPI_BYTE, peer->rank, 0, p->comm, &peer->receive);
    }
    pthread_mutex_unlock(p->mpi);
    return pthread_create(&p->thread, NULL, run, p) == 0;
}

static void wake(lli_pulse *p) {
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void lli_pulse_fail(lli_pulse *p) {
    if (!atomic_exchange(&p->failing, true))
        wake(p);
}

void lli_pulse_stop(lli_pulse *p) {
    atomic_store(&p->ending, true);
    wake(p);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
}
