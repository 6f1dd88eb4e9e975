/* SPDX-License-Identifier: MIT */
/* The bootstrap: its weights against the multinomial, its intervals against 20000 draws of numpy (tests/oracle/intervals.py). */
#include "metrics/resample.h"

#include <math.h>

#include "fixture.h"
#include "metrics/calibration.h"
#include "metrics/miscalibration.h"
#include "metrics/sample.h"
#include "metrics/special.h"
#include "metrics/statistic.h"

/* Sums, moments and the chance of 0 of weights, and the variance of the sum of a third of them, over many draws. */
static void weights_are_multinomial(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 100, 255, 256, 257, 700, 5000};
    uint8_t *weight = sample_zeros(5000, 1);
    for (size_t k = 0; k < LLI_COUNT(sizes); k++) {
        int64_t n = sizes[k], draws = 400000 / n / check_step(10) + 40, zeros = 0;
        double N = (double)n, squares = 0, third = 0, third_squares = 0, cut = (double)(n / 3) / N;
        for (int64_t d = 0; d < draws; d++) {
            int64_t sum = 0, part = 0;
            lli_resample_weights(weight, n, 7, d, LLI_RESAMPLE_POINTS);
            for (int64_t i = 0; i < n; i++) {
                sum += weight[i];
                part += i < n / 3 ? weight[i] : 0;
                squares += (weight[i] - 1) * (weight[i] - 1);
                zeros += weight[i] == 0;
            }
            assert_int_equal(sum, n);
            double gap = (double)part - N * cut;
            third += gap;
            third_squares += gap * gap;
        }
        double D = (double)draws, many = D * N, zero = pow(1 - 1 / N, N), variance = N * cut * (1 - cut);
        CHECK_NEAR(squares / many, 1 - 1 / N, 6 * sqrt(3 / many));
        CHECK_NEAR((double)zeros / many, zero, 6 * sqrt(zero / many));
        CHECK_NEAR(third / D, 0, 6 * sqrt(variance / D) + 1e-12);
        CHECK_NEAR(third_squares / D, variance, 8 * variance * sqrt(3 / D));
    }
    free(weight);
}

/* Where a run of 256 places gets its share: the binomial's quantiles, through the weights of two runs. */
static void runs_are_binomial(void **state) {
    (void)state;
    enum { N = 512, DRAWS = 8000 };
    uint8_t weight[N];
    int64_t counts[3] = {0}, draws = DRAWS / check_step(10);
    for (int64_t d = 0; d < draws; d++) {
        int64_t part = 0;
        lli_resample_weights(weight, N, 8, d, LLI_RESAMPLE_OUT);
        for (int64_t i = 0; i < 256; i++)
            part += weight[i];
        for (int q = 0; q < 3; q++)
            counts[q] += part <= 245 + 11 * q;
    }
    for (int q = 0; q < 3; q++) {
        double chance = exp(lli_special_log_binomial_cdf(245 + 11 * q, N, 0.5));
        CHECK_NEAR((double)counts[q] / (double)draws, chance, 5 * sqrt(chance * (1 - chance) / (double)draws));
    }
}

static void labels_have_their_chances(void **state) {
    (void)state;
    enum { N = 1000 };
    static const double chances[] = {0, 0.25, 0.5, 0.7001, 1 - 1e-6, 1};
    const int64_t end[] = {300, 300, N}; /* an empty run in between */
    lli_chance chance[N];
    for (size_t k = 0; k < LLI_COUNT(chances); k++) {
        int64_t right[3], sums[3] = {0}, draws = 200;
        for (int i = 0; i < N; i++)
            chance[i] = lli_resample_chance(i < 300 ? chances[k] : 1 - chances[k]);
        for (int64_t d = 0; d < draws; d++) {
            lli_resample_labels(right, end, 3, chance, 3, d);
            for (int r = 0; r < 3; r++)
                sums[r] += right[r];
        }
        double p = chances[k], noise = 5 * sqrt(p * (1 - p)) + 1e-12;
        CHECK_NEAR((double)sums[0] / (300.0 * (double)draws), p, noise / sqrt(300.0 * (double)draws));
        CHECK_NEAR((double)sums[2] / (700.0 * (double)draws), 1 - p, noise / sqrt(700.0 * (double)draws));
        assert_int_equal(sums[1], 0);
    }
}

typedef struct measured {
    double values[3][LLI_RESAMPLE_DRAWS];
    ll_interval middle[3];
    double ece, p, l2;
} measured;

