/* SPDX-License-Identifier: MIT */
/* The bootstrap: its weights against the multinomial, its intervals against 20000 draws of numpy (tests/oracle/intervals.py). */
#include "metrics/resample.h"

#include <math.h>

#include "fixture.h"
#include "metrics/calibration.h"
#include "metrics/coverage_draw.h"
#include "metrics/digits.h"
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

/* A closed curve of n points with confidences c and errors, and its ten bins. */
typedef struct binned {
    lli_curve curve;
    ll_bin bin[10];
    lli_bin_runs runs;
    double ece;
} binned;

static void binned_init(binned *b, ll_context *ctx, const double *c, const uint8_t *wrong, int64_t n) {
    double mce;
    CHECK_OK(ctx, lli_curve_init(&b->curve, ctx, n));
    lli_curve_add(&b->curve, c, n, false, wrong, false);
    CHECK_OK(ctx, lli_curve_close(ctx, &b->curve));
    int64_t bins = lli_calibration_measure(&b->ece, &mce, b->bin, &b->curve, 10, LLI_CALIBRATION_LEFT, false);
    CHECK_OK(ctx, lli_bin_runs_init(&b->runs, ctx, &b->curve, b->bin, bins));
}

static void binned_release(binned *b) {
    lli_bin_runs_release(&b->runs);
    lli_curve_release(&b->curve);
}

/* Binomial counts: the share of draws up to some quantiles, for small and large numbers. */
static void counts_are_binomial(void **state) {
    (void)state;
    static const struct {
        int64_t m;
        double p;
    } cases[] = {{1, 0.3}, {7, 0.5}, {40, 0.01}, {4096, 0.999}, {4096, 0.2}, {1000000, 0.004096}, {1000000, 0.5}};
    for (size_t k = 0; k < LLI_COUNT(cases); k++) {
        double m = (double)cases[k].m, p = cases[k].p, sd = sqrt(m * p * (1 - p));
        int64_t draws = 20000 / check_step(10), below[5] = {0};
        lli_digits digits = lli_digits_of(3, LLI_DIGITS_RUNS, (int64_t)k);
        for (int64_t d = 0; d < draws; d++) {
            int64_t x = lli_digits_binomial(&digits, cases[k].m, p);
            assert_true(x >= 0 && x <= cases[k].m);
            for (int q = 0; q < 5; q++)
                below[q] += (double)x <= m * p + (q - 2) * sd;
        }
        for (int q = 0; q < 5; q++) {
            double chance = exp(lli_special_log_binomial_cdf((int64_t)floor(m * p + (q - 2) * sd), cases[k].m, p));
            CHECK_NEAR((double)below[q] / (double)draws, chance, 5 * sqrt(chance * (1 - chance) / (double)draws) + 1e-12);
        }
    }
    lli_digits digits = lli_digits_of(3, LLI_DIGITS_RUNS, 99);
    assert_int_equal(lli_digits_binomial(&digits, 5, 0), 0);
    assert_int_equal(lli_digits_binomial(&digits, 5, 1), 5);
    assert_int_equal(lli_digits_binomial(&digits, 0, 0.5), 0);
}

static void places_are_uniform(void **state) {
    (void)state;
    enum { PLACES = 7, DRAWS = 70000 };
    int64_t count[PLACES] = {0}, draws = DRAWS / check_step(10);
    lli_digits digits = lli_digits_of(4, LLI_DIGITS_RUN_PLACES, 0);
    for (int64_t d = 0; d < draws; d++)
        count[lli_digits_below(&digits, PLACES)]++;
    for (int i = 0; i < PLACES; i++)
        CHECK_NEAR((double)count[i] / (double)draws, 1.0 / PLACES, 5 * sqrt(1.0 / PLACES / (double)draws));
}

/* Mean and variance of the number of right points in each bin, against sums of p and p (1 - p); points of confidence 0 and 1 are certain.
 */
