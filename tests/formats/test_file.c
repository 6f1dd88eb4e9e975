/* SPDX-License-Identifier: MIT */
/* Output files: the target is the old one or the whole new one, devices stay devices, and two writers never meet. */
#include "samples.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "formats/file.h"
#include "formats/format.h"

static bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

static void expect_content(const char *path, const char *text) {
    size_t size;
    unsigned char *bytes = sample_bytes(path, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

/* Without /proc a file cannot get its name late: then it has one from the start. */
int __wrap_access(const char *path, int mode);
int __real_access(const char *path, int mode);

static bool no_proc;

int __wrap_access(const char *path, int mode) {
    return no_proc && strcmp(path, "/proc/self/fd") == 0 ? -1 : __real_access(path, mode);
}

/* The first name of a work file: hidden, and made of the SHA-256 of the target's. */
static void work_name(char *out, size_t size, const char *target) {
    const char *base = strrchr(target, '/') + 1;
    char digest[LLI_HASH_TEXT];
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, base, strlen(base));
    lli_hash_text(&hash, digest);
    snprintf(out, size, "%.*s.lastlayer-%.16s-0.tmp", (int)(base - target), target, digest);
}

static void check_replace(void) {
    ll_context *ctx = check_context(1);
    lli_outfile *file;
    const char *path = sample_temporary("out"), *work = sample_temporary("out.tmp");
    sample_write(path, "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    sample_write(work, "somebody's own", 14);
    CHECK_OK(ctx, lli_outfile_open(&file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, file, 3, "def", 3));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, file, 0, "abc", 3));
    char name[300];
    work_name(name, sizeof name, path);
    assert_int_equal(exists(name), no_proc);
    expect_content(path, "old");
    CHECK_OK(ctx, lli_outfile_commit(ctx, file));
    assert_false(exists(name));
    expect_content(path, "abcdef");
    expect_content(work, "somebody's own");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    CHECK_OK(ctx, lli_outfile_open(&file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, file, 0, "xyz", 3));
    lli_outfile_abandon(file);
    assert_false(exists(name));
    expect_content(path, "abcdef");
    expect_content(work, "somebody's own");
    unlink(path);
    unlink(work);
    ll_context_free(ctx);
}

static void test_replace(void **state) {
    (void)state;
    check_replace();
    no_proc = true;
    check_replace();
    no_proc = false;
}

static void test_resume(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_outfile *file;
    bool found;
    int64_t size;
    char back[4] = "";
    const char *path = sample_temporary("ens"), *work = sample_temporary("ens.partial");
    CHECK_OK(ctx, lli_outfile_open(&file, &found, ctx, path, ".partial", LLI_OUTFILE_NEW));
    assert_false(found);
    CHECK_OK(ctx, lli_outfile_write_at(ctx, file, 0, "0123456789", 10));
    lli_outfile_abandon(file);
    expect_content(work, "0123456789");
    assert_false(exists(path));
    CHECK_FAILS(ctx, LL_ERR_WRITE, "holds an unfinished run", lli_outfile_open(&file, &found, ctx, path, ".partial", LLI_OUTFILE_NEW));
    assert_null(file);
    expect_content(work, "0123456789");
    CHECK_OK(ctx, lli_outfile_open(&file, &found, ctx, path, ".partial", LLI_OUTFILE_RESUME));
    assert_true(found);
    CHECK_OK(ctx, lli_outfile_read_at(ctx, file, 6, back, 4));
    assert_memory_equal(back, "6789", 4);
    CHECK_FAILS(ctx, LL_ERR_WRITE, "ends at byte 10", lli_outfile_read_at(ctx, file, 8, back, 4));
    CHECK_OK(ctx, lli_outfile_truncate(ctx, file, 4));
    CHECK_OK(ctx, lli_outfile_size(&size, ctx, file));
    assert_int_equal(size, 4);
    CHECK_OK(ctx, lli_outfile_commit(ctx, file));
    expect_content(path, "0123");
    assert_false(exists(work));
    /* Nothing to resume; and one that is not worth keeping. */
    CHECK_OK(ctx, lli_outfile_open(&file, &found, ctx, path, ".partial", LLI_OUTFILE_RESUME));
    assert_false(found);
    lli_outfile_keep(file, false);
    lli_outfile_abandon(file);
    assert_false(exists(work));
    unlink(path);
    ll_context_free(ctx);
}

static void test_lock(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_outfile *first, *second;
    const char *path = sample_temporary("busy");
    CHECK_OK(ctx, lli_outfile_open(&first, NULL, ctx, path, ".partial", LLI_OUTFILE_RESUME));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, first, 0, "one", 3));
    CHECK_FAILS(ctx, LL_ERR_WRITE, "another process is writing it",
                lli_outfile_open(&second, NULL, ctx, path, ".partial", LLI_OUTFILE_RESUME));
    CHECK_OK(ctx, lli_outfile_commit(ctx, first));
    expect_content(path, "one");
    CHECK_OK(ctx, lli_outfile_open(&second, NULL, ctx, path, ".partial", LLI_OUTFILE_RESUME));
    lli_outfile_keep(second, false);
    lli_outfile_abandon(second);
    unlink(path);
    ll_context_free(ctx);
}

