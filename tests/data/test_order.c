/* SPDX-License-Identifier: MIT */
/* Shuffles are uniform permutations, resamples and independent batches uniform draws with replacement; all depend on every part of their
 * key. */
#include <math.h>

#include "check.h"
#include "data/order.h"
#include "fixture.h"

static void test_shuffle_permutes(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 100, 4097};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
        int64_t N = sizes[s], *order = calloc((size_t)N, sizeof *order);
        bool *seen = calloc((size_t)N, sizeof *seen);
        lli_order_shuffle(order, lli_kernels_get(), NULL, N, 1, 2, 3);
        for (int64_t i = 0; i < N; i++) {
            assert_in_range(order[i], 0, N - 1);
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
        }
        free(order);
        free(seen);
    }
}

static void test_shuffle_of_a_list(void **state) {
    (void)state;
    int64_t list[50], plain[50], order[50];
    for (int64_t i = 0; i < 50; i++)
        list[i] = 7 * (i % 10);
    lli_order_shuffle(plain, lli_kernels_get(), NULL, 50, 9, 1, 4);
    lli_order_shuffle(order, lli_kernels_get(), list, 50, 9, 1, 4);
    for (int64_t i = 0; i < 50; i++)
        assert_int_equal(order[i], list[plain[i]]);
}

static void test_keys(void **state) {
    (void)state;
    enum { N = 200 };
    static const struct {
        uint64_t seed;
        int64_t member, epoch;
    } keys[] = {{5, 0, 0}, {6, 0, 0}, {5, 1, 0}, {5, 0, 1}, {5 + ((uint64_t)1 << 40), 0, 0}};
    int64_t orders[LLI_COUNT(keys)][N], lists[LLI_COUNT(keys)][N], again[N];
    for (size_t a = 0; a < LLI_COUNT(keys); a++) {
        lli_order_shuffle(orders[a], lli_kernels_get(), NULL, N, keys[a].seed, keys[a].member, keys[a].epoch);
        lli_order_resample(lists[a], lli_kernels_get(), N, keys[a].seed, keys[a].member);
        for (size_t b = 0; b < a; b++) {
            assert_memory_not_equal(orders[a], orders[b], sizeof again);
            if (keys[a].epoch == 0 && keys[b].epoch == 0)
                assert_memory_not_equal(lists[a], lists[b], sizeof again);
        }
    }
    lli_order_shuffle(again, lli_kernels_get(), NULL, N, 5, 0, 0);
    assert_memory_equal(again, orders[0], sizeof again);
}

