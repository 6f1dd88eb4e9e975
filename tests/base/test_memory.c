/* SPDX-License-Identifier: MIT */
/* The limit of memory: of a context, of a file, of the control group. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/account.h"
#include "base/arena.h"
#include "base/pool.h"
#include "../check.h"

enum { MIB = 1 << 20 };

static ll_context *limited(int64_t memory, int threads) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    options.memory = memory;
    ll_context *ctx;
    CHECK_OK(ctx, ll_context_new(&ctx, &options));
    return ctx;
}

static void the_limit_counts_what_lives(void **state) {
    (void)state;
    ll_context *ctx = limited(10 * MIB, 1);
    char *a, *b;
    assert_int_equal(lli_memory_left(ctx), 10 * MIB);
    CHECK_OK(ctx, lli_memory_new(ctx, &a, 6 * MIB, 1));
    assert_in_range(lli_memory_left(ctx), 4 * MIB - 1000, 4 * MIB);
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "5242880 bytes of memory are needed", lli_memory_new(ctx, &b, 5 * MIB, 1));
    assert_non_null(strstr(ctx->message, "the limit is 10485760; memory=BYTES raises it"));
    assert_null(b);
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "limit", lli_memory_grow(ctx, &a, 6 * MIB, 7 * MIB, 1)); /* the old one lives until it is copied */
    lli_memory_free(a);
    assert_int_equal(lli_memory_left(ctx), 10 * MIB);
    CHECK_OK(ctx, lli_memory_new(ctx, &b, 9 * MIB, 1));
    for (int64_t i = 0; i < 9 * MIB; i += 4096)
        assert_int_equal(b[i], 0);
    lli_memory_free(b);
    ll_context_free(ctx);
}

static void blocks_are_aligned_whatever_their_size(void **state) {
    (void)state;
    ll_context *ctx = limited(64 * MIB, 1);
    const int64_t sizes[] = {0, 1, 63, 64, 65, 4096, 4 * MIB - 1, 4 * MIB, 9 * MIB + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *block = NULL;
        CHECK_OK(ctx, lli_memory_grow(ctx, &block, 0, sizes[i], 1));
        assert_int_equal((uintptr_t)block % (sizes[i] >= 4 * MIB ? 2 * MIB : 64), 0);
        memset(block, 7, (size_t)sizes[i]);
        lli_memory_free(block);
    }
    assert_int_equal(lli_memory_left(ctx), 64 * MIB);
    ll_context_free(ctx);
}

static void a_negative_limit_is_refused(void **state) {
    (void)state;
    ll_context_options options = ll_context_options_default();
    options.memory = -1;
    ll_context *ctx;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "memory is -1 bytes", ll_context_new(&ctx, &options));
    ll_context_free(ctx);
}

static void a_block_may_outlive_its_context(void **state) {
    (void)state;
    ll_context *ctx = limited(MIB, 1);
    char *block, *of_file;
    lli_budget budget;
    CHECK_OK(ctx, lli_memory_new(ctx, &block, 100, 1));
    CHECK_OK(ctx, lli_memory_budget_begin(&budget, ctx, "a file", 100));
    CHECK_OK(ctx, lli_memory_new(ctx, &of_file, 100, 1));
    lli_memory_budget_end(&budget, ctx);
    ll_context_free(ctx);
    block[99] = of_file[99] = 1;
    lli_memory_free(of_file);
    lli_memory_free(block); /* a leak or a second free shows under AddressSanitizer */
}

