/* SPDX-License-Identifier: MIT */
/* A team of one, and what every team does: how ranks agree on a status and on the texts that describe a run. */
#include "base/team.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/shared.h"

static ll_status max_alone(lli_team *team, ll_context *ctx, float *values, int64_t count) {
    (void)team, (void)ctx, (void)values, (void)count;
    return LL_OK;
}

static ll_status sum_alone(lli_team *team, ll_context *ctx, int64_t *values, int64_t count) {
    (void)team, (void)ctx, (void)values, (void)count;
    return LL_OK;
}

static ll_status gather_alone(lli_team *team, ll_context *ctx, void *all, const void *own, int64_t bytes) {
    (void)team, (void)ctx;
    memmove(all, own, (size_t)bytes);
    return LL_OK;
}

static ll_status broadcast_alone(lli_team *team, ll_context *ctx, void *bytes, int64_t count, int64_t from) {
    (void)team, (void)ctx, (void)bytes, (void)count, (void)from;
    return LL_OK;
}

static ll_status send_alone(lli_team *team, ll_context *ctx, void *bytes, int64_t count, int64_t from, int64_t to) {
    (void)team, (void)ctx, (void)bytes, (void)count, (void)from, (void)to;
    return LL_OK;
}

static ll_status barrier_alone(lli_team *team, ll_context *ctx) {
    (void)team, (void)ctx;
    return LL_OK;
}

static void warn_alone(lli_team *team) {
    (void)team;
}

static void abort_alone(lli_team *team, ll_status status) {
    (void)team, (void)status;
}

static ll_status divide_alone(lli_team *team, ll_context *ctx, lli_team **out, int64_t group) {
    (void)team, (void)ctx, (void)group;
    *out = NULL;
    return LL_OK;
}

static void dissolve_alone(lli_team *group) {
    (void)group;
}

lli_team lli_team_alone(void) {
    static const lli_team_table alone = {max_alone,     sum_alone,  gather_alone, broadcast_alone, send_alone,
                                         barrier_alone, warn_alone, abort_alone,  divide_alone,    dissolve_alone};
    return (lli_team){.table = &alone, .size = 1, .local = 1};
}

void lli_team_join(ll_context *ctx, lli_team *team) {
    ctx->team = team;
    if (!ctx->account->given)
        ctx->account->limit /= team->local;
}

lli_share lli_team_share(const ll_context *ctx) {
    return lli_team_several(ctx) ? (lli_share){ctx->team->rank, ctx->team->size} : (lli_share){0};
}

int64_t lli_team_group(const ll_context *ctx, int64_t groups) {
    int64_t group = 0;
    while (ctx->team->rank >= lli_share_end(&(lli_share){group, groups}, ctx->team->size))
        group++;
    return group;
}

ll_status lli_team_divide(lli_team **out, ll_context *ctx, int64_t groups) {
    lli_team *team = ctx->team;
    LLI_TRY(team->table->divide(team, ctx, out, lli_team_group(ctx, groups)));
    if (*out && (*out)->size == 1) {
        lli_team_dissolve(*out);
        *out = NULL;
    }
    return LL_OK;
}

void lli_team_dissolve(lli_team *group) {
    if (group)
        group->table->dissolve(group);
}

ll_status lli_team_unite(ll_context *ctx) {
    return lli_team_divide(&ctx->team->together, ctx, 1);
}

void lli_team_part(ll_context *ctx, ll_status status) {
    if (status == LL_OK)
        lli_team_dissolve(ctx->team->together);
    ctx->team->together = NULL;
}

/* ---- one status ---- */

typedef struct word {
    int32_t status;
    char message[LLI_MESSAGE_MAX];
} word;

/* The failure that counts: the first of a rank that was not merely told to stop. */
static int64_t find_failure(const word *words, int64_t size) {
    int64_t found = -1;
    for (int64_t i = size - 1; i >= 0; i--)
        if (words[i].status != LL_OK && (found < 0 || words[i].status != LL_ERR_CANCELLED || words[found].status == LL_ERR_CANCELLED))
            found = i;
    return found;
}

