/* SPDX-License-Identifier: MIT */
/* What a rank makes of what the others say: a team of three whose other two are played by the test. */
#include "base/team.h"

#include "check.h"

typedef struct played {
    lli_team team; /* first */
    int32_t status[3];
    const char *message[3];
    int warned, gathered;
} played;

/* As src/base/team.c has it. */
typedef struct word {
    int32_t status;
    char message[LLI_MESSAGE_MAX];
} word;

static ll_status gather(lli_team *team, ll_context *ctx, void *all, const void *own, int64_t bytes) {
    played *p = (played *)team;
    word *words = all;
    (void)ctx;
    assert_int_equal(bytes, sizeof(word));
    p->gathered++;
    for (int i = 1; i < 3; i++) {
        words[i].status = p->status[i];
        snprintf(words[i].message, sizeof words[i].message, "%s", p->message[i] ? p->message[i] : "");
    }
    memcpy(&words[0], own, sizeof(word));
    return LL_OK;
}

static void warn(lli_team *team) {
    ((played *)team)->warned++;
}

static const lli_team_table table = {.gather = gather, .warn = warn};

static void alone_nothing_is_said(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_team *team = ctx->team;
    float largest = 3;
    int64_t sum = 4, all = 0;
    assert_true(lli_team_first(ctx) && !lli_team_several(ctx));
    assert_int_equal(lli_team_share(ctx).count, 0);
    CHECK_OK(ctx, team->table->max(team, ctx, &largest, 1));
    CHECK_OK(ctx, team->table->sum(team, ctx, &sum, 1));
    CHECK_OK(ctx, team->table->gather(team, ctx, &all, &sum, sizeof sum));
    CHECK_OK(ctx, team->table->broadcast(team, ctx, &sum, sizeof sum, 0));
    CHECK_OK(ctx, team->table->barrier(team, ctx));
    assert_true(largest == 3 && sum == 4 && all == 4);
    CHECK_OK(ctx, lli_team_same(ctx, "files", &(ll_meta){"key", "value"}, 1));
    lli_fail(ctx, LL_ERR_DATA, "as it was");
    CHECK_FAILS(ctx, LL_ERR_DATA, "as it was", lli_team_agree(ctx, LL_ERR_DATA));
    ll_context_free(ctx);
}

static void the_first_failure_counts(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    played p = {.team = {.table = &table, .size = 3, .local = 1}};
    lli_team_join(ctx, &p.team);
    CHECK_OK(ctx, lli_team_agree(ctx, LL_OK));
    assert_int_equal(p.warned, 0);
    /* A rank that was told to stop does not hide the one that failed. */
    p.status[1] = LL_ERR_CANCELLED;
    p.message[1] = "interrupted";
    p.status[2] = LL_ERR_WRITE;
    p.message[2] = "no room";
    CHECK_FAILS(ctx, LL_ERR_WRITE, "rank 2 of 3: no room", lli_team_agree(ctx, LL_OK));
    assert_int_equal(p.gathered, 2);
    /* Then all have failed, and nothing is said any more. */
    lli_fail(ctx, LL_ERR_WRITE, "kept");
    CHECK_FAILS(ctx, LL_ERR_WRITE, "kept", lli_team_agree(ctx, LL_ERR_WRITE));
    assert_int_equal(p.gathered, 2);
    /* What all say is nobody's own. */
    p.team.over = false;
    p.status[1] = p.status[2] = LL_ERR_DATA;
    p.message[1] = p.message[2] = "labels are missing";
    lli_fail(ctx, LL_ERR_DATA, "labels are missing");
    assert_int_equal(lli_team_agree(ctx, LL_ERR_DATA), LL_ERR_DATA);
    assert_string_equal(ll_context_message(ctx), "labels are missing");
    assert_int_equal(p.warned, 1);
    ll_context_free(ctx);
}

static void tasks_are_alone(void **state) {
    (void)state;
    ll_context *ctx = check_context(1), child;
    played p = {.team = {.table = &table, .rank = 1, .size = 3, .local = 1}};
    lli_team_join(ctx, &p.team);
    assert_int_equal(lli_team_share(ctx).index, 1);
    assert_int_equal(lli_team_share(ctx).count, 3);
    lli_context_child(&child, ctx);
    assert_false(lli_team_several(&child));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nothing_is_said),
        cmocka_unit_test(the_first_failure_counts),
        cmocka_unit_test(tasks_are_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
