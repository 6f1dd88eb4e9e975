/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <math.h>

/* From the known-answer file of Random123 (philox 4x32, 10 rounds). */
static void philox_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < LLI_COUNT(known); i++) {
        lli_philox p = lli_rng_philox(known[i].counter, known[i].key);
        assert_memory_equal(p.lane, known[i].expected, sizeof p.lane);
    }
}

static void streams_differ(void **state) {
    (void)state;
    lli_philox base = lli_rng_block(lli_rng_stream(1, LLI_PURPOSE_NOISE, 2, 3), 4);
    lli_philox others[] = {
        lli_rng_block(lli_rng_stream(2, LLI_PURPOSE_NOISE, 2, 3), 4),
        lli_rng_block(lli_rng_stream(1ull << 32 | 1, LLI_PURPOSE_NOISE, 2, 3), 4),
        lli_rng_block(lli_rng_stream(1, LLI_PURPOSE_SHUFFLE, 2, 3), 4),
        lli_rng_block(lli_rng_stream(1, LLI_PURPOSE_NOISE, 3, 3), 4),
        lli_rng_block(lli_rng_stream(1, LLI_PURPOSE_NOISE, 2, 4), 4),
        lli_rng_block(lli_rng_stream(1, LLI_PURPOSE_NOISE, 2, 3), 5),
        lli_rng_block(lli_rng_stream(1, LLI_PURPOSE_NOISE, 2, 3), 1ull << 32 | 4),
    };
    for (size_t i = 0; i < LLI_COUNT(others); i++)
        assert_memory_not_equal(&base, &others[i], sizeof base);
}

static void bounded_integers_are_uniform(void **state) {
    (void)state;
    enum { N = 7, DRAWS = 70000 };
    int count[N] = {0};
    lli_stream s = lli_rng_stream(5, LLI_PURPOSE_TEST, 0, 0);
    for (uint64_t i = 0; i < DRAWS; i++)
        count[lli_rng_below(s, i, N)]++;
    double chi2 = 0;
    for (int i = 0; i < N; i++)
        chi2 += pow(count[i] - DRAWS / N, 2) / (DRAWS / N);
    assert_true(chi2 < 22.5); /* 99.9 % of chi-square with 6 degrees of freedom */
    assert_int_equal(lli_rng_below(s, 0, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_differ),
        cmocka_unit_test(bounded_integers_are_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
