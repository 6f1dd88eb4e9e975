/* SPDX-License-Identifier: MIT */
/* A team of ranks by MPI: its beginning, its end, and what is said when a rank is lost. Two threads call MPI, one at a time. */
#include <inttypes.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/team.h"
#include "cluster/pulse.h"
#include "cluster/talk.h"
#include "lastlayer-cluster.h"

enum { GRACE = 5 /* seconds that ending a broken job may take */ };

struct ll_cluster {
    lli_talk talk; /* first, so that the end of all finds the rest */
    pthread_mutex_t mpi;
    lli_pulse pulse;
    ll_context *volatile ctx; /* of the call under way */
    char (*hosts)[MPI_MAX_PROCESSOR_NAME];
};

/* ---- the end of a broken job ---- */

/* Does a program with such a name have this number? */
static bool is_launcher(pid_t pid) {
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool found = fgets(name, sizeof name, file) != NULL, is = false;
    fclose(file);
    for (size_t i = 0; found && i < LLI_COUNT(names); i++)
        is = is || strncmp(name, names[i], strlen(names[i])) == 0;
    return is;
}

/* mpirun waits for ever for a machine that no longer answers. If it is the one that started us, it gets some time to end by itself. */
static void watch_launcher(void) {
    pid_t launcher = getppid();
    if (!is_launcher(launcher) || fork() != 0)
        return;
    setsid();
    sleep(GRACE);
    kill(launcher, SIGKILL);
    _exit(0);
}

static void end_all(lli_talk *talk, ll_status status) {
    watch_launcher();
    alarm(GRACE); /* MPI may wait for the rank that is lost */
    MPI_Abort(talk->comm, (int)status);
    _exit((int)status);
}

static void on_silence(void *cluster, int rank, double seconds) {
    ll_cluster *c = cluster;
    char said[1024], styled[1024];
    snprintf(said, sizeof said,
             "rank %d of %" PRId64 " on %s has said nothing for %.0f s (`deadline`): it died, or the network to it did; where the command "
             "knows `resume`, it goes on with it, on any number of ranks",
             rank, c->talk.team.size, c->hosts[rank], seconds);
    ll_option_words(styled, sizeof styled, said, LL_OPTION_STYLE_FLAG);
    fprintf(stderr, "lastlayer: %s.\n", styled);
    fflush(stderr);
    end_all(&c->talk, LL_ERR_CANCELLED);
}

static void on_failing(void *cluster) {
    ll_cluster *c = cluster;
    if (c->ctx)
        ll_context_cancel(c->ctx);
}

/* ---- beginning and end ---- */

/* Names of machines, and how many ranks are on this one. Nothing has begun yet, so these may block. */
static bool look_around(ll_cluster *c) {
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    int length, local = 1;
    MPI_Comm here;
    c->hosts = calloc((size_t)c->talk.team.size, sizeof *c->hosts);
    if (!c->hosts)
        return false;
    MPI_Get_processor_name(own, &length);
    MPI_Allgather(own, sizeof own, MPI_BYTE, c->hosts, sizeof own, MPI_BYTE, c->talk.comm);
    MPI_Comm_split_type(c->talk.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &local);
    MPI_Comm_free(&here);
    c->talk.team.local = local;
    return true;
}

static bool start_pulse(ll_cluster *c) {
    lli_pulse *p = &c->pulse;
    p->count = c->talk.team.rank == 0 ? (int)c->talk.team.size - 1 : 1;
    p->peers = calloc((size_t)p->count + 1, sizeof *p->peers);
    if (!p->peers)
        return false;
    for (int i = 0; i < p->count; i++)
        p->peers[i].rank = c->talk.team.rank == 0 ? i + 1 : 0;
    p->mpi = &c->mpi;
    p->on_failing = on_failing;
    p->on_silence = on_silence;
    p->arg = c;
    atomic_init(&p->deadline, 60);
    MPI_Comm_dup(c->talk.comm, &p->comm);
    MPI_Comm_set_errhandler(p->comm, MPI_ERRORS_RETURN);
    return lli_pulse_start(p);
}

ll_cluster *ll_cluster_start(char *why, size_t size, int *argc, char ***argv) {
    int provided = 0, rank = 0, ranks = 1;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_SERIALIZED) {
        snprintf(why, size, "MPI does not start, or allows calls from one thread only");
        return NULL;
    }
    ll_cluster *c = calloc(1, sizeof *c);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bool well = c != NULL;
    if (well) {
        c->talk.team = (lli_team){.table = &lli_talk_table, .rank = rank, .size = ranks};
        MPI_Comm_dup(MPI_COMM_WORLD, &c->talk.comm);
        MPI_Comm_set_errhandler(c->talk.comm, MPI_ERRORS_RETURN);
        pthread_mutex_init(&c->mpi, NULL);
        c->talk.mpi = &c->mpi;
        c->talk.pulse = &c->pulse;
        c->talk.abort = end_all;
        well = look_around(c) && start_pulse(c);
    }
    if (well)
        return c;
    snprintf(why, size, "rank %d: memory ran out", rank);
    MPI_Abort(MPI_COMM_WORLD, LL_ERR_MEMORY);
    return NULL;
}

int64_t ll_cluster_rank(const ll_cluster *c) {
    return c->talk.team.rank;
}

int64_t ll_cluster_size(const ll_cluster *c) {
    return c->talk.team.size;
}

int ll_cluster_threads(const ll_cluster *c) {
    int64_t share = sysconf(_SC_NPROCESSORS_ONLN) / c->talk.team.local, mine = lli_clock_processors();
    return (int)LLI_MAX((int64_t)1, LLI_MIN(share, mine));
}

void ll_cluster_deadline(ll_cluster *c, double seconds) {
    atomic_store(&c->pulse.deadline, seconds);
}

ll_status ll_cluster_join(ll_cluster *c, ll_context *ctx) {
    const ll_meta build[] = {{"version", ll_version()}, {"isa", ll_isa()}};
    lli_team_join(ctx, &c->talk.team);
    c->ctx = ctx;
    return lli_team_same(ctx, "builds of lastlayer or kernels (LASTLAYER_ISA makes these equal)", build, LLI_COUNT(build));
}

ll_status ll_cluster_leave(ll_cluster *c, ll_context *ctx, ll_status status) {
    lli_team *own = ctx->team; /* of a call that one rank makes, the others have to hear as well */
    ctx->team = &c->talk.team;
    status = lli_team_agree(ctx, status);
    ctx->team = own;
    c->ctx = NULL;
    return status;
}

void ll_cluster_end(ll_cluster *c) {
    lli_pulse_stop(&c->pulse);
    alarm((unsigned)atomic_load(&c->pulse.deadline) + GRACE);
    MPI_Comm_free(&c->pulse.comm);
    MPI_Comm_free(&c->talk.comm);
    MPI_Finalize();
    pthread_mutex_destroy(&c->mpi);
    free(c->pulse.peers);
    free(c->hosts);
    free(c);
}