static void a_file_has_a_budget(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t all = lli_memory_left(ctx);
    char *a, *b;
    lli_budget budget, inner;
    CHECK_OK(ctx, lli_memory_budget_begin(&budget, ctx, "small.npy", 1000));
    CHECK_OK(ctx, lli_memory_new(ctx, &a, 20 * MIB, 1));
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "small.npy: reading it needs", lli_memory_new(ctx, &b, 13 * MIB, 1));
    assert_non_null(strstr(ctx->message, "more than 64 times its size plus 32 MiB; if you trust the file, give memory=BYTES"));
    CHECK_OK(ctx, lli_memory_budget_begin(&inner, ctx, "other.npy", MIB)); /* what it holds counts for the outer one too */
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "small.npy", lli_memory_new(ctx, &b, 13 * MIB, 1));
    lli_memory_budget_end(&inner, ctx);
    lli_memory_free(a);
    CHECK_OK(ctx, lli_memory_new(ctx, &b, 30 * MIB, 1)); /* what is given back can be had again */
    lli_memory_budget_end(&budget, ctx);
    lli_memory_budget_end(&budget, ctx); /* at its end already: nothing */
    CHECK_OK(ctx, lli_memory_new(ctx, &a, 40 * MIB, 1));
    lli_memory_free(a);
    lli_memory_free(b);
    assert_int_equal(lli_memory_left(ctx), all);
    assert_int_equal(lli_memory_budget_bytes(ctx, 1000), 64000 + 32 * MIB);
    assert_int_equal(lli_memory_budget_bytes(ctx, SIZE_MAX / 2), INT64_MAX);
    ll_context_free(ctx);
}

static void a_given_limit_lifts_that_of_files(void **state) {
    (void)state;
    ll_context *ctx = limited(100 * MIB, 1);
    char *a, *b;
    lli_budget budget;
    CHECK_OK(ctx, lli_memory_budget_begin(&budget, ctx, "small.npy", 1000));
    CHECK_OK(ctx, lli_memory_new(ctx, &a, 90 * MIB, 1));
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "the limit is 104857600", lli_memory_new(ctx, &b, 13 * MIB, 1));
    lli_memory_budget_end(&budget, ctx);
    lli_memory_free(a);
    ll_context_free(ctx);
}

static ll_status allocate_much(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)arg, (void)worker;
    for (int64_t i = 0; i < 2000; i++) {
        char *block;
        ll_status status = lli_memory_new(ctx, &block, 1 + (task * 131 + i * 17) % 5000, 1);
        if (status != LL_OK)
            return status;
        lli_memory_free(block);
    }
    return LL_OK;
}

static void threads_share_the_account(void **state) {
    (void)state;
    ll_context *ctx = limited(MIB, 4);
    CHECK_OK(ctx, lli_pool_run(ctx, allocate_much, NULL, 16));
    assert_int_equal(lli_memory_left(ctx), MIB);
    ll_context_free(ctx);
}

/* ---- control groups ---- */

static char root[64];

static void put(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *p = whole + strlen(root) + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(whole, 0777);
            *p = '/';
        }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int new_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/lastlayer-cgroup-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -r %s", root);
    return system(line);
}

static void no_group_no_limit(void **state) {
    (void)state;
    assert_int_equal(lli_account_cgroup(root), INT64_MAX);
    put("/proc/self/cgroup", "0::/user.slice/a.scope\n");
    assert_int_equal(lli_account_cgroup(root), INT64_MAX);
    put("/sys/fs/cgroup/user.slice/a.scope/memory.max", "max\n");
    assert_int_equal(lli_account_cgroup(root), INT64_MAX);
}

static void the_smallest_group_counts(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/user.slice/a.scope\n");
    put("/sys/fs/cgroup/user.slice/a.scope/memory.max", "4000000000\n");
    assert_int_equal(lli_account_cgroup(root), 4000000000);
    put("/sys/fs/cgroup/user.slice/memory.max", "3000000000\n");
    assert_int_equal(lli_account_cgroup(root), 3000000000);
    put("/sys/fs/cgroup/memory.max", "5000000000\n");
    assert_int_equal(lli_account_cgroup(root), 3000000000);
}

static void version_1_counts_too(void **state) {
    (void)state;
    put("/proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/docker/abc\n3:nomemory:/y\n0::/\n");
    put("/sys/fs/cgroup/memory/y/memory.limit_in_bytes", "7\n"); /* of another controller's group */
    /* in a container the name of its group is the host's: only the outermost folder is there */
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000000\n");
    assert_int_equal(lli_account_cgroup(root), 2000000000);
    put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "1000000000\n");
    assert_int_equal(lli_account_cgroup(root), 1000000000);
}

