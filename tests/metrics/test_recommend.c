/* SPDX-License-Identifier: MIT */
/* The rule that recommends, on outcomes made for it: the simpler one of two that noise could swap, the better one of two it could not. */
#include "metrics/recommend.h"

#include <math.h>

#include "heard.h"
#include "metrics/contrast.h"
#include "metrics/sample.h"

enum { N = 2000 };

/* As `s`, with the confidence of wrong points lowered by `skill`: a better ranking of the same errors. */
static sample skilled(const sample *s, double skill) {
    sample out = sample_new(N, 2);
    out.confidence[LL_CONFIDENCE_SR] = sample_zeros(N, 8);
    for (int64_t i = 0; i < N; i++) {
        out.truth[i] = s->truth[i];
        out.confidence[LL_CONFIDENCE_SR][i] = s->confidence[LL_CONFIDENCE_SR][i] * (s->truth[i] ? 1 - skill : 1);
    }
    return out;
}

static ll_recommendation recommend(ll_context *ctx, const lli_candidate *list, int64_t count, double risk) {
    ll_recommendation r;
    CHECK_OK(ctx, lli_recommend(&r, ctx, list, count, risk, 0.95, 1));
    return r;
}

static void the_simpler_one_unless_it_is_worse(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    sample base = sample_random(7, N, 0.1, 0), near = skilled(&base, 1e-4), far = skilled(&base, 0.5);
    ll_outcome plain = sample_view(&base), little = sample_view(&near), much = sample_view(&far);
    const double risks[] = {NAN, 0.02};
    for (int k = 0; k < 2; k++) {
        const lli_candidate close[] = {{&little, 4, 10, false}, {&plain, 2, 70, false}};
        ll_recommendation r = recommend(ctx, close, 2, risks[k]);
        assert_int_equal(r.row, 2);
        assert_int_equal(r.n, N);
        assert_string_equal(r.criterion, k ? "coverage_at_risk" : "aurc_sr");
        const lli_candidate apart[] = {{&plain, 0, 70, false}, {&plain, 1, 70, true}, {&much, 2, 10, false}, {&much, 3, 10, true}};
        r = recommend(ctx, apart, 4, risks[k]);
        assert_true(r.row == 2 && r.best == 2 && isnan(r.interval.lo));
        assert_true(k ? r.value > 0.3 : r.value < 0.05);
    }
    const lli_candidate equal[] = {{&plain, 0, 0, false}, {&plain, 1, 30, true}, {&plain, 2, 30, false}, {&plain, 3, 30, false}};
    assert_int_equal(recommend(ctx, equal, 4, NAN).row, 2); /* no temperature before one, then the first */
    assert_int_equal(recommend(ctx, equal, 1, NAN).row, 0);
    assert_string_equal(recommend(ctx, equal, 4, 0).criterion, recommend(ctx, equal, 4, 0).value > 0 ? "coverage_at_risk" : "aurc_sr");
    sample_free(&base);
    sample_free(&near);
    sample_free(&far);
    ll_context_free(ctx);
}

/* Of equal ones the simplest is the best itself, wherever it stands: nothing is given up, and there is no difference. */
static void the_simplest_of_equals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample base = sample_random(7, N, 0.1, 0);
    ll_outcome plain = sample_view(&base);
    static const struct {
        int simplicity[2];
        bool calibrated[2];
        int first; /* 0 or 1; -1: the first of the list */
    } cases[] = {{{30, 20}, {false, false}, 0}, {{30, 20}, {true, false}, 0}, {{30, 30}, {false, true}, 0}, {{30, 30}, {true, true}, -1}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++)
        for (int turned = 0; turned < 2; turned++) {
            lli_candidate list[2];
            for (int k = 0; k < 2; k++)
                list[k != turned] = (lli_candidate){&plain, k, cases[c].simplicity[k], cases[c].calibrated[k]};
            ll_recommendation r = recommend(ctx, list, 2, NAN);
            assert_int_equal(r.row, cases[c].first < 0 ? list[0].row : cases[c].first);
            assert_true(r.best == r.row && r.value == r.best_value && r.difference == 0 && isnan(r.interval.lo) && isnan(r.interval.hi));
        }
    sample_free(&base);
    ll_context_free(ctx);
}

