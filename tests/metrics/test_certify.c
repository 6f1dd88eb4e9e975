/* SPDX-License-Identifier: MIT */
/* Certificates against NumPy and SciPy (tests/oracle/certify.py wrote the fixture), and on simulated rows, where promises may break no more
 * often than they say. */
#include "fixture.h"

#include "metrics/simulation.h"
#include "metrics/special.h"

static void check_case(ll_context *ctx, json_t *c) {
    int64_t n = fixture_integer(c, "n");
    double *confidence = fixture_reals(c, "confidence", n), *loss = fixture_reals(c, "loss", n), *flags = fixture_reals(c, "proposes", n);
    uint8_t *proposes = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++)
        proposes[i] = flags[i] != 0;
    bool whole = json_is_true(fixture_get(c, "whole"));
    const lli_certify_rows rows = {n, confidence, loss, proposes, whole, NULL, 0};
    const lli_certify_promise promise = {
        .risk = fixture_real(c, "risk"),
        .coverage = NAN,
        .out = NAN,
        .delta = fixture_real(c, "delta"),
        .rule = json_is_true(fixture_get(c, "bonferroni")) ? LLI_CERTIFY_BONFERRONI : LLI_CERTIFY_SEQUENCE,
    };
    lli_certify_result r;
    CHECK_OK(ctx, lli_certify_run(ctx, &r, &rows, &promise));
    json_t *want = fixture_get(c, "result");
    assert_int_equal(r.certified, json_is_true(fixture_get(want, "certified")));
    assert_int_equal(r.cuts, fixture_integer(want, "cuts"));
    assert_true(r.test[0].cut == fixture_real(want, "first"));
    if (r.certified) {
        const lli_certify_test *t = &r.test[r.winner];
        assert_true(t->cut == fixture_real(want, "cut"));
        assert_int_equal(t->accepted, fixture_integer(want, "accepted"));
        assert_true(t->loss == fixture_real(want, "loss"));
        CHECK_NEAR(r.log_p, fixture_real(want, "log_p"), 1e-9);
        if (whole)
            CHECK_NEAR(r.bound, fixture_real(want, "bound"), 1e-10);
        else
            assert_true(isnan(r.bound));
    }
    free(confidence);
    free(loss);
    free(flags);
    free(proposes);
}

static void test_scipy(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("certify"), *c;
    size_t i;
    json_array_foreach(fixture_get(root, "cases"), i, c) check_case(ctx, c);
    json_array_foreach(fixture_get(root, "losses"), i, c)
        CHECK_NEAR(lli_certify_log_p(fixture_real(c, "loss"), fixture_integer(c, "m"), fixture_real(c, "risk"), false),
                   fixture_real(c, "log_p"), 1e-9);
    json_decref(root);
    ll_context_free(ctx);
}

/* No more than delta, within three standard errors, on few trials; the fixture holds what many gave. */
static void check_share(const char *name, double broken, double delta, double trials) {
    double most = delta + 3 * sqrt(delta * (1 - delta) / trials);
    if (broken > most)
        fail_msg("%s: %g of the promises were broken, at most %g may be", name, broken, most);
}

static void test_simulated(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t trials = 200 / check_step(10);
    for (size_t i = 0; i < LLI_COUNT(simulation_cases); i++) {
        const simulation_case *c = &simulation_cases[i];
        simulation_result r = simulation_run(ctx, c, trials);
        check_share(c->name, (double)r.sequence.broken / (double)trials, c->promise.delta, (double)trials);
        check_share(c->name, (double)r.bonferroni.broken / (double)trials, c->promise.delta, (double)trials);
        if (strcmp(c->name, "no errors") == 0)
            assert_true(r.sequence.certified == trials && r.sequence.coverage > 0.95);
        if (strcmp(c->name, "all errors") == 0)
            assert_int_equal(r.sequence.certified, 0);
        if (strcmp(c->name, "monotone") == 0) /* the rule is worth its name: it answers, and the empirical cut breaks its word */
            assert_true(r.sequence.coverage > 0.2 && (double)r.naive.broken > 0.3 * (double)trials);
    }
    ll_context_free(ctx);
}