/* The three statistics of one case of the fixture, and its test of calibration. `turn`: rows in the other order. */
static void measure(measured *m, int threads, json_t *row, bool turn) {
    ll_context *ctx = check_context(threads);
    int64_t n = fixture_integer(row, "n"), n_out = fixture_integer(row, "n_out");
    double *sr = fixture_reals(row, "sr", n), *right = fixture_reals(row, "right", n), *out = fixture_reals(row, "out", n_out);
    uint8_t *wrong = sample_zeros(n, 1), *code = sample_zeros(n, 1), *out_code = sample_zeros(n + n_out, 1);
    double *x = sample_zeros(n, 8);
    for (int64_t i = 0; i < n; i++) {
        x[i] = sr[turn ? n - 1 - i : i];
        wrong[i] = right[turn ? n - 1 - i : i] == 0;
    }
    lli_curve curve;
    lli_bin_runs runs;
    ll_bin bin[10];
    double mce;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, n + n_out));
    lli_curve_add(&curve, x, n, false, NULL, false);
    lli_curve_add(&curve, out, n_out, false, NULL, true);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    lli_statistic_code(out_code, &curve);
    lli_curve_clear(&curve);
    lli_curve_add(&curve, x, n, false, wrong, false);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    lli_statistic_code(code, &curve);
    int64_t bins = lli_calibration_measure(&m->ece, &mce, bin, &curve, 10, LLI_CALIBRATION_LEFT, false);
    CHECK_OK(ctx, lli_miscalibration_runs_init(&runs, ctx, &curve, bin, bins));
    CHECK_OK(ctx, lli_miscalibration_p(&m->p, ctx, &curve, &runs, m->ece, 1));
    m->l2 = lli_miscalibration_l2(bin, bins, n);
    lli_statistic_cut cut = {.code = code, .n = n, .risk = fixture_real(row, "risk")};
    lli_statistic_out far = {.code = out_code, .n = n, .n_out = n_out};
    lli_statistic_bins gaps = {.gap = runs.gap, .end = runs.end, .count = runs.count, .n = n};
    lli_statistic *const functions[] = {lli_statistic_coverage, lli_statistic_fpr95, lli_statistic_ece};
    const void *const args[] = {&cut, &far, &gaps};
    lli_resample plan = {.n = n, .n_out = n_out, .seed = 1, .count = 3, .statistic = functions, .arg = args};
    CHECK_OK(ctx, lli_resample_run(m->values[0], ctx, &plan));
    for (int s = 0; s < 3; s++)
        m->middle[s] = lli_resample_middle(m->values[s], 0.95);
    lli_miscalibration_runs_release(&runs);
    lli_curve_release(&curve);
    free(sr), free(right), free(out), free(wrong), free(code), free(out_code), free(x);
    ll_context_free(ctx);
}

/* Ends of an interval from 2000 draws have an error of some 6 % of the spread. */
static void intervals_agree_with_numpy(void **state) {
    (void)state;
    static const char *const keys[] = {"coverage", "fpr95", "ece"};
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "bootstrap");
    static measured m;
    for (size_t k = 0; k < json_array_size(cases); k++) {
        json_t *row = json_array_get(cases, k);
        measure(&m, 1, row, false);
        for (int s = 0; s < 3; s++) {
            json_t *middle = fixture_get(fixture_get(row, "middle"), keys[s]);
            double spread = fixture_real(fixture_get(row, "spread"), keys[s]);
            CHECK_NEAR(m.middle[s].lo, json_number_value(json_array_get(middle, 0)), 0.25 * spread);
            CHECK_NEAR(m.middle[s].hi, json_number_value(json_array_get(middle, 1)), 0.25 * spread);
        }
        double p = fixture_real(row, "ece_p");
        CHECK_NEAR(m.ece, fixture_real(row, "ece"), 1e-13);
        CHECK_NEAR(m.l2, fixture_real(row, "l2"), 1e-15);
        CHECK_NEAR(m.p, p, 4.5 * sqrt(p * (1 - p) / LLI_RESAMPLE_DRAWS));
    }
    json_decref(root);
}

static void threads_and_order_do_not_matter(void **state) {
    (void)state;
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "bootstrap");
    static measured one, three, turned;
    for (size_t k = 0; k < json_array_size(cases); k++) {
        measure(&one, 1, json_array_get(cases, k), false);
        measure(&three, 3, json_array_get(cases, k), false);
        measure(&turned, 2, json_array_get(cases, k), true);
        assert_memory_equal(&one, &three, sizeof one);
        assert_memory_equal(&one, &turned, sizeof one);
    }
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_multinomial),         cmocka_unit_test(runs_are_binomial),
        cmocka_unit_test(labels_have_their_chances),       cmocka_unit_test(intervals_agree_with_numpy),
        cmocka_unit_test(threads_and_order_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