/* What is shown of one that is simpler and a little worse: both values by their definition, and the paired difference. */
static void what_is_given_up(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample base = sample_random(7, N, 0.1, 0), near = skilled(&base, 0.01);
    ll_outcome plain = sample_view(&base), little = sample_view(&near);
    const double risks[] = {0.02, NAN, 0.02, NAN};
    for (int k = 0; k < 4; k++)
        for (int turned = 0; turned < 2; turned++) {
            const lli_candidate better = {&little, 4, 10, false}, simpler = {&plain, 2, 70, false};
            const lli_candidate list[] = {turned ? better : simpler, turned ? simpler : better};
            const lli_contrast_side first = {.points = &little}, second = {.points = &plain};
            const lli_contrast_plan plan = {LL_CONFIDENCE_SR, 0.95, k % 2 ? 0 : 0.02, 1};
            ll_difference d[LL_METRIC_COUNT];
            double value[2];
            for (int m = 0; m < 2; m++) {
                ll_evaluation *e;
                ll_threshold t;
                ll_evaluate_options o = ll_evaluate_options_default();
                o.interval = 0;
                CHECK_OK(ctx, ll_evaluate(&e, ctx, m ? &little : &plain, NULL, &o));
                CHECK_OK(ctx, ll_threshold_at_risk(&t, ctx, m ? &little : &plain, LL_CONFIDENCE_SR, 0.02));
                value[m] = k % 2 ? e->selective[LL_CONFIDENCE_SR].aurc : t.coverage;
                ll_evaluation_free(e);
            }
            assert_true(k % 2 ? value[1] < value[0] : value[1] > value[0]);
            CHECK_OK(ctx, lli_contrast_measure(d, ctx, &first, &second, &plan));
            const ll_difference *by = &d[k % 2 ? LL_METRIC_AURC : LL_METRIC_COVERAGE_AT_RISK];
            bool within = by->interval.lo <= 0 && by->interval.hi >= 0;
            ll_recommendation r = recommend(ctx, list, 2, risks[k]);
            assert_string_equal(r.criterion, k % 2 ? "aurc_sr" : "coverage_at_risk");
            assert_true(r.best == 4 && r.best_value == value[1] && r.row == (within ? 2 : 4) && r.value == value[!within]);
            assert_true(within ? r.difference == by->value && r.interval.lo == by->interval.lo && r.interval.hi == by->interval.hi
                               : r.difference == 0 && isnan(r.interval.lo));
        }
    sample_free(&base);
    sample_free(&near);
    ll_context_free(ctx);
}

/* One error of the simpler one, the least sure row: a third of the draws does not have it, so the interval ends at 0 and covers it. And
 * nothing is said about candidates: a note on probabilities belongs to those who evaluate. */
static void an_interval_that_ends_at_zero(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = heard_context(&h);
    sample good = sample_random(7, N, 0, 0), bad = sample_random(7, N, 0, 0);
    good.confidence[LL_CONFIDENCE_SR][0] = bad.confidence[LL_CONFIDENCE_SR][0] = 0;
    bad.truth[0] = 1;
    bad.probs = sample_zeros(2 * N, 8);
    for (int i = 0; i < N; i++)
        bad.probs[2 * i] = 1;
    ll_outcome plain = sample_view(&bad), better = sample_view(&good);
    const lli_candidate list[] = {{&better, 0, 1, false}, {&plain, 1, 2, false}};
    ll_recommendation r = recommend(ctx, list, 2, 0);
    assert_true(r.best == 0 && r.row == 1 && r.interval.lo < 0 && r.interval.hi == 0 && r.best_value == 1);
    CHECK_NEAR(r.difference, -1.0 / N, 1e-15);
    assert_true(h.warnings == 0 && h.notes == 0);
    sample_free(&good);
    sample_free(&bad);
    ll_context_free(ctx);
}

/* No cut reaches the risk: AURC decides. Without errors nothing can be told apart, and the simplest is taken. */
static void the_edges(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample s = sample_random(3, N, 0.1, 0), t = sample_random(3, N, 0.1, 0);
    for (int64_t i = 0; i < N; i++) /* the surest are wrong */
        s.truth[i] = s.confidence[LL_CONFIDENCE_SR][i] > 0.5;
    for (int64_t i = 0; i < N; i++)
        t.truth[i] = 0;
    ll_outcome bad = sample_view(&s), good = sample_view(&t);
    const lli_candidate hopeless[] = {{&bad, 0, 1, false}, {&bad, 1, 2, false}}, sure[] = {{&good, 0, 1, false}, {&good, 1, 2, false}};
    ll_recommendation r = recommend(ctx, hopeless, 2, 0.01);
    assert_string_equal(r.criterion, "aurc_sr");
    assert_int_equal(r.row, 1);
    assert_int_equal(recommend(ctx, sure, 2, 0.01).row, 1);
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = lli_recommend(&r, ctx, hopeless, 2, 0.01, 0.95, 1);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK)
            break;
        assert_int_equal(status, LL_ERR_MEMORY);
    }
    sample_free(&s);
    sample_free(&t);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simpler_one_unless_it_is_worse),
        cmocka_unit_test(the_simplest_of_equals),
        cmocka_unit_test(what_is_given_up),
        cmocka_unit_test(an_interval_that_ends_at_zero),
        cmocka_unit_test(the_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
