/* SPDX-License-Identifier: MIT */
/* Collectives, of all ranks and of groups of them. */
#include "cluster/talk.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"

enum { PIECE = 1 << 26 /* bytes at a time */ };

static const double patience = 2; /* seconds that a group waits for a rank after another has failed */

static lli_talk *talk_of(lli_team *team) {
    return (lli_talk *)team;
}

/* Spins a little, then sleeps: ranks may be more than processors. */
static void pause_after(int tries) {
    if (tries < 200) {
        sched_yield();
        return;
    }
    struct timespec nap = {0, tries < 2000 ? 50000 : 1000000};
    nanosleep(&nap, NULL);
}

static ll_status broken(lli_talk *t, ll_context *ctx, int code) {
    char why[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, why, &length);
    return lli_fail(ctx, LL_ERR_CANCELLED, "rank %" PRId64 " cannot talk to the others: %.300s", t->team.rank, why);
}

/* Until the collective that `begun` says has begun is done. The lock of MPI is held on entry. */
static ll_status finish(lli_talk *t, ll_context *ctx, int begun, MPI_Request *request) {
    int code = begun, done = 0;
    double failing = 0; /* since when */
    for (int tries = 0;; tries++) {
        if (code == MPI_SUCCESS)
            code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(t->mpi);
        if (code != MPI_SUCCESS)
            return broken(t, ctx, code);
        if (done)
            return LL_OK;
        if (lli_cancelled(ctx))
            lli_pulse_fail(t->pulse);
        if (t->group && atomic_load(&t->pulse->failing)) {
            double now = lli_clock_seconds();
            failing = failing > 0 ? failing : now;
            if (now - failing > patience) {
                t->left = true;
                return lli_fail(ctx, LL_ERR_CANCELLED, "interrupted");
            }
        }
        pause_after(tries);
        pthread_mutex_lock(t->mpi);
    }
}

/* Where MPI finds `bytes` bytes: in place, or a copy. */
static ll_status stage(void **at, lli_talk *t, ll_context *ctx, void *bytes, int64_t count) {
    *at = bytes;
    if (!t->group)
        return LL_OK;
    if (t->left)
        return lli_fail(ctx, LL_ERR_CANCELLED, "interrupted");
    if (t->room < count) {
        char *stage = realloc(t->stage, (size_t)count);
        if (!stage)
            return lli_fail(ctx, LL_ERR_MEMORY, "no memory for %" PRId64 " bytes that ranks tell each other", count);
        t->stage = stage;
        t->room = count;
    }
    *at = t->stage;
    return LL_OK;
}

static ll_status reduce(lli_talk *t, ll_context *ctx, char *values, int64_t count, int64_t size, MPI_Datatype type, MPI_Op op) {
    for (int64_t done = 0, n; done < count; done += n) {
        n = LLI_MIN(count - done, (int64_t)PIECE / size);
        char *from = values + done * size;
        void *at;
        MPI_Request request;
        LLI_TRY(stage(&at, t, ctx, from, n * size));
        if (at != from)
            memcpy(at, from, (size_t)(n * size));
        pthread_mutex_lock(t->mpi);
        LLI_TRY(finish(t, ctx, MPI_Iallreduce(MPI_IN_PLACE, at, (int)n, type, op, t->comm, &request), &request));
        if (at != from)
            memcpy(from, at, (size_t)(n * size));
    }
    return LL_OK;
}

static ll_status max_ranks(lli_team *team, ll_context *ctx, float *values, int64_t count) {
    return reduce(talk_of(team), ctx, (char *)values, count, sizeof *values, MPI_FLOAT, MPI_MAX);
}

static ll_status sum_ranks(lli_team *team, ll_context *ctx, int64_t *values, int64_t count) {
    return reduce(talk_of(team), ctx, (char *)values, count, sizeof *values, MPI_INT64_T, MPI_SUM);
}

static ll_status gather_ranks(lli_team *team, ll_context *ctx, void *all, const void *own, int64_t bytes) {
    lli_talk *t = talk_of(team);
    MPI_Request request;
    void *at;
    if (bytes > INT_MAX)
        return lli_fail(ctx, LL_ERR_INTERNAL, "a rank has %" PRId64 " bytes to say at once, too many", bytes);
    LLI_TRY(stage(&at, t, ctx, all, team->size * bytes));
    memmove((char *)at + team->rank * bytes, own, (size_t)bytes);
    pthread_mutex_lock(t->mpi);
    LLI_TRY(finish(t, ctx, MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at, (int)bytes, MPI_BYTE, t->comm, &request), &request));
    if (at != all)
        memcpy(all, at, (size_t)(team->size * bytes));
    return LL_OK;
}