static void labels_have_their_chances(void **state) {
    (void)state;
    enum { N = 9000, DRAWS = 2000 };
    ll_context *ctx = check_context(1);
    double *c = sample_zeros(N, 8);
    uint8_t *wrong = sample_zeros(N, 1);
    for (int i = 0; i < N; i++) {
        c[i] = i < 30 ? 0 : i < 60 ? 1 : i < 6000 ? 0.9 + 0.1 * i / N : pow((double)i / N, 3);
        wrong[i] = i % 3 == 0;
    }
    binned b;
    binned_init(&b, ctx, c, wrong, N);
    double mean[11] = {0}, variance[11] = {0}, sum[11] = {0}, squares[11] = {0};
    assert_int_equal(b.runs.count, 11);
    for (int64_t k = 0; k < 11; k++)
        for (int64_t i = k ? b.runs.end[k - 1] : 0; i < b.runs.end[k]; i++) {
            mean[k] += b.runs.confidence[i];
            variance[k] += b.runs.confidence[i] * (1 - b.runs.confidence[i]);
        }
    int64_t draws = DRAWS / check_step(4);
    for (int64_t d = 0; d < draws; d++) {
        int64_t right[11];
        lli_bin_runs_labels(right, &b.runs, 3, d);
        for (int k = 0; k < 11; k++) {
            sum[k] += (double)right[k] - mean[k];
            squares[k] += ((double)right[k] - mean[k]) * ((double)right[k] - mean[k]);
        }
    }
    double D = (double)draws;
    for (int k = 0; k < 11; k++) {
        CHECK_NEAR(sum[k] / D, 0, 5 * sqrt(variance[k] / D) + 1e-9);
        CHECK_NEAR(squares[k] / D, variance[k], 6 * (variance[k] + 0.25) * sqrt(2 / D) + 1e-9);
    }
    binned_release(&b);
    free(c), free(wrong);
    ll_context_free(ctx);
}

/* Few points whose confidences reach from 0 to 1: most are looked at, none of them twice. */
static void labels_of_a_wide_bin(void **state) {
    (void)state;
    enum { N = 5, DRAWS = 20000 };
    const double c[N] = {0.001, 0.002, 0.999, 0.998, 0.5};
    int64_t end[] = {0, 5}, wrong[] = {0, 5}, count[6] = {0}, draws = DRAWS / check_step(4);
    double lo[] = {0.001}, hi[] = {0.999}, expected[6] = {1}, sums[] = {0, 2.5};
    lli_bin_runs runs = {.count = 2, .end = end, .wrong = wrong, .confidence = (double *)c, .expected = sums, .lo = lo, .hi = hi};
    for (int i = 0; i < 5; i++) /* the distribution of the sum, one point after the other */
        for (int k = 5; k >= 0; k--)
            expected[k] = expected[k] * (1 - c[i]) + (k ? expected[k - 1] * c[i] : 0);
    for (int64_t d = 0; d < draws; d++) {
        int64_t right[2];
        lli_bin_runs_labels(right, &runs, 9, d);
        assert_int_equal(right[0], 0);
        count[right[1]]++;
    }
    for (int k = 0; k < 6; k++)
        CHECK_NEAR((double)count[k] / (double)draws, expected[k], 5 * sqrt(expected[k] / (double)draws) + 1e-3);
}

/* Sums of more than 4096 confidences of 0 and 1, half of each: their variance is a quarter of what is drawn. */
static void sums_of_many_spread(void **state) {
    (void)state;
    enum { N = 60000 };
    static double ece[LLI_RESAMPLE_DRAWS];
    ll_context *ctx = check_context(1);
    double *c = sample_zeros(N, 8), spread[] = {0, 0}, mean = 0, squares = 0;
    int64_t end[] = {0, N}, wrong[] = {0, N};
    for (int i = 0; i < N / 2; i++)
        c[i] = 1;
    lli_bin_runs runs = {.count = 2, .end = end, .wrong = wrong, .confidence = c, .expected = spread};
    CHECK_OK(ctx, lli_bin_runs_ece(ece, ctx, &runs, 2));
    for (int d = 0; d < LLI_RESAMPLE_DRAWS; d++)
        mean += ece[d] / LLI_RESAMPLE_DRAWS;
    for (int d = 0; d < LLI_RESAMPLE_DRAWS; d++)
        squares += (ece[d] - mean) * (ece[d] - mean) / LLI_RESAMPLE_DRAWS;
    CHECK_NEAR(mean, 0.5, 5 * sqrt(0.25 / N / LLI_RESAMPLE_DRAWS));
    CHECK_NEAR(squares * N * 4, 1, 6 * sqrt(2.0 / LLI_RESAMPLE_DRAWS));
    free(c);
    ll_context_free(ctx);
}

