/* SPDX-License-Identifier: MIT */
/* R-hat and effective sample sizes against the R package posterior (tests/oracle/diagnostics.py wrote the fixture), and closed cases. */
#include "metrics/mixing.h"

#include <math.h>

#include "base/rng.h"
#include "fixture.h"

static void near_relative(double ours, double theirs, double tolerance) {
    CHECK_NEAR(ours, theirs, tolerance * fabs(theirs));
}

static void agrees_with_posterior(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("diagnostics"), *cases = fixture_get(root, "cases");
    assert_true(json_array_size(cases) > 8);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        json_t *one = json_array_get(cases, i);
        int64_t chains = fixture_integer(one, "chains"), S = (int64_t)json_array_size(fixture_get(one, "draws"));
        double *draws = fixture_reals(one, "draws", S);
        lli_mixing m;
        CHECK_OK(ctx, lli_mixing_of(&m, ctx, draws, chains, S / chains));
        near_relative(m.rhat, fixture_real(one, "rhat"), 1e-9);
        near_relative(m.bulk, fixture_real(one, "bulk"), 1e-9);
        near_relative(m.tail, fixture_real(one, "tail"), 1e-9);
        free(draws);
    }
    json_decref(root);
    ll_context_free(ctx);
}

/* Ranks alone count for R-hat and the bulk; a chain of one value says nothing. */
static void transforms_do_not_matter(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double x[4 * 30], y[4 * 30];
    for (int i = 0; i < 4 * 30; i++) {
        x[i] = (double)lli_rng_draw(lli_rng_stream(1, LLI_PURPOSE_TEST, 0, 0), (uint64_t)i) * 0x1p-64;
        y[i] = exp(5 * x[i]);
    }
    lli_mixing a, b;
    CHECK_OK(ctx, lli_mixing_of(&a, ctx, x, 4, 30));
    CHECK_OK(ctx, lli_mixing_of(&b, ctx, y, 4, 30));
    assert_true(a.bulk == b.bulk);
    for (int i = 0; i < 4 * 30; i++)
        x[i] = 0.25;
    CHECK_OK(ctx, lli_mixing_of(&a, ctx, x, 4, 30));
    assert_true(isnan(a.rhat) && isnan(a.bulk) && isnan(a.tail));
    ll_context_free(ctx);
}

static void correlation_of_a_wave(void **state) {
    (void)state;
    double x[2 * 8] = {1, -1, 1, -1, 1, -1, 1, -1, 3, 5, 3, 5, 3, 5, 3, 5}, out[3];
    lli_mixing_correlation(out, x, 2, 8, 2);
    CHECK_NEAR(out[0], 1, 1e-15);
    CHECK_NEAR(out[1], -7. / 8, 1e-15);
    CHECK_NEAR(out[2], 6. / 8, 1e-15);
    for (int i = 0; i < 16; i++)
        x[i] = i / 8;
    lli_mixing_correlation(out, x, 2, 8, 2);
    assert_true(isnan(out[1]));
}

/* About one of a hundred independent sets of chains is above the limit. */
static void limit_is_that_of_independent_draws(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const int64_t shapes[][2] = {{2, 16}, {4, 25}, {8, 50}};
    static double x[8 * 50];
    for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
        int64_t chains = shapes[s][0], n = shapes[s][1], above = 0, trials = 2000;
        for (int64_t t = 0; t < trials; t++) {
            lli_stream stream = lli_rng_stream((uint64_t)(1000000 + t), LLI_PURPOSE_TEST, chains, n);
            lli_mixing m;
            for (int64_t i = 0; i < chains * n; i++)
                x[i] = (double)lli_rng_draw(stream, (uint64_t)i);
            CHECK_OK(ctx, lli_mixing_of(&m, ctx, x, chains, n));
            above += m.rhat > lli_mixing_rhat_limit(chains, n);
        }
        assert_in_range(above, 5, 40); /* 20 are expected, with a standard deviation of 4.4 */
    }
    static const int64_t counts[] = {2, 3, 4, 6, 8},
                         lengths[] = {16, 25, 50, 100, 250}; /* steps of the table, each below the ones before it */
    for (size_t i = 0; i < LLI_COUNT(counts); i++)
        for (size_t j = 0; j < LLI_COUNT(lengths); j++) {
            double here = lli_mixing_rhat_limit(counts[i], lengths[j]);
            assert_true(here >= 1.01 && here < 1 + 4.0 / (double)lengths[j]);
            if (i > 0) {
                double before = lli_mixing_rhat_limit(counts[i] - 1, lengths[j]);
                assert_true(before == lli_mixing_rhat_limit(counts[i - 1], lengths[j]) && (here < before || before == 1.01));
            }
            if (j > 0) {
                double before = lli_mixing_rhat_limit(counts[i], lengths[j] - 1);
                assert_true(before == lli_mixing_rhat_limit(counts[i], lengths[j - 1]) && (here < before || before == 1.01));
            }
        }
    assert_true(lli_mixing_rhat_limit(2, 250) > 1.01 && lli_mixing_rhat_limit(8, 100) > 1.01 && lli_mixing_rhat_limit(1, 4) < 1.25);
    assert_true(lli_mixing_rhat_limit(4, 100000) == 1.01);
    assert_true(lli_mixing_rhat_limit(100, 16) == lli_mixing_rhat_limit(8, 16));
    assert_true(lli_mixing_rhat_limit(5, 49) == lli_mixing_rhat_limit(4, 25));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_posterior),
        cmocka_unit_test(transforms_do_not_matter),
        cmocka_unit_test(correlation_of_a_wave),
        cmocka_unit_test(limit_is_that_of_independent_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
