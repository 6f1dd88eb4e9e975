/* SPDX-License-Identifier: MIT */
/* The stores of a search that several ranks run: each rank adds trials to its own, the first one takes them all. */
#include "base/memory.h"
#include "base/team.h"
#include "search/search.h"
#include "store/parts.h"

/* Takes over the trials of these stores, then removes them. */
static ll_status take(ll_context *ctx, lli_search *s, const lli_parts *parts, const lli_provenance *identity) {
    for (int64_t i = 0; i < parts->count; i++) {
        LLI_TRY(lli_trial_store_same(ctx, parts->path[i], identity));
        LLI_TRY(lli_trial_store_take(ctx, &s->store, parts->path[i]));
    }
    LLI_TRY(lli_trial_store_take_best(ctx, &s->store, parts->path, parts->count));
    lli_parts_remove(parts);
    return LL_OK;
}

/* What ranks left, of a search that was cut short or of the one that ends. */
static ll_status take_left(ll_context *ctx, lli_search *s, const char *store, const lli_provenance *identity) {
    lli_parts left = {0};
    char *ranks;
    LLI_TRY(lli_parts_of_ranks(&ranks, ctx, store));
    ll_status status = lli_parts_left(&left, ctx, ranks);
    if (status == LL_OK)
        status = take(ctx, s, &left, identity);
    lli_parts_release(&left);
    lli_memory_free(ranks);
    return status;
}

/* A rank's own store: that of the search, or one beside it. */
static ll_status open_own(ll_context *ctx, lli_search *s, const char *store, const lli_provenance *identity, const char *by) {
    if (!lli_team_first(ctx)) {
        char *ranks;
        LLI_TRY(lli_parts_of_ranks(&ranks, ctx, store));
        ll_status status = lli_parts_path(&s->folder, ctx, ranks, &s->part);
        lli_memory_free(ranks);
        LLI_TRY(status);
    }
    return lli_trial_store_open(&s->store, ctx, s->folder ? s->folder : store, identity, by, s->found.star.network != NULL);
}

ll_status lli_search_open(ll_context *ctx, lli_search *s, const char *store, const lli_provenance *identity, const char *by) {
    ll_status status;
    if (!lli_team_several(ctx)) {
        LLI_TRY(open_own(ctx, s, store, identity, by));
        return s->part.count ? LL_OK : take_left(ctx, s, store, identity);
    }
    LLI_TRY(lli_team_same(ctx, "files or options", identity->pairs, identity->count));
    status = lli_team_first(ctx) ? open_own(ctx, s, store, identity, by) : LL_OK;
    if (status == LL_OK && lli_team_first(ctx))
        status = take_left(ctx, s, store, identity);
    LLI_TRY(lli_team_agree(ctx, status));
    return lli_team_first(ctx) ? LL_OK : open_own(ctx, s, store, identity, by);
}

ll_status lli_search_share_finished(ll_context *ctx, int64_t *finished, int64_t trials) {
    lli_text count;
    lli_text_init(&count, ctx);
    lli_text_add(&count, "%lld", (long long)trials);
    ll_status status = count.status;
    if (status == LL_OK)
        status = lli_team_same(ctx, "grids", &(ll_meta){"trials", count.data}, 1);
    lli_text_release(&count);
    return status == LL_OK ? ctx->team->table->sum(ctx->team, ctx, finished, trials) : status;
}

ll_status lli_search_gather(ll_context *ctx, lli_search *s, const char *store, const lli_provenance *identity, ll_status status) {
    if (!lli_team_first(ctx))
        lli_trial_store_close(&s->store);
    LLI_TRY(lli_team_agree(ctx, status));
    status = lli_team_several(ctx) && lli_team_first(ctx) ? take_left(ctx, s, store, identity) : LL_OK;
    return lli_team_agree(ctx, status);
}
