/* SPDX-License-Identifier: MIT */
/* Shares cover the work once; the parts of an output are found by their names, and what is missing is named. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "store/parts.h"

static char folder[] = "/tmp/lastlayer-parts-XXXXXX", path[64];

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/e[1].safetensors", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return rmdir(folder);
}

/* Shares lie end to end, and no two differ by more than one. */
static void test_shares(void **state) {
    (void)state;
    static const int64_t totals[] = {0, 1, 2, 7, 100, 1000003, INT64_MAX / 2};
    static const int64_t counts[] = {1, 2, 3, 7, 64, 1000, LLI_SHARE_MAX};
    for (size_t t = 0; t < sizeof totals / sizeof *totals; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            int64_t end = 0, least = totals[t] / counts[c];
            for (int64_t i = 0; i < counts[c]; i++) {
                const lli_share share = {i, counts[c]};
                assert_true(lli_share_begin(&share, totals[t]) == end);
                end = lli_share_end(&share, totals[t]);
                int64_t size = end - lli_share_begin(&share, totals[t]);
                assert_true(size == least || size == least + 1);
            }
            assert_true(end == totals[t]);
        }
    const lli_share all = {0, 0};
    assert_true(lli_share_begin(&all, 9) == 0 && lli_share_end(&all, 9) == 9);
}

static void test_take(void **state) {
    (void)state;
    static const int64_t wrong[][2] = {{0, 3}, {4, 3}, {-1, 3}, {1, 0}, {1, -1}, {1, (int64_t)LLI_SHARE_MAX + 1}};
    ll_context *ctx = check_context(1);
    lli_share share;
    CHECK_OK(ctx, lli_parts_take(&share, ctx, 3, 8));
    assert_true(share.index == 2 && share.count == 8);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(ctx, LL_ERR_USAGE, "expected I/N", lli_parts_take(&share, ctx, wrong[i][0], wrong[i][1]));
    char *name;
    CHECK_OK(ctx, lli_parts_path(&name, ctx, "e.safetensors", &(lli_share){2, 8}));
    assert_string_equal(name, "e.safetensors.part-3-of-8");
    lli_memory_free(name);
    ll_context_free(ctx);
}

/* An empty file of this ending, or its end. */
static void touch(const char *ending, bool there) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", path, ending);
    FILE *f = there ? fopen(name, "w") : NULL;
    assert_true(there ? f != NULL : unlink(name) == 0);
    if (f)
        fclose(f);
}

static void test_find(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_parts parts;
    CHECK_FAILS(ctx, LL_ERR_READ, "has no parts", lli_parts_find(&parts, ctx, path));
    static const char *const strangers[] = {".part-1-of-3.partial", ".part-0-of-3", ".part-4-of-3", ".part-x-of-3", ".part-1-of-3x"};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        touch(strangers[i], true);
    CHECK_FAILS(ctx, LL_ERR_READ, "has no parts", lli_parts_find(&parts, ctx, path));
    touch(".part-2-of-3", true);
    CHECK_FAILS(ctx, LL_ERR_READ, "parts 1, 3 of 3 are missing; run them, with resume", lli_parts_find(&parts, ctx, path));
    touch(".part-1-of-3", true);
    touch(".part-2-of-3.partial", true); /* of parts that are there: no reason to resume */
    CHECK_FAILS(ctx, LL_ERR_READ, "part 3 of 3 is missing; run it, then merge again", lli_parts_find(&parts, ctx, path));
    touch(".part-2-of-3.partial", false);
    touch(".part-3-of-3.partial", true);
    CHECK_FAILS(ctx, LL_ERR_READ, "part 3 of 3 is missing; run it, with resume where it was begun, then merge again",
                lli_parts_find(&parts, ctx, path));
    touch(".part-3-of-3.partial", false);
    touch(".part-3-of-3", true);
    CHECK_OK(ctx, lli_parts_find(&parts, ctx, path));
    assert_int_equal(parts.count, 3);
    assert_non_null(strstr(parts.path[2], "e[1].safetensors.part-3-of-3"));
    lli_parts_release(&parts);
    touch(".part-03-of-3", true);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "are the same part", lli_parts_find(&parts, ctx, path));
    touch(".part-03-of-3", false);
    touch(".part-2-of-4", true);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "remove those of one kind", lli_parts_find(&parts, ctx, path));
    static const char *const all[] = {".part-2-of-4", ".part-1-of-3", ".part-2-of-3", ".part-3-of-3"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        touch(all[i], false);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        touch(strangers[i], false);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
