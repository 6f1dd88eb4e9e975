/* SPDX-License-Identifier: MIT */
/* What the ranks of a team say to each other, held against what a loop over the ranks gives. Exit 1 where they differ. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/team.h"
#include "lastlayer-cluster.h"

enum { N = 1000 };

static float value(int64_t rank, int64_t i) {
    return (float)((rank * 7919 + i * 104729) % 1009 - 504);
}

#define NEED(condition)                                         \
    do {                                                        \
        if (!(condition)) {                                     \
            fprintf(stderr, "probe: not so: %s\n", #condition); \
            return 1;                                           \
        }                                                       \
    } while (0)

static int probe(ll_context *ctx) {
    lli_team *team = ctx->team;
    static float largest[N];
    static int64_t sum[N], all[64][N];
    for (int64_t i = 0; i < N; i++) {
        largest[i] = value(team->rank, i);
        sum[i] = (int64_t)value(team->rank, i) << 40;
    }
    NEED(team->size <= 64);
    NEED(team->table->max(team, ctx, largest, N) == LL_OK);
    NEED(team->table->gather(team, ctx, all, sum, sizeof sum) == LL_OK);
    NEED(team->table->sum(team, ctx, sum, N) == LL_OK);
    for (int64_t i = 0; i < N; i++) {
        float best = value(0, i);
        int64_t total = 0;
        for (int64_t r = 0; r < team->size; r++) {
            best = LLI_MAX(best, value(r, i));
            total += (int64_t)value(r, i) << 40;
            NEED(all[r][i] == (int64_t)value(r, i) << 40);
        }
        NEED(best == largest[i] && total == sum[i]);
    }
    char text[32];
    snprintf(text, sizeof text, "from %d", (int)team->rank);
    NEED(team->table->broadcast(team, ctx, text, sizeof text, team->size - 1) == LL_OK);
    char expected[32];
    snprintf(expected, sizeof expected, "from %d", (int)team->size - 1);
    NEED(strcmp(text, expected) == 0);
    static int64_t long_text[N * 100]; /* more than MPI keeps for one that is not listening yet */
    for (int64_t i = 0; i < N * 100; i++)
        long_text[i] = team->rank == team->size - 1 ? i * i : -1;
    NEED(team->table->send(team, ctx, long_text, sizeof long_text, team->size - 1, 0) == LL_OK);
    for (int64_t i = 0; i < N * 100; i++)
        NEED(long_text[i] == (team->rank == 0 || team->rank == team->size - 1 ? i * i : -1));
    NEED(team->table->barrier(team, ctx) == LL_OK);
    NEED(lli_team_agree(ctx, LL_OK) == LL_OK);
    /* A rank that fails: all fail, with its sentence. */
    ll_status own = team->rank == team->size - 1 ? lli_fail(ctx, LL_ERR_WRITE, "no room") : LL_OK;
    NEED(lli_team_agree(ctx, own) == LL_ERR_WRITE);
    NEED(strstr(ll_context_message(ctx), "no room"));
    NEED(lli_team_agree(ctx, LL_ERR_DATA) == LL_ERR_DATA); /* nothing is said any more */
    return 0;
}

int main(int argc, char **argv) {
    char why[256];
    ll_context *ctx = NULL;
    ll_cluster *cluster = ll_cluster_start(why, sizeof why, &argc, &argv);
    if (!cluster || ll_context_new(&ctx, NULL) != LL_OK || ll_cluster_join(cluster, ctx) != LL_OK)
        return 1;
    int code = probe(ctx);
    ll_cluster_end(cluster);
    ll_context_free(ctx);
    return code;
}