/* Two that replace the same file do not see each other: it is the whole of either. */
static void test_two_writers(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_outfile *first, *second;
    const char *path = sample_temporary("twice");
    CHECK_OK(ctx, lli_outfile_open(&first, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    CHECK_OK(ctx, lli_outfile_open(&second, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, first, 0, "first", 5));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, second, 0, "second", 6));
    CHECK_OK(ctx, lli_outfile_commit(ctx, second));
    expect_content(path, "second");
    CHECK_OK(ctx, lli_outfile_commit(ctx, first));
    expect_content(path, "first");
    unlink(path);
    ll_context_free(ctx);
}

/* Writes "new" to the target by every step of the way. */
static ll_status write_new(ll_context *ctx, const char *target) {
    lli_outfile *file;
    LLI_TRY(lli_outfile_open(&file, NULL, ctx, target, NULL, LLI_OUTFILE_REPLACE));
    ll_status status = lli_outfile_write_at(ctx, file, 0, "new", 3);
    if (status == LL_OK)
        return lli_outfile_commit(ctx, file);
    lli_outfile_abandon(file);
    return status;
}

/* A process that was killed between link and rename left its work file and no lock: the next writer removes it, with and without
 * nameless files. One whose owner lives is left alone. */
static void test_left_behind(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *path = sample_temporary("stale");
    char name[300];
    work_name(name, sizeof name, path);
    for (int round = 0; round < 2; round++) {
        no_proc = round;
        sample_write(path, "old", 3);
        sample_write(name, "left", 4);
        CHECK_OK(ctx, write_new(ctx, path));
        assert_false(exists(name));
        expect_content(path, "new");
        sample_write(name, "held", 4);
        int fd = open(name, O_RDWR);
        assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
        CHECK_OK(ctx, write_new(ctx, path));
        expect_content(name, "held");
        close(fd);
    }
    no_proc = false;
    unlink(name);
    unlink(path);
    ll_context_free(ctx);
}

