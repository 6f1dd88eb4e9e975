/* SPDX-License-Identifier: MIT */
/* Intervals and tests against R, pROC and numpy (tests/oracle/intervals.py wrote the fixture), the bootstrap, and simulations. */
#include "metrics/interval.h"

#include <math.h>

#include "fixture.h"
#include "metrics/influence.h"
#include "metrics/sample.h"
#include "metrics/special.h"

static const double Z = 1.959963984540054;

static double number(json_t *row, size_t i) {
    return json_number_value(json_array_get(row, i));
}

static lli_curve curve_of(ll_context *ctx, const double *x, const uint8_t *mark, int64_t n) {
    lli_curve curve;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, n));
    lli_curve_add(&curve, x, n, false, mark, false);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    return curve;
}

static uint8_t *marks(json_t *object, const char *key, int64_t n, bool invert) {
    double *x = fixture_reals(object, key, n);
    uint8_t *mark = sample_zeros(n, 1);
    for (int64_t i = 0; i < n; i++)
        mark[i] = (x[i] != 0) != invert;
    free(x);
    return mark;
}

/* sqrt of the sum of (a - b)^2; b may be NULL. */
static double distance(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    return sqrt(sum);
}

static void delong_agrees_with_proc(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "delong");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        json_t *row = json_array_get(cases, k);
        int64_t n = (int64_t)json_array_size(fixture_get(row, "a"));
        double *a = fixture_reals(row, "a", n), *b = fixture_reals(row, "b", n), *by_a = sample_zeros(n, 8), *by_b = sample_zeros(n, 8);
        uint8_t *wrong = marks(row, "right", n, true);
        lli_curve first = curve_of(ctx, a, wrong, n), second = curve_of(ctx, b, wrong, n);
        double auc = fixture_real(row, "auc_a"), error = lli_influence_error(&first, LLI_RANKING_AUROC);
        CHECK_NEAR(lli_curve_auroc(&first), auc, 1e-14);
        CHECK_NEAR(error * error, fixture_real(row, "var_a"), 1e-15);
        lli_influence_rows(by_a, &first, LLI_RANKING_AUROC);
        lli_influence_rows(by_b, &second, LLI_RANKING_AUROC);
        double gap = distance(by_b, by_a, n);
        CHECK_NEAR(distance(by_b, NULL, n), sqrt(fixture_real(row, "var_b")), 1e-15);
        CHECK_NEAR(gap * gap, fixture_real(row, "var_a") + fixture_real(row, "var_b") - 2 * fixture_real(row, "cov"), 1e-15);
        CHECK_NEAR(lli_interval_p(fixture_real(row, "auc_b") - auc, gap), fixture_real(row, "p"), 1e-12);
        ll_interval i = lli_interval_logit(auc, error, Z);
        CHECK_NEAR(log(i.hi / (1 - i.hi)) - log(auc / (1 - auc)), Z * error / (auc * (1 - auc)), 1e-12);
        CHECK_NEAR(log(auc / (1 - auc)) - log(i.lo / (1 - i.lo)), Z * error / (auc * (1 - auc)), 1e-12);
        lli_curve_release(&first);
        lli_curve_release(&second);
        free(a), free(b), free(by_a), free(by_b), free(wrong);
    }
    json_decref(root);
    ll_context_free(ctx);
}

static void closed_forms_agree_with_r(void **state) {
    (void)state;
    json_t *root = fixture_read("intervals"), *rows = fixture_get(root, "wilson");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        ll_interval i = lli_interval_wilson((int64_t)number(row, 0), (int64_t)number(row, 1),
                                            lli_special_normal_quantile((1 + number(row, 2)) / 2));
        CHECK_NEAR(i.lo, number(row, 3), 1e-14);
        CHECK_NEAR(i.hi, number(row, 4), 1e-14);
    }
    rows = fixture_get(root, "mcnemar");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        CHECK_NEAR(lli_interval_mcnemar((int64_t)number(row, 0), (int64_t)number(row, 1)), number(row, 2), 1e-13);
        CHECK_NEAR(lli_interval_mcnemar((int64_t)number(row, 1), (int64_t)number(row, 0)), number(row, 2), 1e-13);
    }
    rows = fixture_get(root, "agresti_min");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        ll_interval i = lli_interval_agresti_min((int64_t)number(row, 0), (int64_t)number(row, 1), (int64_t)number(row, 2), Z);
        CHECK_NEAR(i.lo, number(row, 3), 1e-14);
        CHECK_NEAR(i.hi, number(row, 4), 1e-14);
    }
    double *holm = fixture_reals(root, "holm", 12), adjusted[6];
    lli_interval_holm(adjusted, holm, 6);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(adjusted[i], holm[6 + i], 1e-14);
    const double some[] = {0.02, NAN, 0.01};
    lli_interval_holm(adjusted, some, 3);
    assert_true(adjusted[0] == 0.02 && isnan(adjusted[1]) && adjusted[2] == 0.02);
    free(holm);
    json_decref(root);
}

