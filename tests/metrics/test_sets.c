/* SPDX-License-Identifier: MIT */
/* Sets as the caller sees them, against plain loops over the rows: the quantile, the sets, all counts, Wilson's interval, warnings and
 * refusals. */
#include <math.h>

#include "heard.h"
#include "metrics/sets.h"
#include "sample.h"

enum { K = 11, N = 150, NEW = 120, BYTES = 2 }; /* the hash of the rows takes more than one of its blocks */

/* Rows whose true class is mostly, but not always, a probable one; class 10 has three rows. */
static sample rows(int64_t stream, int64_t n) {
    sample s = sample_new(n, K);
    s.probs = sample_zeros(n * K, sizeof(double));
    s.confidence[LL_CONFIDENCE_SR] = sample_zeros(n, sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double *p = s.probs + i * K, sum = 0;
        s.truth[i] = i < 3 ? 10 : (int32_t)(i % 10);
        for (int k = 0; k < K; k++)
            sum += p[k] = pow(check_uniform(stream, i * K + k), 4) + (k == s.truth[i] && i % 7 ? 0.6 : 0) + 1e-6;
        for (int k = 0; k < K; k++) {
            p[k] /= sum;
            if (p[k] > p[s.label[i]])
                s.label[i] = k;
        }
        s.confidence[LL_CONFIDENCE_SR][i] = p[s.label[i]];
    }
    return s;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every number of the view, by the definition: class k is in when 1 - p_k is at most the quantile, and the first class always is. */
static void check_sets(const ll_sets_info *i, const sample *s, double quantile, bool truth) {
    int64_t size_n[K + 1] = {0}, size_covered[K + 1] = {0}, class_n[K] = {0}, class_covered[K] = {0}, covered = 0, total = 0;
    assert_true(i->n == NEW && i->classes == K && i->bytes == BYTES);
    for (int64_t row = 0; row < NEW; row++) {
        int size = 0;
        bool in_truth = false;
        for (int k = 0; k < K; k++) {
            bool in = 1 - s->probs[row * K + k] <= quantile || k == s->label[row];
            assert_int_equal(i->set[row * BYTES + k / 8] >> (k % 8) & 1, in);
            size += in;
            in_truth |= in && k == s->truth[row];
        }
        assert_int_equal(i->size[row], size);
        total += size;
        covered += in_truth;
        size_n[size]++;
        size_covered[size] += in_truth;
        class_n[s->truth[row]]++;
        class_covered[s->truth[row]] += in_truth;
    }
    CHECK_NEAR(i->mean_size, (double)total / NEW, 1e-12);
    assert_memory_equal(i->size_n, size_n, sizeof size_n);
    if (!truth) {
        assert_true(i->covered == 0 && isnan(i->coverage) && isnan(i->interval.lo) && isnan(i->interval.hi));
        assert_true(!i->size_covered && !i->class_n && !i->class_covered);
        return;
    }
    assert_int_equal(i->covered, covered);
    assert_memory_equal(i->size_covered, size_covered, sizeof size_covered);
    assert_memory_equal(i->class_n, class_n, sizeof class_n);
    assert_memory_equal(i->class_covered, class_covered, sizeof class_covered);
    double p = (double)covered / NEW, z = 1.959963984540054, middle = (p + z * z / (2 * NEW)) / (1 + z * z / NEW),
           half = z / (1 + z * z / NEW) * sqrt(p * (1 - p) / NEW + z * z / (4.0 * NEW * NEW));
    CHECK_NEAR(i->coverage, p, 1e-15);
    CHECK_NEAR(i->interval.lo, middle - half, 1e-12);
    CHECK_NEAR(i->interval.hi, middle + half, 1e-12);
}

static void test_counts(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    sample calibration = rows(1, N), fresh = rows(2, NEW);
    ll_outcome given = sample_view(&calibration), points = sample_view(&fresh);
    ll_set_rule *rule;
    ll_sets *sets;
    ll_sets_options o = ll_sets_options_default();
    o.alpha = 0.2;
    CHECK_OK(ctx, ll_set_rule_fit(&rule, ctx, &given, &o));
    const ll_set_rule_info *i = ll_set_rule_view(rule);
    double score[N];
    for (int row = 0; row < N; row++)
        score[row] = 1 - calibration.probs[row * K + calibration.truth[row]];
    qsort(score, N, sizeof *score, ascending);
    assert_int_equal(i->rank, 121); /* ceil(151 * 0.8) */
    assert_int_equal(i->needed, 4); /* ceil((n + 1) 0.8) <= n */
    CHECK_NEAR(i->quantile, score[120], 1e-15);
    assert_true(i->n == N && i->classes == K && !i->by_class && !i->allow_empty && i->seed == 0 && isnan(i->confidence));
    CHECK_NEAR(i->alpha, 0.2, 0);
    assert_string_equal(i->score, "lac");
    for (int k = 0; k < K; k++) {
        CHECK_NEAR(i->class_quantile[k], i->quantile, 0);
        assert_int_equal(i->class_n[k], k == 10 ? 3 : k < 3 ? 14 : 15);
        assert_false(i->class_few[k]);
    }
    for (int truth = 0; truth < 2; truth++) {
        ll_outcome some = points;
        some.truth = truth ? points.truth : NULL;
        CHECK_OK(ctx, ll_sets_new(&sets, ctx, rule, &some, 0));
        check_sets(ll_sets_view(sets), &fresh, i->quantile, truth);
        CHECK_OK(ctx, lli_sets_match(ctx, rule, sets));
        ll_sets_free(sets);
    }
    assert_int_equal(h.warnings, 0);
    CHECK_OK(ctx, ll_sets_new(&sets, ctx, rule, &given, 0));
    ll_sets_free(sets);
    assert_true(h.warnings == 1 && strstr(h.last, "the new rows are the calibration rows"));
    for (int at = 0; at < N * K; at += 131) { /* one number elsewhere, in any block: other rows */
        double before = calibration.probs[at];
        calibration.probs[at] *= 1 + 1e-9;
        CHECK_OK(ctx, ll_sets_new(&sets, ctx, rule, &given, 0));
        ll_sets_free(sets);
        calibration.probs[at] = before;
    }
    assert_int_equal(h.warnings, 1);
    ll_set_rule_free(rule);
    sample_free(&calibration);
    sample_free(&fresh);
    ll_context_free(ctx);
}

/* Each class with a quantile of its own; 11 classes with few rows, of which ten are named. */
static void test_few(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    sample calibration = rows(1, N);
    ll_outcome given = sample_view(&calibration);
    ll_set_rule *rule;
    ll_sets_options o = ll_sets_options_default();
    o.by_class = true;
    o.alpha = 0.0625; /* 15 rows: ceil(16 * 0.9375) = 15 */
    CHECK_OK(ctx, ll_set_rule_fit(&rule, ctx, &given, &o));
    const ll_set_rule_info *i = ll_set_rule_view(rule);
    assert_true(i->by_class && i->needed == 15);
    for (int k = 0; k < K; k++) {
        double most = -1;
        for (int row = 0; row < N; row++)
            most = calibration.truth[row] == k ? fmax(most, 1 - calibration.probs[row * K + k]) : most;
        assert_int_equal(i->class_few[k], i->class_n[k] < 15);
        CHECK_NEAR(i->class_quantile[k], i->class_few[k] ? i->quantile : most, 1e-15);
    }
    assert_int_equal(h.warnings, 1);
    if (!strstr(h.last, "4 of 11 classes have fewer than 15 calibration rows") || !strstr(h.last, "stands in: 0, 1, 2, 10"))
        fail_msg("%s", h.last);
    assert_null(strstr(h.last, "..."));
    ll_set_rule_free(rule);
    static const struct {
        double alpha;
        bool by_class;
        int warnings;
        const char *words;
    } cases[] = {
        {0.05, true, 1, "stands in: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."},
        {0.006, true, 2, "fewer than 166 calibration rows"},
        {0.006, false, 1, "150 calibration rows are too few for alpha=0.006, which needs 166: the quantile is infinite, and every set"},
        {1.0 / 151, false, 0, ""}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        h = (heard){0};
        o.alpha = cases[c].alpha;
        o.by_class = cases[c].by_class;
        CHECK_OK(ctx, ll_set_rule_fit(&rule, ctx, &given, &o));
        if (h.warnings != cases[c].warnings || !strstr(h.last, cases[c].words))
            fail_msg("%g: %d warnings, %s", cases[c].alpha, h.warnings, h.last);
        assert_int_equal(isinf(ll_set_rule_view(rule)->quantile) != 0, cases[c].alpha < 0.0066);
        ll_set_rule_free(rule);
    }
    sample_free(&calibration);
    ll_context_free(ctx);
}

static void test_refused(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    sample s = rows(1, N), narrow = sample_random(3, 20, 0.2, 0);
    ll_outcome given = sample_view(&s), other = sample_view(&narrow), bare;
    double two[40];
    ll_set_rule *rule, *of_two;
    ll_sets *sets, *of_narrow;
    CHECK_OK(ctx, ll_set_rule_fit(&rule, ctx, &given, NULL));
    CHECK_NEAR(ll_set_rule_view(rule)->alpha, 0.1, 0);
    bare = given;
    bare.truth = NULL;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the calibration rows have no true classes", ll_set_rule_fit(&of_two, ctx, &bare, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the calibration rows have no probs", ll_set_rule_fit(&of_two, ctx, &other, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the new rows have no probs", ll_sets_new(&sets, ctx, rule, &other, 0));
    for (int i = 0; i < 20; i++) {
        two[2 * i] = 0.5 + 0.02 * i;
        two[2 * i + 1] = 1 - two[2 * i];
    }
    other.probs = ll_array_view(two, LL_DTYPE_F64, 2, (int64_t[]){20, 2});
    CHECK_FAILS(ctx, LL_ERR_DATA, "the new rows have 2 classes and the calibration rows 11", ll_sets_new(&sets, ctx, rule, &other, 0));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the number of the first row is -1", ll_sets_new(&sets, ctx, rule, &given, -1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the number of the first row is", ll_sets_new(&sets, ctx, rule, &given, INT64_MAX - N + 1));
    CHECK_OK(ctx, ll_sets_new(&sets, ctx, rule, &given, INT64_MAX - N));
    CHECK_OK(ctx, ll_set_rule_fit(&of_two, ctx, &other, NULL));
    CHECK_OK(ctx, ll_sets_new(&of_narrow, ctx, of_two, &other, 0));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the rule is of 11 classes and the sets of 2", lli_sets_match(ctx, rule, of_narrow));
    assert_null(ll_sets_view(NULL));
    assert_null(ll_set_rule_view(NULL));
    ll_interval none = lli_sets_interval(0, 0), one = lli_sets_interval(0, 1);
    assert_true(isnan(none.lo) && isnan(none.hi));
    CHECK_NEAR(one.lo, 0, 1e-15); /* Wilson's interval of 0 of n ends at z^2/(n + z^2) */
    CHECK_NEAR(one.hi, 3.841458820694124 / 4.841458820694124, 1e-12);
    ll_sets_free(of_narrow);
    ll_sets_free(sets);
    ll_sets_free(NULL);
    ll_set_rule_free(of_two);
    ll_set_rule_free(rule);
    ll_set_rule_free(NULL);
    sample_free(&s);
    sample_free(&narrow);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
