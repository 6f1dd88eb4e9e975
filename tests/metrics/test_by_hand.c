/* SPDX-License-Identifier: MIT */
/* Counts of classes and cuts, and what is said of them, against loops that only follow the definition. */
#include <math.h>

#include "heard.h"
#include "metrics/per_class.h"
#include "metrics/threshold.h"
#include "sample.h"

enum { K = 8, N = 300 };

/* Class 6 is never decided, class 7 never true; confidences on a grid, so that some are the cut itself. */
static sample rows(void) {
    sample s = sample_new(N, K);
    double *sr = s.confidence[LL_CONFIDENCE_SR] = sample_zeros(N, sizeof(double));
    for (int i = 0; i < N; i++) {
        s.truth[i] = (int32_t)(check_uniform(5, 3 * i) * 7);
        s.label[i] = check_uniform(5, 3 * i + 1) < 0.7 && s.truth[i] != 6 ? s.truth[i] : i % 2 ? 7 : i % 6;
        sr[i] = floor(check_uniform(5, 3 * i + 2) * 20) / 20;
    }
    return s;
}

static void near_or_nan(double found, double part, double whole) {
    if (whole > 0)
        CHECK_NEAR(found, part / whole, 1e-15);
    else
        assert_true(isnan(found));
}

static void test_classes(void **state) {
    (void)state;
    sample s = rows();
    ll_outcome points = sample_view(&s);
    const double cuts[] = {0.5, 0, 2, NAN};
    for (size_t c = 0; c < LLI_COUNT(cuts) + 1; c++) {
        ll_class_score score[K] = {0};
        double cut = c < LLI_COUNT(cuts) ? cuts[c] : 0;
        if (c == LLI_COUNT(cuts))
            points.confidence[LL_CONFIDENCE_SR] = NULL;
        lli_per_class_measure(score, K, s.label, &points, cut);
        for (int k = 0; k < K; k++) {
            int64_t n = 0, decided = 0, right = 0, answered = 0, answered_right = 0, answers = 0;
            for (int i = 0; i < N; i++) {
                bool over = points.confidence[LL_CONFIDENCE_SR] && s.confidence[LL_CONFIDENCE_SR][i] >= cut;
                if (s.label[i] == k) {
                    decided++;
                    answers += over;
                }
                if (s.truth[i] != k)
                    continue;
                n++;
                answered += over;
                if (s.label[i] == k) {
                    right++;
                    answered_right += over;
                }
            }
            assert_true(score[k].n == n && score[k].decided == decided && score[k].right == right && score[k].answered == answered);
            assert_true(score[k].answered_right == answered_right && score[k].answers == answers);
            near_or_nan(score[k].precision, (double)right, (double)decided);
            near_or_nan(score[k].recall, (double)right, (double)n);
            near_or_nan(score[k].coverage, (double)answered, (double)n);
            near_or_nan(score[k].risk, (double)(answered - answered_right), (double)answered);
        }
    }
    sample_free(&s);
}

static void test_majority(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const struct {
        int32_t truth[6];
        int64_t majority, count;
    } cases[] = {{{0, 0, 0, 1, 2, 3}, 0, 3}, {{3, 3, 1, 2, 3, 0}, 3, 3}, {{2, 1, 2, 1, 0, 3}, 1, 2}, {{2, 2, 2, 2, 2, 2}, 2, 6}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        int64_t majority, count;
        CHECK_OK(ctx, lli_per_class_majority(&majority, &count, ctx, cases[c].truth, 6, 4));
        assert_true(majority == cases[c].majority && count == cases[c].count);
    }
    ll_context_free(ctx);
}