/* 10000 bootstraps by numpy of 2000 points with 11 levels of confidence: their spread is known to 0.7 %. */
static void ties_agree_with_the_bootstrap(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("intervals"), *tied = fixture_get(root, "tied");
    double *sr = fixture_reals(tied, "sr", 2000);
    uint8_t *wrong = marks(tied, "wrong", 2000, false);
    lli_curve curve = curve_of(ctx, sr, wrong, 2000);
    assert_int_equal(curve.steps, 11);
    CHECK_NEAR(lli_influence_error(&curve, LLI_RANKING_AURC), fixture_real(tied, "error"), 0.03 * fixture_real(tied, "error"));
    lli_curve_release(&curve);
    free(sr);
    free(wrong);
    json_decref(root);
    ll_context_free(ctx);
}

/* Contributions sum to 0, their squares give the error, the order of the rows does not matter, a monotone map neither. */
static void contributions(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int64_t levels = 0; levels <= 40; levels += 20)
        for (int64_t n = 3; n < 3000; n = 3 * n + 1) {
            sample s = sample_random(60 + n + levels, n, 0.6, levels);
            double *x = s.confidence[LL_CONFIDENCE_SR], *turned = sample_zeros(n, 8), *rows = sample_zeros(n, 8);
            uint8_t *wrong = sample_zeros(n, 1), *turned_wrong = sample_zeros(n, 1);
            for (int64_t i = 0; i < n; i++) {
                wrong[i] = (uint8_t)s.truth[i];
                turned[n - 1 - i] = exp(3 * x[i]);
                turned_wrong[n - 1 - i] = wrong[i];
            }
            lli_curve curve = curve_of(ctx, x, wrong, n), other = curve_of(ctx, turned, turned_wrong, n);
            for (lli_ranking m = 0; m <= LLI_RANKING_AUROC; m++) {
                double error = lli_influence_error(&curve, m), sum = 0;
                lli_influence_rows(rows, &curve, m);
                for (int64_t i = 0; i < n; i++)
                    sum += rows[i];
                if (isnan(error)) {
                    assert_true(isnan(rows[0]));
                    continue;
                }
                CHECK_NEAR(sum, 0, 1e-12);
                CHECK_NEAR(distance(rows, NULL, n), error, 1e-12);
                assert_true(lli_influence_error(&other, m) == error);
                for (int64_t i = 0; i < n; i++) /* a row has its own contribution, wherever it stands */
                    turned[i] = rows[n - 1 - i];
                lli_influence_rows(rows, &other, m);
                CHECK_NEAR(distance(rows, turned, n), 0, 1e-15);
            }
            lli_curve_release(&curve);
            lli_curve_release(&other);
            sample_free(&s);
            free(turned), free(rows), free(wrong), free(turned_wrong);
        }
    ll_context_free(ctx);
}

/* Metrics of points that count more or less: w [n], groups by falling x. E-AURC less the best area of a share e of errors, e + (1-e)
 * log(1-e). */
static double weighted(const lli_curve *curve, const double *w, lli_ranking metric) {
    double all = 0, points = 0, errors = 0, sum = 0, marked = 0;
    for (int64_t i = 0; i < curve->n; i++) {
        all += w[i];
        marked += lli_curve_is_marked(curve, i) ? w[i] : 0;
    }
    for (int64_t i = 0; i < curve->steps; i++) {
        double group = 0, wrong = 0;
        for (int64_t j = curve->step[i].accepted - lli_curve_size(curve, i); j < curve->step[i].accepted; j++) {
            group += w[j];
            wrong += lli_curve_is_marked(curve, j) ? w[j] : 0;
        }
        points += group;
        errors += wrong;
        if (metric == LLI_RANKING_AUROC)
            sum += (group - wrong) * (marked - errors + 0.5 * wrong) / marked / (all - marked);
        else
            sum += group / all * (metric == LLI_RANKING_AUGRC ? (errors - 0.5 * wrong) / all : errors / points);
    }
    double e = marked / all;
    return metric == LLI_RANKING_EAURC ? sum - (e + (1 - e) * log1p(-e)) : sum;
}

/* A contribution is the derivative of the metric where the weight of its row grows, over sqrt(n (n-1)); DeLong's divide by the number of
 * their own kind. */
