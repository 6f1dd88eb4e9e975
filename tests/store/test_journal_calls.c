/* SPDX-License-Identifier: MIT */
/* The journal on a system whose calls are interrupted, do half of what they were asked for, or fail: the calls are this test's own. */
#include <errno.h>
#include <sys/file.h>
#include <sys/types.h>

#include "check.h"
#include "folder.h"
#include "store/journal.h"
#include "two_methods.h"

ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);
int __real_flock(int fd, int what);
int __wrap_flock(int fd, int what);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
ssize_t __real_pread64(int fd, void *bytes, size_t count, off_t at);
ssize_t __wrap_pread64(int fd, void *bytes, size_t count, off_t at);

/* What the next calls do: `fails` of them with `error`, then they go through, `most` bytes at a time. */
typedef struct plan {
    int fails, error, calls;
    size_t most;
} plan;

static plan writing, locking, flushing, cutting, reading;

static bool fails(plan *p) {
    p->calls++;
    if (p->fails <= 0)
        return false;
    p->fails--;
    errno = p->error;
    return true;
}

static size_t some(const plan *p, size_t count) {
    return p->most && p->most < count ? p->most : count;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t count) {
    if (fd < 3)
        return __real_write(fd, bytes, count);
    return fails(&writing) ? -1 : __real_write(fd, bytes, some(&writing, count));
}

int __wrap_flock(int fd, int what) {
    return fails(&locking) ? -1 : __real_flock(fd, what);
}

int __wrap_fsync(int fd) {
    return fails(&flushing) ? -1 : __real_fsync(fd);
}

int __wrap_ftruncate64(int fd, off_t size) {
    return fails(&cutting) ? -1 : __real_ftruncate64(fd, size);
}

ssize_t __wrap_pread64(int fd, void *bytes, size_t count, off_t at) {
    return fails(&reading) ? -1 : __real_pread64(fd, bytes, some(&reading, count), at);
}

static void reset(void) {
    writing = locking = flushing = cutting = reading = (plan){0};
    errno = 0;
}

static void expect(const char *text) {
    folder_bytes found = folder_read("lines");
    assert_string_equal((const char *)found.data, text);
    free(found.data);
}

static lli_journal *fresh(ll_context *ctx, const char *text) {
    lli_journal *j;
    reset();
    folder_clear();
    folder_write("lines", text, strlen(text));
    CHECK_OK(ctx, lli_journal_open(&j, ctx, folder_path("lines")));
    return j;
}

static void test_interrupted(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int times = 0; times < 3; times++) {
        lli_journal *j = fresh(ctx, "");
        writing = (plan){.fails = times, .error = EINTR, .most = 2};
        CHECK_OK(ctx, lli_journal_append(ctx, j, "one line", 8));
        assert_int_equal(writing.calls, times + 5); /* nine bytes, two at a time */
        expect("one line\n");
        lli_journal_close(j);
        reset();
        locking = (plan){.fails = times, .error = EINTR};
        reading = (plan){.fails = times, .error = EINTR, .most = 3};
        CHECK_OK(ctx, lli_journal_open(&j, ctx, folder_path("lines")));
        assert_int_equal(locking.calls, times + 1);
        assert_int_equal(reading.calls, times + 3);
        lli_journal_close(j);
        reset();
        reading = (plan){.fails = times, .error = EINTR, .most = 4};
        char *text;
        int64_t size;
        CHECK_OK(ctx, lli_journal_read(&text, &size, ctx, folder_path("lines")));
        assert_int_equal(size, 9);
        assert_memory_equal(text, "one line\n", 9);
        lli_memory_free(text);
    }
    ll_context_free(ctx);
}

static void test_failing(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    char *text;
    int64_t size = 7;
    /* a write: nothing of the line stays */
    lli_journal *j = fresh(ctx, "old\n");
    writing = (plan){.fails = 1, .error = ENOSPC};
    CHECK_FAILS(ctx, LL_ERR_WRITE, "lines: cannot be written: No space left", lli_journal_append(ctx, j, "new", 3));
    expect("old\n");
    CHECK_OK(ctx, lli_journal_append(ctx, j, "new", 3));
    expect("old\nnew\n");
    /* a disk that does not take it: neither */
    flushing = (plan){.fails = 1, .error = EIO};
    CHECK_FAILS(ctx, LL_ERR_WRITE, "lines: cannot be written: Input/output error", lli_journal_append(ctx, j, "more", 4));
    expect("old\nnew\n");
    /* a file system that cannot flush: the line counts */
    static const int harmless[] = {EINVAL, ENOTSUP};
    for (int i = 0; i < 2; i++) {
        flushing = (plan){.fails = 1, .error = harmless[i]};
        CHECK_OK(ctx, lli_journal_append(ctx, j, "x", 1));
        assert_int_equal(flushing.calls, 1); /* once for each line */
    }
    expect("old\nnew\nx\nx\n");
    lli_journal_close(j);
    /* an end that cannot be cut off */
    folder_write("lines", "old\ntorn", 8);
    reset();
    cutting = (plan){.fails = 1, .error = EIO};
    CHECK_FAILS(ctx, LL_ERR_WRITE, "lines: its unfinished last line cannot be cut off: Input/output error",
                lli_journal_open(&j, ctx, folder_path("lines")));
    assert_null(j);
    expect("old\ntorn");
    /* a file without locks is taken, one that is locked is not */
    locking = (plan){.fails = 1, .error = ENOTSUP};
    CHECK_OK(ctx, lli_journal_open(&j, ctx, folder_path("lines")));
    expect("old\n");
    lli_journal_close(j);
    reset();
    CHECK_OK(ctx, lli_journal_open(&j, ctx, folder_path("lines")));
    assert_int_equal(cutting.calls, 0); /* nothing to cut */
    lli_journal_close(j);
    locking = (plan){.fails = 1, .error = EWOULDBLOCK};
    CHECK_FAILS(ctx, LL_ERR_WRITE, "lines is locked: another process", lli_journal_open(&j, ctx, folder_path("lines")));
    /* reading */
    reset();
    reading = (plan){.fails = 1, .error = EIO};
    CHECK_FAILS(ctx, LL_ERR_READ, "lines: cannot be read: Input/output error", lli_journal_read(&text, &size, ctx, folder_path("lines")));
    assert_null(text);
    reading = (plan){.fails = 1, .error = EIO};
    CHECK_FAILS(ctx, LL_ERR_READ, "lines: cannot be read: Input/output error", lli_journal_open(&j, ctx, folder_path("lines")));
    CHECK_FAILS(ctx, LL_ERR_READ, ": is not a regular file", lli_journal_read(&text, &size, ctx, folder_path(".")));
    CHECK_FAILS(ctx, LL_ERR_WRITE, ": cannot be opened for writing", lli_journal_open(&j, ctx, folder_path(".")));
    lli_journal_close(NULL);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interrupted), cmocka_unit_test(test_failing)};
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
