/* SPDX-License-Identifier: MIT */
/* Processes that work on one call together: ranks 0 to size - 1, each of which makes the same call. A context has a team: of one process
 * alone, unless the command lastlayer-mpi brings another (src/cluster). All ranks call the functions below in the same order, outside of
 * parallel tasks: the child contexts of tasks are alone. */
#ifndef LLI_BASE_TEAM_H
#define LLI_BASE_TEAM_H

#include "base/context.h"
#include "base/share.h"

typedef struct lli_team lli_team;

/* How ranks talk. What a rank says must have the same size on all of them. LL_ERR_CANCELLED with a sentence when a rank is lost. */
typedef struct lli_team_table {
    ll_status (*max)(lli_team *team, ll_context *ctx, float *values, int64_t count);   /* in place, the largest on every rank */
    ll_status (*sum)(lli_team *team, ll_context *ctx, int64_t *values, int64_t count); /* in place, likewise */
    ll_status (*gather)(lli_team *team, ll_context *ctx, void *all /* [size][bytes] */, const void *own, int64_t bytes);
    ll_status (*broadcast)(lli_team *team, ll_context *ctx, void *bytes, int64_t count, int64_t from);
    ll_status (*send)(lli_team *team, ll_context *ctx, void *bytes, int64_t count, int64_t from, int64_t to); /* the others do nothing */
    ll_status (*barrier)(lli_team *team, ll_context *ctx);
    void (*warn)(lli_team *team);                    /* a failure here: the others are to stop what they do and come to the next meeting */
    void (*abort)(lli_team *team, ll_status status); /* ends all ranks, at once */
    /* The ranks that name the same group, in their order, as a team; all ranks call it. A rank of a group that waits for one that failed
     * gives up with LL_ERR_CANCELLED; the next meeting is that of all ranks. */
    ll_status (*divide)(lli_team *team, ll_context *ctx, lli_team **out, int64_t group);
    void (*dissolve)(lli_team *group);
} lli_team_table;

struct lli_team {
    const lli_team_table *table;
    int64_t rank, size;
    int64_t local;      /* ranks on this machine, this one included: they share its memory */
    lli_team *together; /* a group of all of them, while they solve for very wide heads together; else NULL */
    bool over;          /* a rank has failed and all know it: nothing is said any more */
};

/* A process alone. */
lli_team lli_team_alone(void);
/* The context works with this team, which outlives it, and with its share of the machine's memory, unless a limit was given. */
void lli_team_join(ll_context *ctx, lli_team *team);

static inline bool lli_team_first(const ll_context *ctx) {
    return ctx->team->rank == 0;
}

static inline bool lli_team_several(const ll_context *ctx) {
    return ctx->team->size > 1;
}

/* Which part of divided work this rank does; all of it where it is alone. */
lli_share lli_team_share(const ll_context *ctx);

/* Group `group` of `groups`, at most as many as ranks, has consecutive ranks; groups are as equal as possible. The one of this rank. */
int64_t lli_team_group(const ll_context *ctx, int64_t groups);
/* A team of it, with messages of its own; *out is NULL in a process alone and in a group of one. */
ll_status lli_team_divide(lli_team **out, ll_context *ctx, int64_t groups) LL_CHECK_RESULT;
void lli_team_dissolve(lli_team *group); /* may be NULL */

/* Until lli_team_part, all ranks solve for very wide heads together; in a process alone nothing changes. */
ll_status lli_team_unite(ll_context *ctx) LL_CHECK_RESULT;
void lli_team_part(ll_context *ctx, ll_status status); /* a rank that failed may have left already */

/* Where ranks meet. Each brings how it went so far; if one failed, all fail as the first of them did, and the sentence names the rank. A
 * rank that fails outside of a meeting comes to the next one with that status, and says nothing else before. */
ll_status lli_team_agree(ll_context *ctx, ll_status status) LL_CHECK_RESULT;
/* Refuses texts that are not equal on all ranks, and names the rank, the key and both values: `what` the ranks have. */
ll_status lli_team_same(ll_context *ctx, const char *what, const ll_meta *texts, int64_t count) LL_CHECK_RESULT;

#endif