static double weighted_ece(const lli_bin_runs *runs, const uint8_t *weight, int64_t n) {
    double sum = 0;
    for (int64_t b = 1; b < runs->count; b++) {
        double gap = 0;
        for (int64_t i = runs->end[b - 1]; i < runs->end[b]; i++)
            gap += weight[i] * ((i < runs->wrong[b]) - runs->confidence[i]);
        sum += fabs(gap);
    }
    return sum / (double)n;
}

/* Mean and spread of 2000 values against those of as many others: apart by chance alone. */
static void check_alike(const double *a, const double *b) {
    const double *x[2] = {a, b};
    double mean[2] = {0}, spread[2] = {0};
    for (int k = 0; k < 2; k++) {
        for (int d = 0; d < LLI_RESAMPLE_DRAWS; d++)
            mean[k] += x[k][d] / LLI_RESAMPLE_DRAWS;
        for (int d = 0; d < LLI_RESAMPLE_DRAWS; d++)
            spread[k] += (x[k][d] - mean[k]) * (x[k][d] - mean[k]) / LLI_RESAMPLE_DRAWS;
    }
    assert_true(spread[0] > 0);
    CHECK_NEAR(mean[0], mean[1], 5 * sqrt(2 * spread[0] / LLI_RESAMPLE_DRAWS));
    CHECK_NEAR(sqrt(spread[0] / spread[1]), 1, 0.12); /* 5 standard errors */
}

/* Counts of runs, single places only near the cut, normal sums of many: the same distributions as weights of all points. */
static void few_places_do_as_well_as_all(void **state) {
    (void)state;
    enum { N = 20000 };
    static double sparse[2][LLI_RESAMPLE_DRAWS], full[2][LLI_RESAMPLE_DRAWS];
    ll_context *ctx = check_context(2);
    double *c = sample_zeros(N, 8);
    uint8_t *wrong = sample_zeros(N, 1), *code = sample_zeros(N, 1), *weight = sample_zeros(N, 1);
    for (int ties = 0; ties < 2; ties++) {
        const double risks[] = {ties ? 0.1 : 0.03, ties ? 0.06 : 0.0005};
        lli_digits digits = lli_digits_of(5, LLI_DIGITS_RUNS, ties);
        for (int i = 0; i < N; i++) {
            double u = lli_digits_share(&digits);
            c[i] = ties ? floor(20 * (1 - u * u * u)) / 20 : 1 - u * u * u;
            wrong[i] = lli_digits_share(&digits) > 0.02 + 0.98 * c[i];
        }
        binned b;
        binned_init(&b, ctx, c, wrong, N);
        lli_statistic_code(code, &b.curve);
        for (size_t r = 0; r < LLI_COUNT(risks); r++) {
            lli_statistic_cut cut = {.code = code, .n = N, .risk = risks[r]};
            CHECK_OK(ctx, lli_coverage_draw(sparse[0], ctx, (const uint8_t *const[]){code, code}, 2, N, risks[r], 1));
            assert_memory_equal(sparse[0], sparse[1], sizeof sparse[0]); /* equal lists are equal */
            CHECK_OK(ctx, lli_bin_runs_ece(sparse[1], ctx, &b.runs, 1));
            for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++) {
                lli_resample_weights(weight, N, 6, d, LLI_RESAMPLE_POINTS);
                full[0][d] = lli_statistic_coverage(&cut, weight, NULL);
                full[1][d] = r ? 0 : weighted_ece(&b.runs, weight, N);
            }
            check_alike(sparse[0], full[0]);
            if (r == 0)
                check_alike(sparse[1], full[1]);
        }
        CHECK_OK(ctx, lli_coverage_draw(sparse[0], ctx, (const uint8_t *const[]){code}, 1, N, 0.99, 1));
        for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++)
            assert_true(sparse[0][d] == 1);
        binned_release(&b);
    }
    free(c), free(wrong), free(code), free(weight);
    ll_context_free(ctx);
}