static void without_a_limit_the_machine_decides(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t left = lli_memory_left(ctx), physical = lli_memory_physical(), group = lli_account_cgroup("");
    assert_int_equal(left, group < physical ? group : physical / 4 * 3);
    ll_context_free(ctx);
}

/* Pieces do not overlap, and 100000 of them cost little more than their bytes. */
static void an_arena_packs_small_pieces(void **state) {
    (void)state;
    enum { COUNT = 100000, BYTES = 5 };
    ll_context *ctx = limited(16 * MIB, 1);
    lli_arena arena = {0};
    unsigned char **pieces;
    CHECK_OK(ctx, lli_memory_new(ctx, &pieces, COUNT, sizeof *pieces));
    int64_t before = lli_memory_left(ctx), allocations = lli_memory_count(ctx);
    for (int i = 0; i < COUNT; i++) {
        size_t align = (size_t)1 << i % 5;
        CHECK_OK(ctx, lli_arena_take(ctx, &arena, &pieces[i], BYTES, align));
        assert_int_equal((uintptr_t)pieces[i] % align, 0);
        for (int k = 0; k < BYTES; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], i % 251 + 1, BYTES);
    }
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < BYTES; k++)
            assert_int_equal(pieces[i][k], i % 251 + 1);
    assert_in_range(before - lli_memory_left(ctx), COUNT * BYTES, 3 * COUNT * BYTES + MIB);
    assert_in_range(lli_memory_count(ctx) - allocations, 1, 20);
    char *text;
    CHECK_OK(ctx, lli_arena_text(ctx, &arena, &text, "a name"));
    assert_string_equal(text, "a name");
    lli_arena_release(&arena);
    assert_int_equal(lli_memory_left(ctx), before);
    lli_memory_fail_at(ctx, 1);
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "memory ran out", lli_arena_text(ctx, &arena, &text, "a name"));
    lli_arena_release(&arena);
    lli_memory_free(pieces);
    ll_context_free(ctx);
}

#ifdef __SANITIZE_ADDRESS__
/* Whether a process that writes to this byte lives on. */
static bool survives(volatile char *place) {
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO); /* the sanitizer's report */
        *place = 1;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Blocks are rounded up and stand behind a head: a step beyond what was asked for must not go unseen. */
static void the_sanitizer_sees_the_end_of_a_block(void **state) {
    (void)state;
    ll_context *ctx = limited(64 * MIB, 1);
    const int64_t sizes[] = {0, 1, 63, 64, 65, 4096, 9 * MIB + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *block;
        CHECK_OK(ctx, lli_memory_new(ctx, &block, sizes[i], 1));
        if (sizes[i] > 0)
            assert_true(survives(block + sizes[i] - 1));
        assert_false(survives(block + sizes[i]));
        assert_false(survives(block + sizes[i] + 7));
        lli_memory_free(block);
    }
    ll_context_free(ctx);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_counts_what_lives),
        cmocka_unit_test(blocks_are_aligned_whatever_their_size),
        cmocka_unit_test(an_arena_packs_small_pieces),
#ifdef __SANITIZE_ADDRESS__
        cmocka_unit_test(the_sanitizer_sees_the_end_of_a_block),
#endif
        cmocka_unit_test(a_negative_limit_is_refused),
        cmocka_unit_test(a_block_may_outlive_its_context),
        cmocka_unit_test(a_file_has_a_budget),
        cmocka_unit_test(a_given_limit_lifts_that_of_files),
        cmocka_unit_test(threads_share_the_account),
        cmocka_unit_test_setup_teardown(no_group_no_limit, new_root, remove_root),
        cmocka_unit_test_setup_teardown(the_smallest_group_counts, new_root, remove_root),
        cmocka_unit_test_setup_teardown(version_1_counts_too, new_root, remove_root),
        cmocka_unit_test(without_a_limit_the_machine_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
