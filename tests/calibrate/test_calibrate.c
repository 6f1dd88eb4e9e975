/* SPDX-License-Identifier: MIT */
/* Against SciPy (tests/oracle/calibrate.py wrote the fixture), closed cases, and the same bits for any number of threads. */
#include "fixture.h"

#include <math.h>

#include "calibrate/scaling.h"
#include "calibrate/temperature.h"

typedef struct rows {
    ll_array f;
    double *values;
    int32_t *truth;
    lli_evidence e;
} rows;

static void rows_init(rows *r, int64_t n, int64_t K, double *values, int32_t *truth) {
    *r = (rows){.values = values, .truth = truth};
    r->f = ll_array_view(values, LL_DTYPE_F64, 2, (int64_t[]){n, K});
    r->e = (lli_evidence){.n = n, .K = K, .truth = truth, .fill = lli_evidence_fill_array, .arg = &r->f};
}

static void rows_release(rows *r) {
    free(r->values);
    free(r->truth);
}

static void rows_read(rows *r, json_t *c) {
    int64_t n = fixture_integer(c, "n"), K = fixture_integer(c, "K");
    double *truth = fixture_reals(c, "truth", n);
    int32_t *classes = malloc((size_t)n * sizeof *classes);
    for (int64_t i = 0; i < n; i++)
        classes[i] = (int32_t)truth[i];
    free(truth);
    rows_init(r, n, K, fixture_reals(c, "logits", n * K), classes);
}

static void check_scaling(ll_context *ctx, const rows *r, json_t *c, const char *name, lli_scaling_kind kind, double beta) {
    json_t *want = fixture_get(c, name);
    int64_t K = r->e.K;
    double *scale = fixture_reals(want, "scale", K), *shift = fixture_reals(want, "shift", K), own[2][16];
    lli_scaling out;
    CHECK_OK(ctx, lli_scaling_fit(ctx, &out, own[0], own[1], &r->e, kind, beta));
    assert_true(out.converged);
    CHECK_NEAR(out.nll, fixture_real(want, "nll"), 1e-9);
    for (int64_t k = 0; k < K; k++) {
        CHECK_NEAR(own[0][k], scale[k], 1e-7);
        CHECK_NEAR(own[1][k], shift[k], 1e-7);
    }
    free(scale);
    free(shift);
}

static void test_scipy(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    json_t *root = fixture_read("calibrate"), *cases = fixture_get(root, "cases"), *c;
    size_t i;
    json_array_foreach(cases, i, c) {
        rows r;
        rows_read(&r, c);
        lli_temperature t;
        CHECK_OK(ctx, lli_temperature_fit(ctx, &t, &r.e));
        assert_int_equal(t.end, LLI_TEMPERATURE_FOUND);
        double beta = fixture_real(c, "beta");
        CHECK_NEAR(t.beta / beta, 1, 1e-10);
        CHECK_NEAR(t.nll, fixture_real(c, "nll"), 1e-10);
        CHECK_NEAR(t.nll_before / fixture_real(c, "nll_before"), 1, 1e-12);
        assert_in_range(t.steps, 1, 20);
        check_scaling(ctx, &r, c, "bias", LLI_SCALING_BIAS, t.beta);
        check_scaling(ctx, &r, c, "vector", LLI_SCALING_VECTOR, t.beta);
        rows_release(&r);
    }
    json_decref(root);
    ll_context_free(ctx);
}

/* Two classes, all logits +-a, a share q of the rows right: p = q, so beta = log(q / (1 - q)) / (2 a). */
static void test_closed(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const struct {
        double a;
        int64_t n, right;
    } cases[] = {{1, 100, 90}, {0.01, 1000, 501}, {40, 64, 63}, {1e-3, 10, 9}, {300, 2000, 1999}};
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        int64_t n = cases[i].n;
        double *f = malloc((size_t)n * 2 * sizeof *f), a = cases[i].a, q = (double)cases[i].right / (double)n;
        int32_t *truth = malloc((size_t)n * sizeof *truth);
        for (int64_t row = 0; row < n; row++) {
            int top = (int)(row % 2);
            f[2 * row + top] = a;
            f[2 * row + 1 - top] = -a;
            truth[row] = row < cases[i].right ? top : 1 - top;
        }
        rows r;
        rows_init(&r, n, 2, f, truth);
        lli_temperature t;
        CHECK_OK(ctx, lli_temperature_fit(ctx, &t, &r.e));
        assert_int_equal(t.end, LLI_TEMPERATURE_FOUND);
        CHECK_NEAR(t.beta * 2 * a / log(q / (1 - q)), 1, 1e-10);
        CHECK_NEAR(t.nll, -q * log(q) - (1 - q) * log1p(-q), 1e-12);
        rows_release(&r);
    }
    ll_context_free(ctx);
}

