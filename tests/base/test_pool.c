/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdatomic.h>

#include "base/pool.h"

enum { TASKS = 1000 };

struct record {
    _Atomic int done[TASKS];
    _Atomic int holder[64]; /* which workspace is in use */
    int64_t fail_from;
};

static ll_status mark(ll_context *ctx, void *arg, int64_t task, int worker) {
    struct record *r = arg;
    if (atomic_fetch_add(&r->holder[worker], 1) != 0)
        return lli_fail(ctx, LL_ERR_INTERNAL, "workspace %d is shared", worker);
    atomic_fetch_add(&r->done[task], 1);
    atomic_fetch_sub(&r->holder[worker], 1);
    if (r->fail_from >= 0 && task >= r->fail_from)
        return lli_fail(ctx, LL_ERR_DATA, "task %d failed", (int)task);
    return LL_OK;
}

static void every_task_runs_once(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        ll_context *ctx = check_context(threads);
        for (int repeat = 0; repeat < 20; repeat++) {
            struct record r = {.fail_from = -1};
            CHECK_OK(ctx, lli_pool_run(ctx, mark, &r, TASKS));
            for (int i = 0; i < TASKS; i++)
                assert_int_equal(r.done[i], 1);
        }
        ll_context_free(ctx);
    }
}

static void lowest_failure_wins(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        ll_context *ctx = check_context(threads);
        for (int repeat = 0; repeat < 50; repeat++) {
            struct record r = {.fail_from = 7 * repeat};
            char expected[64];
            snprintf(expected, sizeof expected, "task %d failed", 7 * repeat);
            CHECK_FAILS(ctx, LL_ERR_DATA, expected, lli_pool_run(ctx, mark, &r, TASKS));
        }
        ll_context_free(ctx);
    }
}

/* Task 1 fails first, and task 0 long after it. */
static ll_status late(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)worker;
    _Atomic bool *failed = arg;
    if (task == 0) {
        while (!atomic_load(failed))
            usleep(1000);
        usleep(100000);
    }
    atomic_store(failed, true);
    return lli_fail(ctx, task ? LL_ERR_DATA : LL_ERR_FORMAT, "task %d failed", (int)task);
}

static void a_later_lower_failure_wins(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    _Atomic bool failed = false;
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "task 0 failed", lli_pool_run(ctx, late, &failed, 2));
    ll_context_free(ctx);
}

static ll_status outer(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)task;
    (void)worker;
    struct record *r = arg;
    _Atomic int *count = &r->done[0];
    struct record *inner = calloc(1, sizeof *inner);
    inner->fail_from = -1;
    ll_status status = lli_pool_run(ctx, mark, inner, 10);
    for (int i = 0; i < 10; i++)
        atomic_fetch_add(count, inner->done[i]);
    free(inner);
    return status;
}

static void runs_nest(void **state) {
    (void)state;
    ll_context *ctx = check_context(3);
    struct record r = {.fail_from = -1};
    CHECK_OK(ctx, lli_pool_run(ctx, outer, &r, 40));
    assert_int_equal(r.done[0], 400);
    ll_context_free(ctx);
}

struct spread {
    struct record record;
    _Atomic int workers;
};

static ll_status only(ll_context *ctx, void *arg, int64_t task, int worker) {
    struct spread *s = arg;
    assert_int_equal(task + worker, 0);
    s->workers = lli_pool_workers(ctx);
    return lli_pool_run(ctx, mark, &s->record, TASKS);
}

/* A run inside the only task of a run has all workers, also two runs deep, and its failures come out. */
static ll_status only_of_one(ll_context *ctx, void *arg, int64_t task, int worker) {
    assert_int_equal(task + worker, 0);
    return lli_pool_run(ctx, only, arg, 1);
}

static void the_only_task_shares(void **state) {
    (void)state;
    ll_context *ctx = check_context(3);
    struct spread s = {.record = {.fail_from = -1}};
    CHECK_OK(ctx, lli_pool_run(ctx, only_of_one, &s, 1));
    assert_int_equal(s.workers, 3);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(s.record.done[i], 1);
    struct spread bad = {.record = {.fail_from = 5}};
    CHECK_FAILS(ctx, LL_ERR_DATA, "task 5 failed", lli_pool_run(ctx, only_of_one, &bad, 1));
    CHECK_OK(ctx, lli_pool_run(ctx, outer, &(struct record){.fail_from = -1}, 40));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),       cmocka_unit_test(lowest_failure_wins),
        cmocka_unit_test(a_later_lower_failure_wins), cmocka_unit_test(runs_nest),
        cmocka_unit_test(the_only_task_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
