/* SPDX-License-Identifier: MIT */
/* The rule that recommends, on outcomes made for it: the simpler one of two that noise could swap, the better one of two it could not. */
#include "metrics/recommend.h"

#include <math.h>

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
        cmocka_unit_test(the_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
