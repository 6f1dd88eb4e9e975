/* SPDX-License-Identifier: MIT */
/* The two signs, on outcomes made by hand. */
#include <math.h>

#include "metrics/warning_signs.h"
#include "sample.h"

/* Rows whose std is a known multiple of the noise: the median of 1..9 times 40 is 200; one row without a tail, and one member, tell
 * nothing. */
static void test_spread(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const double gaps[] = {0, 0.5, -1, 3, -4, 8, 20, 30, 60};
    double sr[10], tail[10], std[10], spread;
    for (int i = 0; i < 9; i++) {
        sr[i] = 1 / (1 + exp(-gaps[i]));
        tail[i] = 1 / (1 + exp(gaps[i]));
        std[i] = -40 * ((i * 5) % 9 + 1) * (1 + fabs(gaps[i])) * sr[i] * tail[i] / 16777216;
    }
    sr[9] = 1;
    tail[9] = 0;
    std[9] = 0;
    ll_outcome o = {.n = 10, .classes = 3, .sr_tail = tail};
    o.confidence[LL_CONFIDENCE_SR] = sr;
    CHECK_OK(ctx, lli_warning_signs_spread(&spread, ctx, &o));
    assert_true(isnan(spread));
    o.confidence[LL_CONFIDENCE_STD] = std;
    CHECK_OK(ctx, lli_warning_signs_spread(&spread, ctx, &o));
    CHECK_NEAR(spread, 200, 1e-9);
    std[0] *= 1000; /* 1000 6 2 7 3 8 4 9 5 times 40 */
    CHECK_OK(ctx, lli_warning_signs_spread(&spread, ctx, &o));
    CHECK_NEAR(spread, 240, 1e-9);
    o.n = 8; /* without the 5: the lower one of the two in the middle */
    CHECK_OK(ctx, lli_warning_signs_spread(&spread, ctx, &o));
    CHECK_NEAR(spread, 240, 1e-9);
    sr[8] = 1; /* a noise that is 0 without being NaN tells nothing either */
    tail[8] = 0x1p-1074;
    std[8] = -1;
    o.n = 9;
    CHECK_OK(ctx, lli_warning_signs_spread(&spread, ctx, &o));
    CHECK_NEAR(spread, 240, 1e-9);
    ll_outcome last = {.n = 1, .classes = 3, .sr_tail = tail + 9};
    last.confidence[LL_CONFIDENCE_SR] = sr + 9;
    last.confidence[LL_CONFIDENCE_STD] = std + 9;
    CHECK_OK(ctx, lli_warning_signs_spread(&spread, ctx, &last));
    assert_true(isnan(spread));
    ll_context_free(ctx);
}

/* With 1000 rows, nothing won and L lost, L > 50 + 3 sqrt(L): from 77 on. */
static void test_loss(void **state) {
    (void)state;
    enum { N = 1000 };
    int32_t truth[N] = {0}, before[N] = {0}, now[N] = {0};
    ll_outcome points = {.n = N, .classes = 2, .label = now, .truth = truth}, start = points;
    start.label = before;
    for (int lost = 0; lost < 200; lost++) {
        lli_loss loss = lli_warning_signs_loss(&points, &start);
        assert_int_equal(loss.right, N - lost);
        assert_int_equal(loss.right_before, N);
        assert_int_equal(loss.certain, lost >= 77);
        assert_false(lli_warning_signs_loss(&start, &points).certain); /* the other way round it is a gain */
        now[lost] = 1;
    }
    /* 22 more lost than won is 0.05 * 80 + 3 sqrt(29 + 7) to the bit, and not more; rows that are wrong both times do not count */
    int32_t then[81], after[81];
    for (int i = 0; i < 81; i++) {
        then[i] = i < 29 || i >= 41 ? 0 : 1;
        after[i] = i < 29 || (i >= 36 && i < 41) ? 1 : 0;
    }
    ll_outcome few = {.n = 80, .classes = 2, .label = after, .truth = truth}, few_before = few;
    few_before.label = then;
    assert_false(lli_warning_signs_loss(&few, &few_before).certain);
    assert_int_equal(lli_warning_signs_loss(&few, &few_before).right, 80 - 34);
    assert_int_equal(lli_warning_signs_loss(&few, &few_before).right_before, 80 - 12);
    after[79] = 1;
    assert_true(lli_warning_signs_loss(&few, &few_before).certain);
    for (int i = 500; i < 700; i++) /* as many won as lost: no loss, whatever their number */
        before[i] = 1;
    assert_false(lli_warning_signs_loss(&points, &start).certain);
}

/* Right on 3 of 4 with a mean sr of 0.4. */
static void test_unsure(void **state) {
    (void)state;
    int32_t truth[] = {0, 1, 2, 0}, label[] = {0, 1, 2, 1};
    double sr[] = {0.2, 0.3, 0.4, 0.7};
    ll_outcome o = {.n = 4, .classes = 3, .label = label, .truth = truth};
    o.confidence[LL_CONFIDENCE_SR] = sr;
    CHECK_NEAR(lli_warning_signs_unsure(&o), 0.35, 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_unsure),
        cmocka_unit_test(test_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
