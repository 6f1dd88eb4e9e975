/* SPDX-License-Identifier: MIT */
/* A stand-in for the part of cmocka that our tests use, for machines where there is a C library and no more. A failed assertion ends its
 * test; results are TAP as cmocka writes it. */
#ifndef TESTS_CROSS_CMOCKA_H
#define TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

typedef int (*CMFixtureFunction)(void **state);

enum { CROSS_FAILED = 1, CROSS_SKIPPED };
static jmp_buf cross_end; /* of the test that runs */

__attribute__((format(printf, 1, 2))) static inline void print_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

__attribute__((noreturn, format(printf, 3, 4))) static inline void cross_fail(const char *file, int line, const char *format, ...) {
    printf("# %s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    longjmp(cross_end, CROSS_FAILED);
}

#define fail_msg(...) cross_fail(__FILE__, __LINE__, __VA_ARGS__)
#define skip() longjmp(cross_end, CROSS_SKIPPED)
#define cross_check(condition, text) \
    do {                             \
        if (!(condition))            \
            fail_msg("%s", text);    \
    } while (0)

#define assert_true(c) cross_check((c), #c)
#define assert_false(c) cross_check(!(c), "not " #c)
#define assert_null(p) cross_check((p) == NULL, #p " is not NULL")
#define assert_non_null(p) cross_check((p) != NULL, #p " is NULL")
#define assert_ptr_equal(a, b) cross_check((const void *)(a) == (const void *)(b), #a " is not " #b)
#define assert_ptr_not_equal(a, b) cross_check((const void *)(a) != (const void *)(b), #a " is " #b)
#define assert_string_not_equal(a, b) cross_check(strcmp((a), (b)) != 0, #a " is " #b)
#define assert_string_equal(a, b) cross_check(strcmp((a), (b)) == 0, #a " is not " #b)
#define assert_memory_equal(a, b, size) cross_check(memcmp((a), (b), (size)) == 0, #a " has other bytes than " #b)
#define assert_memory_not_equal(a, b, size) cross_check(memcmp((a), (b), (size)) != 0, #a " has the bytes of " #b)
#define assert_int_equal(a, b)                                            \
    do {                                                                  \
        intmax_t cross_a_ = (intmax_t)(a), cross_b_ = (intmax_t)(b);      \
        if (cross_a_ != cross_b_)                                         \
            fail_msg("%s is %jd, %s is %jd", #a, cross_a_, #b, cross_b_); \
    } while (0)
#define assert_int_not_equal(a, b) cross_check((a) != (b), #a " is " #b)
#define assert_in_range(value, low, high)                                                                        \
    do {                                                                                                         \
        uintmax_t cross_v_ = (uintmax_t)(value), cross_low_ = (uintmax_t)(low), cross_high_ = (uintmax_t)(high); \
        if (cross_v_ < cross_low_ || cross_v_ > cross_high_)                                                     \
            fail_msg("%s is %ju, not in %s..%s", #value, cross_v_, #low, #high);                                 \
    } while (0)

#define cmocka_unit_test(function) \
    { #function, function }
#define cmocka_run_group_tests(tests, setup, teardown) cross_run((tests), sizeof(tests) / sizeof((tests)[0]), (setup), (teardown))

/* Returns whether the test failed. */
static inline bool cross_run_one(const struct CMUnitTest *test, size_t number, void **state) {
    int end = setjmp(cross_end);
    if (end == 0)
        test->run(state);
    printf(end == 0 ? "ok %zu - %s\n" : end == CROSS_SKIPPED ? "not ok %zu # SKIP %s\n" : "not ok %zu - %s\n", number, test->name);
    fflush(stdout);
    return end == CROSS_FAILED;
}

static inline int cross_run(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup, CMFixtureFunction teardown) {
    void *state = NULL;
    int failed = 0;
    printf("1..%zu\n", count);
    if (setup && setup(&state) != 0) {
        printf("Bail out! the setup of the group failed\n");
        return 1;
    }
    for (size_t i = 0; i < count; i++)
        failed += cross_run_one(&tests[i], i + 1, &state);
    if (teardown && teardown(&state) != 0) {
        printf("# the teardown of the group failed\n");
        failed++;
    }
    return failed;
}

#endif
