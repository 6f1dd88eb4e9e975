/* SPDX-License-Identifier: MIT */
/* Two methods on the same rows: against pROC's paired test, by symmetry, and how often equal methods are called different. */
#include "metrics/contrast.h"

#include <math.h>

#include "fixture.h"
#include "metrics/sample.h"

/* Two methods with the same chance of an error at the same confidence; a quarter of the rows is drawn apart. */
static void twins(sample *a, sample *b, int64_t stream, int64_t n) {
    *a = sample_new(n, 2);
    *b = sample_new(n, 2);
    a->confidence[0] = sample_zeros(n, 8);
    b->confidence[0] = sample_zeros(n, 8);
    for (int64_t i = 0; i < n; i++) {
        double u = check_uniform(stream, 6 * i), chance = 0.6 * (1 - u) * (1 - u);
        bool wrong = check_uniform(stream, 6 * i + 1) < chance, other = check_uniform(stream, 6 * i + 2) < chance;
        a->label[i] = wrong;
        b->label[i] = check_uniform(stream, 6 * i + 3) < 0.25 ? other : wrong;
        a->confidence[0][i] = u + 0.1 * check_uniform(stream, 6 * i + 4);
        b->confidence[0][i] = u + 0.1 * check_uniform(stream, 6 * i + 5);
    }
}

static void measure_with(ll_difference *out, ll_context *ctx, const sample *a, const sample *b, const sample *out_a, const sample *out_b,
                         double risk) {
    ll_outcome views[] = {sample_view(a), sample_view(b), {0}, {0}};
    if (out_a) {
        views[2] = sample_view(out_a);
        views[3] = sample_view(out_b);
    }
    lli_contrast_side first = {&views[0], out_a ? &views[2] : NULL}, second = {&views[1], out_a ? &views[3] : NULL};
    lli_contrast_plan plan = {.by = LL_CONFIDENCE_SR, .level = 0.95, .risk = risk};
    CHECK_OK(ctx, lli_contrast_measure(out, ctx, &first, &second, &plan));
}

static void measure(ll_difference *out, ll_context *ctx, const sample *a, const sample *b) {
    measure_with(out, ctx, a, b, NULL, NULL, 0.05);
}

static bool needs_more(int metric) { /* than labels and confidences */
    return metric == LL_METRIC_NLL || metric == LL_METRIC_BRIER || metric >= LL_METRIC_OOD_AUROC;
}

static void equal_methods_are_within_noise(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    int64_t trials = 120 / check_step(10), called = 0;
    for (int64_t t = 0; t < trials; t++) {
        sample a, b;
        ll_difference d[LL_METRIC_COUNT], turned[LL_METRIC_COUNT], same[LL_METRIC_COUNT];
        twins(&a, &b, 300 + t, 600);
        measure(d, ctx, &a, &b);
        called += d[LL_METRIC_AURC].p < 0.05;
        for (int m = 0; m < LL_METRIC_COUNT && t < 3; m++) {
            measure(turned, ctx, &b, &a);
            measure(same, ctx, &a, &a);
            if (needs_more(m)) {
                assert_true(isnan(d[m].value) && isnan(d[m].p));
                continue;
            }
            CHECK_NEAR(turned[m].value, -d[m].value, 1e-15);
            CHECK_NEAR(turned[m].p, d[m].p, m == LL_METRIC_COVERAGE_AT_RISK ? 0.1 : 1e-12);
            assert_true(d[m].interval.lo < d[m].interval.hi && same[m].value == 0 && same[m].p == 1);
        }
        sample_free(&a);
        sample_free(&b);
    }
    assert_true(called <= 16); /* of 120 tests at 5 % more than that has a chance of 1e-4 */
    ll_context_free(ctx);
}

/* The same errors: DeLong's paired test, as pROC has it. */
static void auroc_agrees_with_proc(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "delong");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        json_t *row = json_array_get(cases, k);
        int64_t n = (int64_t)json_array_size(fixture_get(row, "a"));
        sample a = sample_new(n, 2), b = sample_new(n, 2);
        a.confidence[0] = fixture_reals(row, "a", n);
        b.confidence[0] = fixture_reals(row, "b", n);
        for (int64_t i = 0; i < n; i++)
            a.label[i] = b.label[i] = json_integer_value(json_array_get(fixture_get(row, "right"), (size_t)i)) == 0;
        ll_difference d[LL_METRIC_COUNT];
        measure(d, ctx, &a, &b);
        CHECK_NEAR(d[LL_METRIC_FAILURE_AUROC].value, fixture_real(row, "auc_b") - fixture_real(row, "auc_a"), 1e-14);
        CHECK_NEAR(d[LL_METRIC_FAILURE_AUROC].p, fixture_real(row, "p"), 1e-12);
        sample_free(&a);
        sample_free(&b);
    }
    json_decref(root);
    ll_context_free(ctx);
}