/* 24000 shuffles of four rows over their 24 orders: chi-square with 23 degrees of freedom, 1 in 10^4 above 56. */
static void test_shuffle_uniform(void **state) {
    (void)state;
    int counts[256] = {0};
    for (int64_t epoch = 0; epoch < 24000; epoch++) {
        int64_t o[4];
        lli_order_shuffle(o, lli_kernels_get(), NULL, 4, 77, 3, epoch);
        counts[o[0] * 64 + o[1] * 16 + o[2] * 4 + o[3]]++;
    }
    double chi = 0;
    int orders = 0;
    for (int i = 0; i < 256; i++) {
        orders += counts[i] > 0;
        chi += counts[i] ? (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000 : 0;
    }
    assert_int_equal(orders, 24);
    assert_true(chi < 56);
}

/* A count is Binomial(N, 1/N), nearly Poisson(1): share e^-1 / c! at c, variance 1. */
static void test_resample_counts(void **state) {
    (void)state;
    enum { N = 200000 };
    int64_t *list = calloc(N, sizeof *list);
    int *counts = calloc(N, sizeof *counts);
    lli_order_resample(list, lli_kernels_get(), N, 42, 7);
    for (int64_t i = 0; i < N; i++) {
        assert_in_range(list[i], 0, N - 1);
        counts[list[i]]++;
    }
    double shares[4] = {0}, sum = 0, square = 0;
    for (int64_t i = 0; i < N; i++) {
        sum += counts[i];
        square += counts[i] * counts[i];
        if (counts[i] < 4)
            shares[counts[i]] += 1.0 / N;
    }
    CHECK_NEAR(sum / N, 1, 0);
    CHECK_NEAR(square / N - 1, 1, 5 * sqrt(2.0 / N));
    /* the number of unseen rows has variance N (e^-1 - 2 e^-2) */
    CHECK_NEAR(shares[0], exp(-1), 4 * sqrt((exp(-1) - 2 * exp(-2)) / N));
    CHECK_NEAR(shares[1], exp(-1), 4 * sqrt(exp(-1) / N));
    CHECK_NEAR(shares[2], exp(-1) / 2, 4 * sqrt(exp(-1) / 2 / N));
    CHECK_NEAR(shares[3], exp(-1) / 6, 4 * sqrt(exp(-1) / 6 / N));
    free(list);
    free(counts);
}

/* Draws over 100 equal parts: chi-square with 99 degrees of freedom, 1 in 10^4 above 161. Also for each half of the list. */
static void test_resample_uniform(void **state) {
    (void)state;
    enum { N = 100000, PARTS = 100 };
    int64_t *list = calloc(N, sizeof *list);
    for (int64_t member = 0; member < 4; member++) {
        lli_order_resample(list, lli_kernels_get(), N, 1, member);
        for (int half = 0; half < 2; half++) {
            double counts[PARTS] = {0}, chi = 0, expected = N / 2.0 / PARTS;
            for (int64_t i = half * N / 2; i < (half + 1) * N / 2; i++)
                counts[list[i] * PARTS / N]++;
            for (int part = 0; part < PARTS; part++)
                chi += (counts[part] - expected) * (counts[part] - expected) / expected;
            assert_true(chi < 161);
        }
    }
    free(list);
}

/* The same orders by another implementation of Philox and Fisher-Yates. */
static void test_oracle(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory"), *list = fixture_get(root, "orders"), *c;
    size_t i;
    assert_true(json_array_size(list) >= 4);
    json_array_foreach(list, i, c) {
        int64_t N = fixture_integer(c, "N"), *resample = calloc((size_t)N, sizeof *resample), *order = calloc((size_t)N, sizeof *order);
        uint64_t seed = strtoull(json_string_value(fixture_get(c, "seed")), NULL, 10);
        bool resampled = json_is_true(fixture_get(c, "resampled"));
        double *expected = fixture_reals(c, "order", N);
        lli_order_resample(resample, lli_kernels_get(), N, seed, fixture_integer(c, "member"));
        lli_order_shuffle(order, lli_kernels_get(), resampled ? resample : NULL, N, seed, fixture_integer(c, "member"),
                          fixture_integer(c, "epoch"));
        for (int64_t j = 0; j < N; j++)
            assert_int_equal(order[j], (int64_t)expected[j]);
        free(expected);
        free(resample);
        free(order);
    }
    json_decref(root);
}

/* The same for independent batches. */
static void test_batch_oracle(void **state) {
    (void)state;
    json_t *root = fixture_read("stationary"), *list = fixture_get(root, "batches"), *c;
    size_t i;
    assert_true(json_array_size(list) >= 4);
    json_array_foreach(list, i, c) {
        int64_t N = fixture_integer(c, "N"), B = fixture_integer(c, "B"), *resample = calloc((size_t)N, sizeof *resample),
                *batch = calloc((size_t)B, sizeof *batch);
        uint64_t seed = strtoull(json_string_value(fixture_get(c, "seed")), NULL, 10);
        bool resampled = json_is_true(fixture_get(c, "resampled"));
        double *expected = fixture_reals(c, "batch", B);
        lli_order_resample(resample, lli_kernels_get(), N, seed, fixture_integer(c, "member"));
        lli_order_batch(batch, lli_kernels_get(), resampled ? resample : NULL, N, B, seed, fixture_integer(c, "member"),
                        fixture_integer(c, "step"));
        for (int64_t j = 0; j < B; j++)
            assert_int_equal(batch[j], (int64_t)expected[j]);
        free(expected);
        free(resample);
        free(batch);
    }
    json_decref(root);
}

/* Rows of steps are independent: over 10^4 batches of 3 from 5 rows all 125 triples come equally often. Chi-square with 124 degrees of
 * freedom, 1 in 10^4 above 192; for the pair (last row of a step, first of the next) with 24, above 58. */
static void test_batch_uniform(void **state) {
    (void)state;
    enum { STEPS = 10000 };
    double triples[125] = {0}, pairs[25] = {0}, chi = 0, chi_pairs = 0;
    int64_t last = 0;
    for (int64_t step = 0; step < STEPS; step++) {
        int64_t b[3];
        lli_order_batch(b, lli_kernels_get(), NULL, 5, 3, 21, 0, step);
        triples[b[0] * 25 + b[1] * 5 + b[2]]++;
        pairs[last * 5 + b[0]]++;
        last = b[2];
    }
    for (int i = 0; i < 125; i++)
        chi += (triples[i] - STEPS / 125.0) * (triples[i] - STEPS / 125.0) / (STEPS / 125.0);
    for (int i = 0; i < 25; i++)
        chi_pairs += (pairs[i] - STEPS / 25.0) * (pairs[i] - STEPS / 25.0) / (STEPS / 25.0);
    assert_true(chi < 192 && chi_pairs < 58);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffle_permutes), cmocka_unit_test(test_shuffle_of_a_list), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_shuffle_uniform),  cmocka_unit_test(test_resample_counts),   cmocka_unit_test(test_resample_uniform),
        cmocka_unit_test(test_oracle),           cmocka_unit_test(test_batch_oracle),      cmocka_unit_test(test_batch_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
