/* SPDX-License-Identifier: MIT */
/* What every unit test starts with: cmocka, a context, random test data, and the real data where it exists. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/rng.h"

static inline ll_context *check_context(int threads) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    ll_context *ctx;
    if (ll_context_new(&ctx, &options) != LL_OK)
        fail_msg("no context: %s", ll_context_message(ctx));
    return ctx;
}

/* The call must succeed; its sentence is shown if it does not. */
#define CHECK_OK(ctx, call)                                                    \
    do {                                                                       \
        ll_status check_status_ = (call);                                      \
        if (check_status_ != LL_OK)                                            \
            fail_msg("%s: %s", ll_status_name(check_status_), (ctx)->message); \
    } while (0)

/* The call must fail with this status and a sentence that contains `words`. */
#define CHECK_FAILS(ctx, expected, words, call)                                  \
    do {                                                                         \
        assert_int_equal((call), (expected));                                    \
        if (!strstr((ctx)->message, (words)))                                    \
            fail_msg("\"%s\" does not contain \"%s\"", (ctx)->message, (words)); \
    } while (0)

#define CHECK_NEAR(a, b, tolerance)                                                                      \
    do {                                                                                                 \
        double check_a_ = (a), check_b_ = (b);                                                           \
        if (!(check_a_ - check_b_ <= (tolerance) && check_b_ - check_a_ <= (tolerance)))                 \
            fail_msg("%.17g and %.17g differ by more than %g", check_a_, check_b_, (double)(tolerance)); \
    } while (0)

/* Uniform in [0,1), number i of test stream `stream`. */
static inline double check_uniform(int64_t stream, int64_t i) {
    lli_philox p = lli_rng_block(lli_rng_stream(20260101, LLI_PURPOSE_TEST, stream, 0), (uint64_t)i / 4);
    return p.lane[i % 4] * 0x1p-32;
}

/* The step of a loop through many cases of one kind: 1, or n with LASTLAYER_TEST_SAMPLE=1: an emulated or a watched
 * processor is slow. */
static inline int check_step(int n) {
    const char *sample = getenv("LASTLAYER_TEST_SAMPLE");
    return sample && strcmp(sample, "1") == 0 ? n : 1;
}

/* Path of the real data `name`. Without it the test is skipped; with LASTLAYER_REQUIRE_DATA=1 that is a failure. */
static inline const char *check_data(const char *name) {
    static char path[4096];
    const char *folder = getenv("LASTLAYER_TEST_DATA"), *source = getenv("LASTLAYER_SOURCE");
    if (folder)
        snprintf(path, sizeof path, "%s/%s", folder, name);
    else
        snprintf(path, sizeof path, "%s/../shared/data/%s", source ? source : ".", name);
    if (access(path, R_OK) == 0)
        return path;
    const char *required = getenv("LASTLAYER_REQUIRE_DATA");
    if (required && strcmp(required, "1") == 0)
        fail_msg("no test data %s: LASTLAYER_TEST_DATA names the folder that has them", path);
    /* tests/unit adds it to the skip */
    print_message("# why: no test data %s: LASTLAYER_TEST_DATA names the folder that has them\n", path);
    skip();
    return NULL;
}

#endif