/* The same test of out points: those that are wrong there are the out points here. */
static void detection_agrees_with_proc(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "delong");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        json_t *row = json_array_get(cases, k), *right = fixture_get(row, "right");
        int64_t n = (int64_t)json_array_size(right), used[2] = {0};
        double *x[] = {fixture_reals(row, "a", n), fixture_reals(row, "b", n)};
        sample parts[2][2]; /* in or out, a or b */
        for (int i = 0; i < 4; i++) {
            parts[i / 2][i % 2] = sample_new(n, 2);
            parts[i / 2][i % 2].confidence[0] = sample_zeros(n, 8);
        }
        for (int64_t i = 0; i < n; i++) {
            int out = json_integer_value(json_array_get(right, (size_t)i)) == 0;
            for (int s = 0; s < 2; s++)
                parts[out][s].confidence[0][used[out]] = x[s][i];
            used[out]++;
        }
        for (int i = 0; i < 4; i++)
            parts[i / 2][i % 2].n = used[i / 2];
        ll_difference d[LL_METRIC_COUNT];
        measure_with(d, ctx, &parts[0][0], &parts[0][1], &parts[1][0], &parts[1][1], 0.05);
        CHECK_NEAR(d[LL_METRIC_OOD_AUROC].value, fixture_real(row, "auc_b") - fixture_real(row, "auc_a"), 1e-14);
        CHECK_NEAR(d[LL_METRIC_OOD_AUROC].p, fixture_real(row, "p"), 1e-12);
        for (int i = 0; i < 4; i++)
            sample_free(&parts[i / 2][i % 2]);
        free(x[0]), free(x[1]);
    }
    json_decref(root);
    ll_context_free(ctx);
}

typedef struct pairs {
    sample in[2], out[2];
} pairs;

/* `turn`: rows in the other order, which is the same for both methods. */
static void pairs_read(pairs *p, json_t *row, bool turn) {
    static const char *const keys[2][2] = {{"a", "b"}, {"out_a", "out_b"}};
    for (int i = 0; i < 4; i++) {
        sample *s = i < 2 ? &p->in[i] : &p->out[i - 2];
        int64_t n = (int64_t)json_array_size(fixture_get(row, keys[i / 2][i % 2]));
        double *x = fixture_reals(row, keys[i / 2][i % 2], n);
        *s = sample_new(n, 2);
        s->confidence[0] = sample_zeros(n, 8);
        for (int64_t j = 0; j < n; j++) {
            int64_t from = turn ? n - 1 - j : j;
            s->confidence[0][j] = x[from];
            s->label[j] = i < 2 && json_integer_value(json_array_get(fixture_get(row, "right"), (size_t)from)) == 0;
        }
        free(x);
    }
}

static void pairs_free(pairs *p) {
    for (int s = 0; s < 2; s++) {
        sample_free(&p->in[s]);
        sample_free(&p->out[s]);
    }
}

static void pairs_measure(ll_difference *out, int threads, json_t *row, bool turn) {
    ll_context *ctx = check_context(threads);
    pairs p;
    pairs_read(&p, row, turn);
    measure_with(out, ctx, &p.in[0], &p.in[1], &p.out[0], &p.out[1], fixture_real(row, "risk"));
    pairs_free(&p);
    ll_context_free(ctx);
}

/* Ends of an interval from 2000 draws have an error of some 6 % of the spread. */
static void resampling_agrees_with_numpy(void **state) {
    (void)state;
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "paired");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        static const ll_metric metrics[] = {LL_METRIC_COVERAGE_AT_RISK, LL_METRIC_OOD_FPR95};
        json_t *row = json_array_get(cases, k);
        ll_difference d[LL_METRIC_COUNT];
        pairs_measure(d, 2, row, false);
        for (size_t m = 0; m < LLI_COUNT(metrics); m++) {
            const char *key = ll_metric_name(metrics[m]);
            json_t *middle = fixture_get(fixture_get(row, "middle"), key);
            double spread = fixture_real(fixture_get(row, "spread"), key);
            CHECK_NEAR(d[metrics[m]].interval.lo, json_number_value(json_array_get(middle, 0)), 0.25 * spread);
            CHECK_NEAR(d[metrics[m]].interval.hi, json_number_value(json_array_get(middle, 1)), 0.25 * spread);
        }
    }
    json_decref(root);
}