/* The sentence, and whose it is unless all ranks say the same. */
static ll_status take_failure(ll_context *ctx, const word *words, int64_t size, int64_t failed) {
    const word *w = &words[failed];
    int64_t same = 0;
    for (int64_t i = 0; i < size; i++)
        same += words[i].status == w->status && strcmp(words[i].message, w->message) == 0;
    if (same == size)
        memcpy(ctx->message, w->message, sizeof ctx->message);
    else
        lli_fail(ctx, (ll_status)w->status, "rank %" PRId64 " of %" PRId64 ": %.900s", failed, size, w->message);
    return (ll_status)w->status;
}

ll_status lli_team_agree(ll_context *ctx, ll_status status) {
    lli_team *team = ctx->team;
    if (team->size == 1 || team->over)
        return status;
    if (status != LL_OK)
        team->table->warn(team);
    word own = {.status = status}, *words = NULL;
    if (status != LL_OK)
        memcpy(own.message, ctx->message, sizeof own.message);
    ll_status result = lli_memory_new(ctx, &words, team->size, sizeof *words);
    if (result == LL_OK)
        result = team->table->gather(team, ctx, words, &own, sizeof own);
    int64_t failed = result == LL_OK ? find_failure(words, team->size) : -1;
    if (failed >= 0)
        result = take_failure(ctx, words, team->size, failed);
    team->over = result != LL_OK;
    lli_memory_free(words);
    return result;
}

/* ---- the same texts ---- */

typedef struct digest {
    char text[LLI_HASH_TEXT];
} digest;

static digest digest_of(const ll_meta *pair) {
    lli_hash hash;
    digest d = {{0}};
    lli_hash_init(&hash);
    lli_hash_add(&hash, pair->key, strlen(pair->key) + 1);
    lli_hash_add(&hash, pair->value, strlen(pair->value) + 1);
    lli_hash_text(&hash, d.text);
    return d;
}

/* The first rank whose digests are not those of rank 0, and the first text that differs; *rank -1 if there is none. */
static void find_difference(int64_t *rank, int64_t *at, const digest *all, int64_t size, int64_t count) {
    *rank = -1;
    for (int64_t r = 1; r < size; r++)
        for (int64_t i = 0; i < count; i++)
            if (strcmp(all[r * count + i].text, all[i].text) != 0) {
                *rank = r;
                *at = i;
                return;
            }
}

enum { SHOWN = 160 };

/* Every rank learns the two values, and fails with the same sentence. */
static ll_status refuse(ll_context *ctx, const char *what, const ll_meta *texts, int64_t rank, int64_t at) {
    lli_team *team = ctx->team;
    char shown[2][SHOWN] = {{0}};
    for (int i = 0; i < 2; i++) {
        snprintf(shown[i], SHOWN, "%s", texts[at].value);
        LLI_TRY(team->table->broadcast(team, ctx, shown[i], SHOWN, i ? rank : 0));
        shown[i][SHOWN - 1] = 0;
    }
    return lli_fail(ctx, LL_ERR_DATA, "the ranks have different %s: %s is %s on rank 0 and %s on rank %" PRId64, what, texts[at].key,
                    shown[0], shown[1], rank);
}

ll_status lli_team_same(ll_context *ctx, const char *what, const ll_meta *texts, int64_t count) {
    lli_team *team = ctx->team;
    if (team->size == 1)
        return LL_OK;
    digest *own = NULL, *all = NULL;
    int64_t counts = count, rank, at = 0;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &own, count, sizeof *own));
    LLI_DO(lli_memory_new(ctx, &all, count * team->size, sizeof *all));
    for (int64_t i = 0; i < count; i++)
        own[i] = digest_of(&texts[i]);
done:
    status = lli_team_agree(ctx, status);
    /* As many everywhere? Then what is gathered has one size. */
    if (status == LL_OK)
        status = team->table->sum(team, ctx, &counts, 1);
    if (status == LL_OK && counts != count * team->size)
        status = lli_fail(ctx, LL_ERR_DATA, "the ranks have different %s: another number of entries", what);
    status = lli_team_agree(ctx, status);
    if (status == LL_OK)
        status = team->table->gather(team, ctx, all, own, count * (int64_t)sizeof *own);
    if (status == LL_OK) {
        find_difference(&rank, &at, all, team->size, count);
        if (rank >= 0)
            status = refuse(ctx, what, texts, rank, at);
    }
    lli_memory_free(own);
    lli_memory_free(all);
    return status;
}