/* What `make oracle` found on many trials. */
static void test_simulated_before(void **state) {
    (void)state;
    json_t *root = fixture_read("certify"), *simulated = fixture_get(root, "simulated"), *c;
    double trials = fixture_real(simulated, "trials");
    assert_true(trials >= 2000);
    size_t i;
    json_array_foreach(fixture_get(simulated, "cases"), i, c) {
        const char *name = json_string_value(fixture_get(c, "name"));
        check_share(name, fixture_real(fixture_get(c, "sequence"), "broken"), fixture_real(c, "delta"), trials);
        check_share(name, fixture_real(fixture_get(c, "bonferroni"), "broken"), fixture_real(c, "delta"), trials);
    }
    assert_int_equal(i, LLI_COUNT(simulation_cases));
    c = fixture_get(simulated, "per_class");
    check_share("per class", fixture_real(fixture_get(c, "sequence"), "broken"), fixture_real(c, "delta"), trials);
    json_decref(root);
}

static void test_split(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    enum { N = 3001 };
    uint8_t a[N], b[N];
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 100, N};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
        int64_t n = sizes[s], count = 0, same = 0;
        CHECK_OK(ctx, lli_certify_split(ctx, a, n, 7));
        CHECK_OK(ctx, lli_certify_split(ctx, b, n, 8));
        for (int64_t i = 0; i < n; i++) {
            count += a[i];
            same += a[i] && b[i];
        }
        assert_int_equal(count, n / 3);
        if (n == N)
            assert_in_range(same, 270, 400); /* 333 expected, sd 15 */
    }
    ll_context_free(ctx);
}

/* The order of the rows within each part changes nothing. */
static void test_order(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    enum { N = 600 };
    double confidence[2][N], loss[2][N];
    uint8_t proposes[2][N];
    for (int i = 0; i < N; i++) {
        int j = N - 1 - i;
        confidence[1][j] = confidence[0][i] = ceil(check_uniform(1, i) * 40) / 40;
        loss[1][j] = loss[0][i] = check_uniform(2, i) < 0.2 ? check_uniform(3, i) / 3 : 0;
        proposes[1][j] = proposes[0][i] = check_uniform(4, i) < 0.3;
    }
    lli_certify_result r[2];
    const lli_certify_promise promise = {.risk = 0.1, .coverage = NAN, .out = NAN, .delta = 0.1};
    for (int a = 0; a < 2; a++) {
        const lli_certify_rows rows = {N, confidence[a], loss[a], proposes[a], false, NULL, 0};
        memset(&r[a], 0, sizeof r[a]);
        CHECK_OK(ctx, lli_certify_run(ctx, &r[a], &rows, &promise));
    }
    assert_true(r[0].certified && r[0].log_p == r[1].log_p && r[0].winner == r[1].winner);
    for (int64_t i = 0; i < r[0].cuts; i++)
        assert_true(r[0].test[i].cut == r[1].test[i].cut && r[0].test[i].loss == r[1].test[i].loss);
    ll_context_free(ctx);
}

static void test_needed(void **state) {
    (void)state;
    for (int i = 1; i < 100; i++) {
        double r = i / 100.0;
        int64_t m = lli_certify_needed(r, 0.05);
        assert_true(lli_special_log_binomial_cdf(0, m, r) <= log(0.05) + 1e-12);
        assert_true(m == 1 || lli_special_log_binomial_cdf(0, m - 1, r) > log(0.05));
    }
    assert_int_equal(lli_certify_needed(0.01, 0.05), 299);
    assert_int_equal(lli_certify_needed(1e-19, 0.05), (int64_t)1 << 53); /* 3e19 does not fit */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy), cmocka_unit_test(test_simulated), cmocka_unit_test(test_simulated_before),
        cmocka_unit_test(test_split), cmocka_unit_test(test_order),     cmocka_unit_test(test_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