static ll_status broadcast_ranks(lli_team *team, ll_context *ctx, void *bytes, int64_t count, int64_t from) {
    lli_talk *t = talk_of(team);
    for (int64_t done = 0, n; done < count; done += n) {
        n = LLI_MIN(count - done, (int64_t)PIECE);
        char *own = (char *)bytes + done;
        void *at;
        MPI_Request request;
        LLI_TRY(stage(&at, t, ctx, own, n));
        if (at != own && from == team->rank)
            memcpy(at, own, (size_t)n);
        pthread_mutex_lock(t->mpi);
        LLI_TRY(finish(t, ctx, MPI_Ibcast(at, (int)n, MPI_BYTE, (int)from, t->comm, &request), &request));
        if (at != own)
            memcpy(own, at, (size_t)n);
    }
    return LL_OK;
}

static ll_status send_ranks(lli_team *team, ll_context *ctx, void *bytes, int64_t count, int64_t from, int64_t to) {
    lli_talk *t = talk_of(team);
    bool says = team->rank == from, hears = team->rank == to;
    for (int64_t done = 0, n; says != hears && done < count; done += n) {
        n = LLI_MIN(count - done, (int64_t)PIECE);
        char *own = (char *)bytes + done;
        void *at;
        MPI_Request request;
        LLI_TRY(stage(&at, t, ctx, own, n));
        if (at != own && says)
            memcpy(at, own, (size_t)n);
        pthread_mutex_lock(t->mpi);
        LLI_TRY(finish(t, ctx,
                       says ? MPI_Isend(at, (int)n, MPI_BYTE, (int)to, 0, t->comm, &request)
                            : MPI_Irecv(at, (int)n, MPI_BYTE, (int)from, 0, t->comm, &request),
                       &request));
        if (at != own && hears)
            memcpy(own, at, (size_t)n);
    }
    return LL_OK;
}

static ll_status barrier_ranks(lli_team *team, ll_context *ctx) {
    lli_talk *t = talk_of(team);
    MPI_Request request;
    pthread_mutex_lock(t->mpi);
    return finish(t, ctx, MPI_Ibarrier(t->comm, &request), &request);
}

static void warn_ranks(lli_team *team) {
    lli_pulse_fail(talk_of(team)->pulse);
}

static void abort_ranks(lli_team *team, ll_status status) {
    talk_of(team)->abort(talk_of(team), status);
}

/* All ranks are here before the split, which blocks: it takes no time. */
static ll_status divide_ranks(lli_team *team, ll_context *ctx, lli_team **out, int64_t group) {
    lli_talk *t = talk_of(team), *g = malloc(sizeof *g);
    int rank = 0, size = 1;
    ll_status status = g ? LL_OK : lli_fail(ctx, LL_ERR_MEMORY, "no memory for a group of ranks");
    *out = NULL;
    status = lli_team_agree(ctx, status);
    if (status != LL_OK) {
        free(g);
        return status;
    }
    *g = (lli_talk){.team = t->team, .mpi = t->mpi, .pulse = t->pulse, .abort = t->abort, .group = true};
    pthread_mutex_lock(t->mpi);
    int code = MPI_Comm_split(t->comm, (int)group, (int)team->rank, &g->comm);
    if (code == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(g->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(g->comm, &rank);
        MPI_Comm_size(g->comm, &size);
    }
    pthread_mutex_unlock(t->mpi);
    if (code != MPI_SUCCESS) {
        free(g);
        return broken(t, ctx, code);
    }
    g->team.rank = rank;
    g->team.size = size;
    *out = &g->team;
    return LL_OK;
}

/* What was left in the middle of a sentence still belongs to MPI. */
static void dissolve_ranks(lli_team *group) {
    lli_talk *g = talk_of(group);
    if (g->left)
        return;
    pthread_mutex_lock(g->mpi);
    MPI_Comm_free(&g->comm);
    pthread_mutex_unlock(g->mpi);
    free(g->stage);
    free(g);
}

const lli_team_table lli_talk_table = {max_ranks,     sum_ranks,  gather_ranks, broadcast_ranks, send_ranks,
                                       barrier_ranks, warn_ranks, abort_ranks,  divide_ranks,    dissolve_ranks};
