/* SPDX-License-Identifier: MIT */
/* Other programs as readers: `cat`, which answers with what it is given, and `sleep`, which does not. */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/pool.h"
#include "check.h"
#include "formats/bytes.h"
#include "formats/helper.h"
#include "formats/readers.h"

/* Time runs as fast as a test says: seconds added at each look. */
static double leap, leapt;
double __real_lli_clock_seconds(void);
double __wrap_lli_clock_seconds(void);

double __wrap_lli_clock_seconds(void) {
    return leap > 0 ? __real_lli_clock_seconds() + (leapt += leap) : __real_lli_clock_seconds();
}

enum { LENGTH = 300000 };
static const lli_helper cat = {"/bin/cat", "-", LENGTH, 60}, slow = {"/bin/sleep", "1000", LENGTH, 60};

/* A length and that many bytes, which depend on `seed`. */
static unsigned char *make_message(ll_context *ctx, int64_t count, int64_t seed) {
    unsigned char *message;
    CHECK_OK(ctx, lli_memory_new(ctx, &message, 8 + count, 1));
    unsigned char *p = lli_bytes_put(message, (uint64_t)count, 8);
    for (int64_t i = 0; i < count; i++)
        p[i] = (unsigned char)((i * 7 + i / 251 + seed) & 0xff);
    return message;
}

static void check_echo(ll_context *ctx, int64_t count, int64_t seed) {
    unsigned char *message = make_message(ctx, count, seed);
    lli_helper_answer answer;
    CHECK_OK(ctx, lli_helper_ask(&answer, ctx, &cat, message, (size_t)(8 + count), "bytes"));
    assert_int_equal(answer.end, LLI_HELPER_ENDED);
    assert_int_equal(answer.signal, 0);
    assert_int_equal(answer.size, count);
    assert_memory_equal(answer.bytes, message + 8, (size_t)count);
    assert_string_equal(answer.said, "");
    lli_helper_release(&answer);
    lli_memory_free(message);
}

static void test_sizes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int64_t count = 0; count <= LENGTH; count = count * 5 + 1)
        check_echo(ctx, count, count);
    check_echo(ctx, LENGTH, 1);
    ll_context_free(ctx);
}

static void test_limit(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    unsigned char *message = make_message(ctx, LENGTH + 1, 0);
    lli_helper_answer answer;
    CHECK_OK(ctx, lli_helper_ask(&answer, ctx, &cat, message, 8 + LENGTH + 1, "bytes"));
    assert_int_equal(answer.end, LLI_HELPER_TOO_MUCH);
    lli_helper_release(&answer);
    lli_memory_free(message);
    ll_context_free(ctx);
}

/* More than fits between the two: who writes on gets SIGPIPE, unless it says otherwise. */
static void test_program_that_does_not_read(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    enum { MUCH = 4 << 20 };
    unsigned char *message = make_message(ctx, MUCH, 0);
    lli_helper_answer answer;
    signal(SIGPIPE, SIG_DFL);
    CHECK_OK(ctx, lli_helper_ask(&answer, ctx, &(lli_helper){"/bin/false", "-", LENGTH, 60}, message, MUCH, "bytes"));
    assert_int_equal(answer.end, LLI_HELPER_ENDED);
    assert_int_equal(answer.code, 1);
    assert_int_equal(answer.size, 0);
    lli_helper_release(&answer);
    lli_memory_free(message);
    ll_context_free(ctx);
}

/* In a process that has closed its standard streams, so that ours get their numbers. */
static void test_no_standard_streams(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        ll_context *ctx = check_context(1);
        unsigned char *message = make_message(ctx, 5000, 3);
        lli_helper_answer answer;
        ll_status status = lli_helper_ask(&answer, ctx, &cat, message, 5008, "bytes");
        _exit(status == LL_OK && answer.size == 5000 && memcmp(answer.bytes, message + 8, 5000) == 0 ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void test_patience(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_helper_answer answer;
    leap = 10;
    CHECK_OK(ctx, lli_helper_ask(&answer, ctx, &slow, (const unsigned char *)"x", 1, "bytes"));
    leap = 0;
    assert_int_equal(answer.end, LLI_HELPER_TOO_LONG);
    assert_int_equal(answer.signal, SIGKILL);
    lli_helper_release(&answer);
    leap = 10; /* the reader itself: the environment names a program that sleeps for as many seconds as it may write bytes */
    setenv("LASTLAYER_H5", "/bin/sleep", 1);
    ll_bundle *bundle;
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "hdf5"));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "m.h5: the HDF5 file is not read, because lastlayer-h5 made no progress",
                lli_hdf5_parse(ctx, bundle, (const unsigned char *)"x", 1, "m.h5"));
    leap = 0;
    ll_bundle_free(bundle);
    ll_context_free(ctx);
}

static void test_cancel(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_helper_answer answer;
    ll_context_cancel(ctx);
    assert_int_equal(lli_helper_ask(&answer, ctx, &slow, (const unsigned char *)"x", 1, "bytes"), LL_ERR_CANCELLED);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    ll_context_free(ctx);
}

/* Each allocation fails in turn: a sentence, and nothing is lost. */
static void test_memory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    unsigned char *message = make_message(ctx, 1000, 0);
    ll_status status = LL_ERR_MEMORY;
    for (int64_t n = 1; status == LL_ERR_MEMORY; n++) {
        lli_helper_answer answer;
        lli_memory_fail_at(ctx, n);
        status = lli_helper_ask(&answer, ctx, &cat, message, 1008, "bytes");
        assert_true(status == LL_OK || status == LL_ERR_MEMORY);
        lli_memory_fail_at(ctx, 0);
        lli_helper_release(&answer);
        assert_true(n < 10);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    lli_memory_free(message);
    ll_context_free(ctx);
}

static ll_status ask_often(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)arg, (void)worker;
    for (int64_t i = 0; i < 5; i++)
        check_echo(ctx, 20000 + 1000 * task + i, 31 * task + i);
    return LL_OK;
}

/* Also in a process whose other threads start programs, and that has a child of its own. */
static void test_threads(void **state) {
    (void)state;
    pid_t other = fork();
    if (other == 0)
        _exit(7);
    ll_context *ctx = check_context(4);
    CHECK_OK(ctx, lli_pool_run(ctx, ask_often, NULL, 8));
    int how;
    assert_int_equal(waitpid(other, &how, 0), other);
    assert_int_equal(WEXITSTATUS(how), 7);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_limit),    cmocka_unit_test(test_program_that_does_not_read),
        cmocka_unit_test(test_cancel),  cmocka_unit_test(test_memory),   cmocka_unit_test(test_no_standard_streams),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
