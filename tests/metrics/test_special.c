/* SPDX-License-Identifier: MIT */
/* Special functions against scipy and mpmath (tests/oracle/special.py wrote the fixture), and against the sums they stand for. */
#include "metrics/special.h"

#include <math.h>

#include "fixture.h"
#include "metrics/digits.h"

static double number(json_t *row, size_t i) {
    return json_number_value(json_array_get(row, i));
}

static void near_relative(double ours, double theirs, double tolerance) {
    CHECK_NEAR(ours, theirs, tolerance * fabs(theirs));
}

/* Every (k, n) up to 200 against the sum of its terms, which are products of ratios; and the sum over k against scipy. */
static void binomial_agrees(void **state) {
    (void)state;
    json_t *root = fixture_read("special"), *rows = fixture_get(root, "binomial");
    for (size_t r = 0; r < json_array_size(rows); r += (size_t)check_step(37)) {
        json_t *row = json_array_get(rows, r);
        int64_t n = (int64_t)number(row, 0);
        double p = number(row, 1), below = 0, above = 0, pmf[201], sum = 0;
        pmf[0] = pow(1 - p, (double)n);
        for (int64_t k = 1; k <= n; k++)
            pmf[k] = pmf[k - 1] * (double)(n - k + 1) / (double)k * (p / (1 - p));
        for (int64_t k = 0; k <= n; k++) {
            double cdf = lli_special_log_binomial_cdf(k, n, p);
            sum += pmf[k];
            if (cdf > -600)                                                    /* where doubles hold the sum */
                CHECK_NEAR(cdf, fmin(log(sum), 0), 1e-12 + 2e-14 * fabs(cdf)); /* absolute in the logarithm is relative in the tail */
            below += cdf > -600 ? cdf : 0;
        }
        sum = 0;
        for (int64_t k = n; k >= 0; k--) {
            double tail = lli_special_log_binomial_tail(k, n, p);
            sum += pmf[k];
            if (tail > -600)
                CHECK_NEAR(tail, fmin(log(sum), 0), 1e-12 + 2e-14 * fabs(tail));
            above += tail > -600 ? tail : 0;
        }
        near_relative(below, number(row, 2), 1e-11);
        near_relative(above, number(row, 3), 1e-11);
    }
    json_decref(root);
}

static void binomial_of_huge_n_agrees(void **state) {
    (void)state;
    json_t *root = fixture_read("special"), *rows = fixture_get(root, "huge");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        int64_t n = json_integer_value(json_array_get(row, 0)), k = json_integer_value(json_array_get(row, 1));
        CHECK_NEAR(lli_special_log_binomial_cdf(k, n, number(row, 2)), number(row, 3), 1e-11 + 1e-13 * fabs(number(row, 3)));
    }
    json_decref(root);
}

static void edges_of_the_binomial(void **state) {
    (void)state;
    assert_true(lli_special_log_binomial_cdf(-1, 5, 0.5) == -INFINITY && lli_special_log_binomial_cdf(5, 5, 0.5) == 0);
    assert_true(lli_special_log_binomial_cdf(0, 0, 0.5) == 0 && lli_special_log_binomial_tail(0, 0, 0.5) == 0);
    assert_true(lli_special_log_binomial_tail(6, 5, 0.5) == -INFINITY);
    assert_true(lli_special_log_binomial_cdf(2, 5, 0) == 0 && lli_special_log_binomial_cdf(2, 5, 1) == -INFINITY);
    assert_true(lli_special_log_binomial_tail(2, 5, 0) == -INFINITY && lli_special_log_binomial_tail(2, 5, 1) == 0);
    /* no error among n: (1-p)^n, far below the smallest double */
    near_relative(lli_special_log_binomial_cdf(0, 100000, 0.5), 100000 * log(0.5), 1e-14);
}

static void beta_quantile_agrees(void **state) {
    (void)state;
    json_t *root = fixture_read("special"), *rows = fixture_get(root, "beta");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        near_relative(lli_special_beta_quantile(number(row, 0), number(row, 1), number(row, 2)), number(row, 3), 1e-10);
    }
    json_decref(root);
    /* the bound after no error: 1 - delta^(1/m) */
    for (int64_t m = 1; m < 2000000; m *= 3)
        near_relative(lli_special_beta_quantile(0.95, 1, (double)m), -expm1(log(0.05) / (double)m), 1e-13);
    for (int64_t k = 0; k < 50; k++) { /* back and forth */
        double x = lli_special_beta_quantile(0.95, (double)(k + 1), (double)(1000 - k));
        CHECK_NEAR(lli_special_log_binomial_cdf(k, 1000, x), log(0.05), 1e-12);
    }
    assert_true(lli_special_beta_quantile(0, 2, 3) == 0 && lli_special_beta_quantile(1, 2, 3) == 1);
    assert_true(isnan(lli_special_beta_quantile(-0.1, 2, 3)));
}

static void normal_agrees(void **state) {
    (void)state;
    json_t *root = fixture_read("special"), *rows = fixture_get(root, "normal_quantile");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        double z = lli_special_normal_quantile(number(row, 0));
        CHECK_NEAR(z, number(row, 1), 1e-14 * fmax(1, fabs(z)));
        CHECK_NEAR(lli_special_normal_cdf(z), number(row, 0), 1e-12 * number(row, 0));
    }
    json_decref(root);
    assert_true(lli_special_normal_quantile(0) == -INFINITY && lli_special_normal_quantile(1) == INFINITY);
    assert_true(isnan(lli_special_normal_quantile(1.5)) && isnan(lli_special_normal_quantile(NAN)));
}

/* Of a uniform number: probabilities are taken off it, that of the mode first, then of those above and below in turn. Numbers near an end
 * of two of them are left out. */
static void binomial_of_a_number(void **state) {
    (void)state;
    static const double chances[] = {0.5, 0.1, 0.9, 0.37, 1e-3, 0.999};
    static const int64_t sizes[] = {1, 2, 7, 40};
    for (size_t c = 0; c < LLI_COUNT(chances); c++)
        for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
            double p = chances[c], pmf[41];
            int64_t m = sizes[s], mode = LLI_MIN(m, (int64_t)floor((double)(m + 1) * p));
            for (int64_t k = 0; k <= m; k++) {
                pmf[k] = 1;
                for (int64_t i = 0; i < m; i++) /* C(m,k) p^k (1-p)^(m-k), factor by factor */
                    pmf[k] *= i < k ? (double)(m - i) / (double)(k - i) * p : 1 - p;
            }
            for (int step = 0; step < 2000; step++) {
                double u = (step + 0.5) / 2000, left = u;
                int64_t expected = -1;
                bool close = false;
                for (int64_t off = 0; off <= m && expected < 0; off++)
                    for (int side = 0; side < (off ? 2 : 1) && expected < 0; side++) {
                        int64_t k = side ? mode - off : mode + off;
                        if (k < 0 || k > m)
                            continue;
                        left -= pmf[k];
                        close = close || fabs(left) < 1e-9;
                        expected = left < 0 ? k : -1;
                    }
                if (!close)
                    assert_int_equal(lli_digits_binomial_at(u, m, p), expected);
            }
            int64_t last = lli_digits_binomial_at(1 - 0x1p-53, m, p); /* whatever rounding leaves, it ends */
            assert_true(last >= 0 && last <= m);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binomial_agrees),       cmocka_unit_test(binomial_of_huge_n_agrees),
        cmocka_unit_test(edges_of_the_binomial), cmocka_unit_test(beta_quantile_agrees),
        cmocka_unit_test(normal_agrees),         cmocka_unit_test(binomial_of_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