static void contributions_are_derivatives(void **state) {
    (void)state;
    enum { N = 60 };
    ll_context *ctx = check_context(1);
    for (int64_t levels = 0; levels <= 9; levels += 9) {
        sample s = sample_random(77, N, 0.6, levels);
        uint8_t wrong[N];
        double w[N], rows[N];
        for (int i = 0; i < N; i++)
            wrong[i] = (uint8_t)s.truth[i];
        lli_curve curve = curve_of(ctx, s.confidence[LL_CONFIDENCE_SR], wrong, N);
        for (lli_ranking m = 0; m <= LLI_RANKING_AUROC; m++) {
            lli_influence_rows(rows, &curve, m);
            for (int64_t i = 0; i < N; i++) {
                double value[2], step = 1e-5, kind = (double)(lli_curve_is_marked(&curve, i) ? curve.marked : N - curve.marked);
                for (int side = 0; side < 2; side++) {
                    double e = side ? step : -step;
                    for (int64_t j = 0; j < N; j++)
                        w[j] = (1 - e) / N + (j == i ? e : 0);
                    value[side] = weighted(&curve, w, m);
                }
                double slope = (value[1] - value[0]) / (2 * step);
                double scale = m == LLI_RANKING_AUROC ? kind / N / sqrt(kind * (kind - 1)) : 1 / sqrt(N * (N - 1.0));
                CHECK_NEAR(rows[lli_curve_row(&curve, i)], slope * scale, 1e-7);
            }
        }
        lli_curve_release(&curve);
        sample_free(&s);
    }
    ll_context_free(ctx);
}

static void what_is_undefined(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const double x[] = {0.1, 0.2, 0.3};
    const uint8_t none[] = {0, 0, 0}, all[] = {1, 1, 1}, one[] = {1, 0, 0};
    lli_curve a = curve_of(ctx, x, none, 3), b = curve_of(ctx, x, all, 3), c = curve_of(ctx, x, one, 3), d = curve_of(ctx, x, one, 1);
    for (lli_ranking m = 0; m <= LLI_RANKING_AUROC; m++)
        assert_true(isnan(lli_influence_error(&a, m)) && isnan(lli_influence_error(&b, m)) && isnan(lli_influence_error(&d, m)));
    assert_true(isnan(lli_influence_error(&c, LLI_RANKING_AUROC)) && !isnan(lli_influence_error(&c, LLI_RANKING_AURC)));
    assert_true(isnan(lli_interval_logit(1, 0, Z).lo) && isnan(lli_interval_logit(0, 0, Z).hi) && isnan(lli_interval_log(0, 0, Z).lo));
    assert_true(isnan(lli_interval_normal(INFINITY, 1, Z).lo) && isnan(lli_interval_p(NAN, 1)));
    assert_true(lli_interval_above_zero(0.1, 1, Z).lo == 0 && lli_interval_p(0, 0) == 1 && lli_interval_p(0.5, 0) == 0);
    lli_curve_release(&a);
    lli_curve_release(&b);
    lli_curve_release(&c);
    lli_curve_release(&d);
    ll_context_free(ctx);
}

/* How often the interval of AURC holds the truth, rate/3: at confidence u a point is wrong with chance 3 rate (1-u)^2. 400 trials with our
 * code; the oracle's thousands, by the same formula in numpy, stand in the fixture. */
static void intervals_hold_the_truth(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("intervals"), *rows = fixture_get(root, "simulated");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        json_t *row = json_array_get(rows, r);
        double coverage = fixture_real(row, "coverage"), rate = fixture_real(row, "rate");
        int64_t n = fixture_integer(row, "n"), inside = 0, trials = 400 / check_step(20);
        assert_true(coverage >= (fixture_real(row, "errors") < 50 ? 0.92 : 0.93) && coverage <= 0.97);
        double *u = sample_zeros(n, 8);
        uint8_t *wrong = sample_zeros(n, 1);
        for (int64_t t = 0; t < trials; t++) {
            for (int64_t i = 0; i < n; i++) {
                u[i] = check_uniform(1000 + (int64_t)r * 500 + t, 2 * i);
                wrong[i] = check_uniform(1000 + (int64_t)r * 500 + t, 2 * i + 1) < 3 * rate * (1 - u[i]) * (1 - u[i]);
            }
            lli_curve curve = curve_of(ctx, u, wrong, n);
            double aurc = 0;
            for (int64_t i = 0; i < curve.steps; i++)
                aurc += (double)(curve.step[i].marked * lli_curve_size(&curve, i)) / (double)curve.step[i].accepted / (double)n;
            ll_interval i = lli_interval_log(aurc, lli_influence_error(&curve, LLI_RANKING_AURC), Z);
            inside += i.lo <= rate / 3 && rate / 3 <= i.hi;
            lli_curve_release(&curve);
        }
        double slack = 4 * sqrt(0.95 * 0.05 / (double)trials); /* what chance makes of `trials` */
        CHECK_NEAR((double)inside / (double)trials, coverage, slack);
        free(u);
        free(wrong);
    }
    json_decref(root);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delong_agrees_with_proc),       cmocka_unit_test(closed_forms_agree_with_r),
        cmocka_unit_test(ties_agree_with_the_bootstrap), cmocka_unit_test(contributions),
        cmocka_unit_test(contributions_are_derivatives), cmocka_unit_test(what_is_undefined),
        cmocka_unit_test(intervals_hold_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
