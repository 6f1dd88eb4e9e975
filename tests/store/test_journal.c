/* SPDX-License-Identifier: MIT */
/* Lines that survive: torn ends are cut, two writers exclude each other, many threads write whole lines. Also the JSON reader. */
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "base/pool.h"
#include "check.h"
#include "store/journal.h"
#include "formats/tree.h"

static char folder[] = "/tmp/lastlayer-journal-XXXXXX", path[64];

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/lines", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return rmdir(folder);
}

static void expect(ll_context *ctx, const char *text) {
    char *found;
    int64_t size;
    CHECK_OK(ctx, lli_journal_read(&found, &size, ctx, path));
    assert_int_equal(size, strlen(text));
    assert_memory_equal(found, text, (size_t)size);
    lli_memory_free(found);
}

static void put_raw(const char *text) {
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_append(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_journal *j, *second;
    CHECK_FAILS(ctx, LL_ERR_READ, "lines: cannot be opened", lli_journal_read(&(char *){NULL}, &(int64_t){0}, ctx, path));
    CHECK_OK(ctx, lli_journal_open(&j, ctx, path));
    expect(ctx, "");
    CHECK_OK(ctx, lli_journal_append(ctx, j, "one", 3));
    CHECK_OK(ctx, lli_journal_append(ctx, j, "", 0));
    expect(ctx, "one\n\n");
    CHECK_FAILS(ctx, LL_ERR_WRITE, "another process is writing it", lli_journal_open(&second, ctx, path));
    assert_null(second);
    lli_journal_close(j);
    put_raw("torn");
    expect(ctx, "one\n\n");
    CHECK_OK(ctx, lli_journal_open(&j, ctx, path));
    CHECK_OK(ctx, lli_journal_append(ctx, j, "two", 3));
    expect(ctx, "one\n\ntwo\n");
    lli_journal_close(j);
    unlink(path);
    ll_context_free(ctx);
}

/* Lines of every length, each a byte longer than the last: the place for the next one grows in time. */
static void test_lengths(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static char line[700];
    memset(line, 'x', sizeof line);
    for (int64_t first = 0; first < 80; first += 31) {
        lli_journal *j;
        int64_t expected = 0, size;
        CHECK_OK(ctx, lli_journal_open(&j, ctx, path));
        CHECK_OK(ctx, lli_journal_append(ctx, j, line, first));
        for (int64_t length = 0; length < (int64_t)sizeof line; length++, expected += length)
            CHECK_OK(ctx, lli_journal_append(ctx, j, line, length));
        lli_journal_close(j);
        char *text;
        CHECK_OK(ctx, lli_journal_read(&text, &size, ctx, path));
        assert_int_equal(size, expected + first + 1);
        int64_t at = first + 1;
        for (int64_t length = 0; length < (int64_t)sizeof line; at += length + 1, length++)
            assert_true(text[at + length] == '\n' && !memchr(text + at, '\n', (size_t)length));
        lli_memory_free(text);
        unlink(path);
    }
    ll_context_free(ctx);
}

/* A disk that is full in the middle of a line: the file is as it was. */
static void test_full(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_journal *j;
    struct rlimit old, small = {10, RLIM_INFINITY};
    CHECK_OK(ctx, lli_journal_open(&j, ctx, path));
    CHECK_OK(ctx, lli_journal_append(ctx, j, "first", 5));
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    ll_status status = lli_journal_append(ctx, j, "too long", 8);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, LL_ERR_WRITE);
    assert_non_null(strstr(ctx->message, "lines: cannot be written"));
    expect(ctx, "first\n");
    CHECK_OK(ctx, lli_journal_append(ctx, j, "second", 6));
    expect(ctx, "first\nsecond\n");
    lli_journal_close(j);
    unlink(path);
    ll_context_free(ctx);
}

enum { WRITERS = 200, LINE = 5000 };

static ll_status write_line(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)worker;
    char line[LINE];
    memset(line, 'a' + (int)(task % 26), sizeof line);
    return lli_journal_append(ctx, arg, line, 10 + task * (LINE - 10) / WRITERS);
}