static void check_end(ll_context *ctx, const double *f, const int32_t *truth, int64_t n, int64_t K, lli_temperature_end end) {
    rows r;
    rows_init(&r, n, K, (double *)f, (int32_t *)truth);
    lli_temperature t;
    CHECK_OK(ctx, lli_temperature_fit(ctx, &t, &r.e));
    assert_int_equal(t.end, end);
    if (end == LLI_TEMPERATURE_EDGE)
        return;
    assert_true(t.beta == 1 && t.nll == t.nll_before);
    assert_non_null(lli_temperature_why(t.end));
}

static void test_no_minimum(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    check_end(ctx, (double[]){1, 0, 0, 1}, (int32_t[]){1, 0}, 2, 2, LLI_TEMPERATURE_WORSE);
    check_end(ctx, (double[]){3, 3, 3, 3}, (int32_t[]){1, 0}, 2, 2, LLI_TEMPERATURE_WORSE);
    check_end(ctx, (double[]){1, 0, 0, 1}, (int32_t[]){0, 1}, 2, 2, LLI_TEMPERATURE_ALL_RIGHT);
    check_end(ctx, (double[]){1, 0, 0, 1}, (int32_t[]){0, 0}, 2, 2, LLI_TEMPERATURE_ONE_CLASS);
    check_end(ctx, (double[]){1, 0}, (int32_t[]){1}, 1, 2, LLI_TEMPERATURE_ONE_CLASS);
    double small[] = {1e-7, 0, 0, 1e-7, 1e-7, 0}; /* beta would be log(2)/1e-7 */
    check_end(ctx, small, (int32_t[]){0, 1, 1}, 3, 2, LLI_TEMPERATURE_EDGE);
    ll_context_free(ctx);
}

/* Several waves of blocks. */
static void test_threads(void **state) {
    (void)state;
    enum { N = 20011, K = 4 };
    double *f = malloc(N * K * sizeof *f), first[2][K], second[2][K];
    int32_t *truth = malloc(N * sizeof *truth);
    for (int64_t i = 0; i < N; i++) {
        truth[i] = (int32_t)(check_uniform(1, i) * K);
        for (int64_t k = 0; k < K; k++)
            f[i * K + k] = 3 * check_uniform(2, i * K + k) + (k == truth[i] && check_uniform(3, i) < 0.8 ? 2 : 0);
    }
    rows r;
    rows_init(&r, N, K, f, truth);
    lli_temperature one, four;
    lli_scaling s;
    ll_context *ctx = check_context(1);
    CHECK_OK(ctx, lli_temperature_fit(ctx, &one, &r.e));
    CHECK_OK(ctx, lli_scaling_fit(ctx, &s, first[0], first[1], &r.e, LLI_SCALING_VECTOR, one.beta));
    ll_context_free(ctx);
    ctx = check_context(4);
    CHECK_OK(ctx, lli_temperature_fit(ctx, &four, &r.e));
    CHECK_OK(ctx, lli_scaling_fit(ctx, &s, second[0], second[1], &r.e, LLI_SCALING_VECTOR, four.beta));
    ll_context_free(ctx);
    assert_true(one.beta == four.beta && one.nll == four.nll && one.nll < one.nll_before);
    assert_memory_equal(first, second, sizeof first);
    assert_true(s.nll <= one.nll);
    rows_release(&r);
}

static void test_memory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double scale[2], shift[2];
    rows r;
    rows_init(&r, 3, 2, (double[]){2, 0, 0, 1, 1, 0}, (int32_t[]){0, 1, 1});
    for (int n = 1;; n++) {
        lli_scaling s;
        lli_memory_fail_at(ctx, n);
        ll_status status = lli_scaling_fit(ctx, &s, scale, shift, &r.e, LLI_SCALING_BIAS, 1);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK)
            break;
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_in_range(n, 1, 1000);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy),   cmocka_unit_test(test_closed), cmocka_unit_test(test_no_minimum),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