static void test_cut(void **state) {
    (void)state;
    sample s = rows();
    ll_outcome points = sample_view(&s);
    for (int step = -1; step <= 21; step++) {
        ll_threshold t;
        double cut = step / 20.0;
        int64_t accepted = 0, wrong = 0, errors = 0;
        for (int i = 0; i < N; i++) {
            errors += s.label[i] != s.truth[i];
            if (s.confidence[LL_CONFIDENCE_SR][i] < cut)
                continue;
            accepted++;
            wrong += s.label[i] != s.truth[i];
        }
        lli_threshold_at_cut(&t, &points, LL_CONFIDENCE_SR, cut);
        assert_true(t.cut == cut && t.n == N && t.errors == errors && t.accepted == accepted && t.accepted_errors == wrong && t.found);
        CHECK_NEAR(t.coverage, (double)accepted / N, 1e-15);
        CHECK_NEAR(t.risk, accepted ? (double)wrong / (double)accepted : 0, 1e-15);
    }
    sample_free(&s);
}

/* An evaluation of `classes` classes with 10 rows each, all decided rightly, none answered where `silent`. */
static void say(ll_context *ctx, heard *h, int64_t classes, int64_t silent, int64_t empty, double cut) {
    ll_class_score score[K] = {0};
    ll_evaluation e = {.classes = classes, .by_class = score, .class_cut = cut, .accuracy = 0.75, .majority = 3, .majority_accuracy = 0.5};
    e.rules.risk = 0.125;
    e.intervals.accuracy = (ll_interval){0.5, 0.5};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        e.intervals.failure_auroc[c] = (ll_interval){0.25, c == LL_CONFIDENCE_HQ ? 0.4375 : 0.5};
    e.selective[LL_CONFIDENCE_HQ].failure_auroc = 0.25;
    for (int64_t k = 0; k < classes; k++) {
        score[k] = (ll_class_score){.n = 10 + k, .right = 2, .answers = k < silent ? 0 : 1};
        if (k < empty)
            score[k] = (ll_class_score){0};
    }
    *h = (heard){0};
    lli_per_class_warn(ctx, &e);
    assert_non_null(strstr(h->text, "hq ranks backwards here (AUROC 0.25)"));
    h->warnings--;
    assert_null(strstr(h->text, "always deciding"));
    e.majority_accuracy = 0.5625;
    e.by_class = NULL;
    heard other = *h;
    *h = (heard){0};
    lli_per_class_warn(ctx, &e);
    assert_true(h->warnings == 2 && strstr(h->text, "the accuracy 0.75 is below that of always deciding class 3, 0.5625"));
    *h = other;
}

static void test_warnings(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    say(ctx, &h, 8, 0, 0, 0.5);
    assert_int_equal(h.warnings, 0);
    say(ctx, &h, 8, 0, 1, 0.5);
    assert_true(h.warnings == 1 && strstr(h.text, "class 0 has no rows"));
    say(ctx, &h, 8, 0, 2, 0.5); /* more than one, and labels do not start at 1 */
    assert_int_equal(h.warnings, 0);
    say(ctx, &h, 1, 0, 1, 0.5);
    assert_int_equal(h.warnings, 0);
    say(ctx, &h, 8, 3, 1, NAN); /* nothing is cut: nobody is silent */
    assert_int_equal(h.warnings, 1);
    say(ctx, &h, 8, 3, 1, 0.5);
    assert_true(h.warnings == 3 && !strstr(h.text, "class 0 is never") && !strstr(h.text, "and others"));
    if (!strstr(h.text, "class 2 is never answered: of its 12 rows 2 are decided rightly, and none of its answers reaches the cut of risk "
                        "0.125, sr >= 0.5"))
        fail_msg("%s", h.text);
    say(ctx, &h, 8, 5, 0, 0.5);
    assert_true(h.warnings == 5 && strstr(h.text, "class 4 is never") && !strstr(h.text, "and others"));
    say(ctx, &h, 8, 7, 0, 0.5);
    assert_true(h.warnings == 6 && !strstr(h.text, "class 5 is never"));
    assert_non_null(strstr(h.text, "7 of 8 classes are never answered, those above and others"));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_majority),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