/* Every name that the file system takes can be written and replaced; a longer one is refused before anything is made. */
static void test_long_names(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *folder = sample_temporary("");
    for (size_t length = 240; length <= 256; length++) {
        char path[600];
        int at = snprintf(path, sizeof path, "%s/", folder);
        memset(path + at, 'n', length);
        path[(size_t)at + length] = 0;
        if (length > 255) {
            lli_outfile *file;
            CHECK_FAILS(ctx, LL_ERR_WRITE, "too long", lli_outfile_open(&file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
            continue;
        }
        CHECK_OK(ctx, write_new(ctx, path));
        CHECK_OK(ctx, write_new(ctx, path));
        expect_content(path, "new");
        lli_outfile *file;
        if (length + strlen(".partial") > 255)
            CHECK_FAILS(ctx, LL_ERR_WRITE, "which adds .partial", lli_outfile_open(&file, NULL, ctx, path, ".partial", LLI_OUTFILE_NEW));
        unlink(path);
    }
    ll_context_free(ctx);
}

static void test_links(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *real = sample_temporary("real"), *one = sample_temporary("one"), *two = sample_temporary("two");
    assert_int_equal(symlink("real", one), 0);
    assert_int_equal(symlink(one, two), 0);
    assert_false(lli_file_same(two, real));
    CHECK_OK(ctx, write_new(ctx, two)); /* through a dangling chain */
    expect_content(real, "new");
    assert_true(lli_file_same(two, real));
    assert_false(lli_file_same(sample_path("npy/f4.npy"), real));
    sample_write(real, "old", 3);
    CHECK_OK(ctx, write_new(ctx, two));
    expect_content(real, "new");
    struct stat st;
    assert_true(lstat(two, &st) == 0 && S_ISLNK(st.st_mode));
    unlink(one);
    assert_int_equal(symlink("two", one), 0);
    unlink(real);
    CHECK_FAILS(ctx, LL_ERR_WRITE, "symbolic links", write_new(ctx, two));
    unlink(one);
    unlink(two);
    ll_context_free(ctx);
}

static void test_devices(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    struct stat st;
    if (stat("/dev/full", &st) != 0 || !S_ISCHR(st.st_mode))
        skip();
    CHECK_FAILS(ctx, LL_ERR_WRITE, "/dev/full: cannot be written: No space left on device", write_new(ctx, "/dev/full"));
    assert_true(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
    CHECK_OK(ctx, write_new(ctx, "/dev/null"));
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    const char *link = sample_temporary("x.npz");
    assert_int_equal(symlink("/dev/full", link), 0);
    const float x[2] = {1, 2};
    ll_named_array array = {"x", ll_array_view(x, LL_DTYPE_F32, 1, (int64_t[]){2})};
    CHECK_FAILS(ctx, LL_ERR_WRITE, "No space left on device", ll_bundle_write(ctx, link, &array, 1, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_WRITE, "No space left on device", ll_bundle_write(ctx, "/dev/full", &array, 1, NULL, 0));
    unlink(link);
    ll_context_free(ctx);
}

/* A pipe on both ends: what one process writes, another reads. */
static void test_pipe(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *fifo = sample_temporary("fifo"), *copy = sample_temporary("copy.npy");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ll_context *mine = check_context(1);
        _exit(ll_convert(mine, copy, fifo, NULL) == LL_OK ? 0 : 1);
    }
    size_t size;
    unsigned char *bytes = sample_bytes(sample_path("npy/f4.npy"), &size);
    lli_outfile *file;
    CHECK_OK(ctx, lli_outfile_open(&file, NULL, ctx, fifo, NULL, LLI_OUTFILE_REPLACE));
    CHECK_OK(ctx, lli_outfile_write_at(ctx, file, 0, bytes, size));
    CHECK_OK(ctx, lli_outfile_commit(ctx, file));
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    struct stat st;
    assert_true(stat(fifo, &st) == 0 && S_ISFIFO(st.st_mode));
    size_t copied;
    unsigned char *back = sample_bytes(copy, &copied);
    assert_memory_equal(back + copied - 24, bytes + size - 24, 24);
    free(back);
    free(bytes);
    unlink(fifo);
    unlink(copy);
    ll_context_free(ctx);
}

static void test_impossible_targets(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    CHECK_FAILS(ctx, LL_ERR_WRITE, "is a folder", write_new(ctx, sample_temporary("")));
    CHECK_FAILS(ctx, LL_ERR_WRITE, "folder does not exist", write_new(ctx, sample_temporary("none/out")));
    CHECK_FAILS(ctx, LL_ERR_WRITE, "empty", write_new(ctx, ""));
    const char *path = sample_temporary("blocked"), *work = sample_temporary("blocked.partial");
    assert_int_equal(mkdir(work, 0700), 0);
    lli_outfile *file;
    CHECK_FAILS(ctx, LL_ERR_WRITE, "blocked.partial", lli_outfile_open(&file, NULL, ctx, path, ".partial", LLI_OUTFILE_NEW));
    rmdir(work);
    ll_context_free(ctx);
}

/* Permissions do not bind the superuser, so the question is asked as somebody else. */
static void test_permissions(void **state) {
    (void)state;
    const char *folder = sample_temporary("locked"), *inside = sample_temporary("locked/out"), *secret = sample_temporary("secret.npy");
    assert_int_equal(mkdir(folder, 0555), 0);
    sample_write(secret, "x", 1);
    assert_int_equal(chmod(secret, 0), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(9);
        ll_context *ctx = check_context(1);
        ll_bundle *bundle;
        bool folder_ok = write_new(ctx, inside) == LL_ERR_WRITE && strstr(ctx->message, "Permission denied");
        bool file_ok = ll_bundle_read(&bundle, ctx, secret) == LL_ERR_READ && strstr(ctx->message, "Permission denied");
        bool target_ok = write_new(ctx, secret) == LL_ERR_WRITE;
        _exit(!folder_ok + 2 * !file_ok + 4 * !target_ok);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_false(exists(inside));
    unlink(secret);
    rmdir(folder);
}

static void test_reading(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_file file;
    const char *empty = sample_temporary("empty.npy");
    CHECK_FAILS(ctx, LL_ERR_READ, "none.npy: cannot be opened: No such file", lli_file_read(&file, ctx, sample_temporary("none.npy")));
    CHECK_FAILS(ctx, LL_ERR_READ, "is a folder", lli_file_read(&file, ctx, sample_temporary("")));
    sample_write(empty, "", 0);
    CHECK_FAILS(ctx, LL_ERR_READ, "is empty", lli_file_read(&file, ctx, empty));
    CHECK_FAILS(ctx, LL_ERR_READ, "is empty", lli_file_read(&file, ctx, "/dev/null"));
    unlink(empty);
    CHECK_OK(ctx, lli_file_read(&file, ctx, sample_path("idx/u8.idx")));
    assert_true(file.mapped && file.size == 24);
    lli_file_release(&file);
    ll_context_free(ctx);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const char *const names[] = {"m.npy", "m.npz", "m.safetensors", "m.csv", "m.idx"};
    const float x[4] = {1, 2, 3, 4};
    ll_named_array array = {"x", ll_array_view(x, LL_DTYPE_F32, 2, (int64_t[]){2, 2})};
    ll_meta meta = {"key", "value"};
    for (size_t i = 0; i < LLI_COUNT(names); i++) {
        const char *path = sample_temporary(names[i]);
        ll_status status = LL_ERR_MEMORY;
        for (int64_t n = 1; status == LL_ERR_MEMORY && n < 1000; n++) {
            assert_false(exists(path));
            lli_memory_fail_at(ctx, n);
            status = ll_bundle_write(ctx, path, &array, 1, &meta, 1);
            lli_memory_fail_at(ctx, 0);
        }
        CHECK_OK(ctx, status);
        assert_true(exists(path));
        unlink(path);
    }
    ll_context_free(ctx);
}

/* Every test has removed what it made, work files included. */
static int leave(void **state) {
    (void)state;
    return rmdir(sample_temporary(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_two_writers),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_impossible_targets),
        cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