enum { SEEDS = 8 };

typedef struct measured {
    double values[4][LLI_RESAMPLE_DRAWS];
    ll_interval middle[4];
    double ece, p, l2;
} measured;

/* The statistics of one case, coverage by weights and by counts, of the fixture, and its test of calibration. `turn`: rows in the other
 * order. */
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
    binned b;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, n + n_out));
    lli_curve_add(&curve, x, n, false, NULL, false);
    lli_curve_add(&curve, out, n_out, false, NULL, true);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    lli_statistic_code(out_code, &curve);
    binned_init(&b, ctx, x, wrong, n);
    lli_statistic_code(code, &b.curve);
    m->ece = b.ece;
    CHECK_OK(ctx, lli_miscalibration_p(&m->p, ctx, &b.runs, m->ece, 1));
    m->l2 = lli_miscalibration_l2(b.bin, b.runs.count - 1, n);
    lli_statistic_cut cut = {.code = code, .n = n, .risk = fixture_real(row, "risk")};
    lli_statistic_out far = {.code = out_code, .n = n, .n_out = n_out};
    lli_statistic *const functions[] = {lli_statistic_coverage, lli_statistic_fpr95};
    const void *const args[] = {&cut, &far};
    lli_resample plan = {.n = n, .n_out = n_out, .seed = 1, .count = 2, .statistic = functions, .arg = args};
    CHECK_OK(ctx, lli_resample_run(m->values[0], ctx, &plan));
    CHECK_OK(ctx, lli_bin_runs_ece(m->values[2], ctx, &b.runs, 1));
    for (int s = 0; s < 3; s++)
        m->middle[s] = lli_resample_middle(m->values[s], 0.95);
    m->middle[3] = (ll_interval){0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) { /* an end between tied levels jumps from seed to seed: their mean */
        CHECK_OK(ctx, lli_coverage_draw(m->values[3], ctx, (const uint8_t *const[]){code}, 1, n, cut.risk, seed));
        ll_interval middle = lli_resample_middle(m->values[3], 0.95);
        m->middle[3] = (ll_interval){m->middle[3].lo + middle.lo / SEEDS, m->middle[3].hi + middle.hi / SEEDS};
    }
    binned_release(&b);
    lli_curve_release(&curve);
    free(sr), free(right), free(out), free(wrong), free(code), free(out_code), free(x);
    ll_context_free(ctx);
}

/* Ends of an interval from 2000 draws have an error of some 6 % of the spread. */
static void intervals_agree_with_numpy(void **state) {
    (void)state;
    static const char *const keys[] = {"coverage", "fpr95", "ece", "coverage"};
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "bootstrap");
    static measured m;
    for (size_t k = 0; k < json_array_size(cases); k++) {
        json_t *row = json_array_get(cases, k);
        measure(&m, 1, row, false);
        for (int s = 0; s < 4; s++) {
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
        cmocka_unit_test(weights_are_multinomial),    cmocka_unit_test(runs_are_binomial),
        cmocka_unit_test(counts_are_binomial),        cmocka_unit_test(places_are_uniform),
        cmocka_unit_test(labels_have_their_chances),  cmocka_unit_test(labels_of_a_wide_bin),
        cmocka_unit_test(sums_of_many_spread),        cmocka_unit_test(few_places_do_as_well_as_all),
        cmocka_unit_test(intervals_agree_with_numpy), cmocka_unit_test(threads_and_order_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