/* Resampled ones to the bit; sums over rows only as far as addition does not care about order. */
static void threads_and_order_do_not_matter(void **state) {
    (void)state;
    json_t *root = fixture_read("intervals"), *cases = fixture_get(root, "paired");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        ll_difference one[LL_METRIC_COUNT], three[LL_METRIC_COUNT], turned[LL_METRIC_COUNT];
        pairs_measure(one, 1, json_array_get(cases, k), false);
        pairs_measure(three, 3, json_array_get(cases, k), false);
        pairs_measure(turned, 2, json_array_get(cases, k), true);
        for (int m = 0; m < LL_METRIC_COUNT; m++) {
            double slack = m == LL_METRIC_COVERAGE_AT_RISK || m == LL_METRIC_OOD_FPR95 ? 0 : 1e-13;
            if (m == LL_METRIC_NLL || m == LL_METRIC_BRIER)
                continue;
            assert_true(one[m].value == three[m].value && one[m].p == three[m].p && one[m].interval.lo == three[m].interval.lo);
            CHECK_NEAR(turned[m].value, one[m].value, slack);
            CHECK_NEAR(turned[m].p, one[m].p, slack);
            CHECK_NEAR(turned[m].interval.lo, one[m].interval.lo, slack);
            CHECK_NEAR(turned[m].interval.hi, one[m].interval.hi, slack);
        }
    }
    json_decref(root);
}

static void words(void **state) {
    (void)state;
    const ll_difference less = {.value = -1, .p_adjusted = 0.01, .less_is_better = true};
    const ll_difference more = {.value = 1, .p_adjusted = 0.01, .less_is_better = true};
    const ll_difference noise = {.value = 1, .p_adjusted = 0.06}, none = {.value = 1, .p_adjusted = NAN};
    assert_string_equal(lli_contrast_word(&less, 0.95), "better");
    assert_string_equal(lli_contrast_word(&more, 0.95), "worse");
    assert_string_equal(lli_contrast_word(&noise, 0.95), "within noise");
    assert_null(lli_contrast_word(&none, 0.95));
}

/* Several methods: p is adjusted over those that are there, and one that diverged has nothing. */
static void several_are_adjusted(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample a, b, c, d;
    twins(&a, &b, 7, 400);
    twins(&c, &d, 8, 400);
    ll_outcome views[] = {sample_view(&a), sample_view(&b), sample_view(&d)};
    const lli_contrast_side sides[] = {{&views[0], NULL}, {&views[1], NULL}, {NULL, NULL}, {&views[2], NULL}};
    lli_contrast_plan plan = {.by = LL_CONFIDENCE_SR, .level = 0.95, .risk = 0.05};
    ll_difference rows[4][LL_METRIC_COUNT];
    CHECK_OK(ctx, lli_contrast_rows(rows[0], ctx, sides, 4, &plan));
    for (int m = 0; m < LL_METRIC_COUNT; m++) {
        double p[] = {rows[1][m].p, rows[3][m].p}, low = fmin(p[0], p[1]), high = fmax(p[0], p[1]);
        assert_true(isnan(rows[0][m].value) && isnan(rows[2][m].p_adjusted) && !rows[2][m].word);
        if (needs_more(m))
            continue;
        CHECK_NEAR(fmin(rows[1][m].p_adjusted, rows[3][m].p_adjusted), fmin(1, 2 * low), 1e-15);
        CHECK_NEAR(fmax(rows[1][m].p_adjusted, rows[3][m].p_adjusted), fmax(fmin(1, 2 * low), high), 1e-15);
    }
    sample_free(&a), sample_free(&b), sample_free(&c), sample_free(&d);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_methods_are_within_noise),
        cmocka_unit_test(auroc_agrees_with_proc),
        cmocka_unit_test(detection_agrees_with_proc),
        cmocka_unit_test(resampling_agrees_with_numpy),
        cmocka_unit_test(threads_and_order_do_not_matter),
        cmocka_unit_test(words),
        cmocka_unit_test(several_are_adjusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