static void test_threads(void **state) {
    (void)state;
    ll_context *ctx = check_context(4);
    lli_journal *j;
    CHECK_OK(ctx, lli_journal_open(&j, ctx, path));
    CHECK_OK(ctx, lli_pool_run(ctx, write_line, j, WRITERS));
    lli_journal_close(j);
    char *text;
    int64_t size, lines = 0;
    CHECK_OK(ctx, lli_journal_read(&text, &size, ctx, path));
    for (int64_t at = 0; at < size; lines++) {
        int64_t start = at;
        for (; text[at] != '\n'; at++)
            assert_int_equal(text[at], text[start]);
        at++;
    }
    assert_int_equal(lines, WRITERS);
    lli_memory_free(text);
    unlink(path);
    ll_context_free(ctx);
}

static void test_tree(void **state) {
    (void)state;
    static const char text[] = "{\"a\": [1, 2.5, null], \"b\": \"x\", \"c\": {\"d\": true}, \"e\": -3}";
    ll_context *ctx = check_context(1);
    lli_tree *t;
    CHECK_OK(ctx, lli_tree_parse(&t, ctx, text, sizeof text - 1, "here"));
    const lli_tree *a = lli_tree_get(t, "a");
    assert_int_equal(lli_tree_count(a), 3);
    assert_int_equal(lli_tree_whole(lli_tree_at(a, 0)), 1);
    CHECK_NEAR(lli_tree_number(lli_tree_at(a, 1)), 2.5, 0);
    assert_true(isnan(lli_tree_number(lli_tree_at(a, 2))));
    assert_int_equal(lli_tree_whole(lli_tree_at(a, 1)), -1);
    assert_int_equal(lli_tree_whole(lli_tree_get(t, "e")), -1);
    assert_null(lli_tree_at(a, 3));
    assert_null(lli_tree_at(a, -1));
    assert_string_equal(lli_tree_text(lli_tree_get(t, "b")), "x");
    assert_null(lli_tree_text(a));
    assert_true(lli_tree_true(lli_tree_get(lli_tree_get(t, "c"), "d")));
    assert_null(lli_tree_get(lli_tree_get(t, "none"), "d"));
    assert_int_equal(lli_tree_count(lli_tree_get(t, "b")), 0);
    lli_tree_free(t);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "here: not JSON", lli_tree_parse(&t, ctx, text, 10, "here"));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "here: not JSON", lli_tree_parse(&t, ctx, "", 0, "here"));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "here: not JSON: an object that has a key twice at line 2, column 3",
                lli_tree_parse(&t, ctx, "[1,\n  {\"a\":1,\"a\":2}]", 20, "here"));
    ll_context_free(ctx);
}

/* Whichever allocation fails, the answer is memory, never "not JSON". */
static void test_tree_without_memory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const char unit[] = "{\"a\":[1,2],\"b\":\"some text that takes a while\"},";
    enum { UNITS = 2000 };
    size_t size = 0;
    char *text = malloc(UNITS * sizeof unit + 2);
    assert_non_null(text);
    text[size++] = '[';
    for (int i = 0; i < UNITS; i++, size += sizeof unit - 1)
        memcpy(text + size, unit, sizeof unit - 1);
    text[size - 1] = ']';
    lli_tree *t;
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, lli_tree_parse(&t, ctx, text, size, "here"));
    int64_t allocations = lli_memory_count(ctx) - before;
    assert_int_equal(lli_tree_count(t), UNITS);
    assert_in_range(allocations, 5, 50);
    lli_tree_free(t);
    for (int64_t i = 1; i <= allocations; i++) {
        lli_memory_fail_at(ctx, i);
        CHECK_FAILS(ctx, LL_ERR_MEMORY, "memory ran out", lli_tree_parse(&t, ctx, text, size, "here"));
        assert_null(t);
    }
    free(text);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),  cmocka_unit_test(test_lengths), cmocka_unit_test(test_full),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_tree),    cmocka_unit_test(test_tree_without_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
