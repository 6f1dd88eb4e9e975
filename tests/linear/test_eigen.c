/* SPDX-License-Identifier: MIT */
/* Eigenvalues against numpy and closed forms; every decomposition must give its matrix back, with orthogonal vectors. */
#include "fixture.h"
#include "linear/matrices.h"

static const struct {
    const char *name;
    matrix_formula *formula;
} all[] = {
    {"wavy", wavy},   {"hilbert", hilbert}, {"graded", graded},   {"huge", huge},           {"tiny", tiny},
    {"alike", alike}, {"flat", flat},       {"nothing", nothing}, {"wilkinson", wilkinson}, {"second_difference", second_difference},
};

static const int64_t sizes[] = {1, 2, 3, 5, 16, 17, 33, 64, 100, 131};

/* |V V' - I| and |A - V' diag(values) V|, relative, in units of n eps. */
static void check_decomposition(const double *a, const double *v, const double *values, int64_t n) {
    double scale = fmax(matrix_largest(a, n), 1e-320), unit = 0x1p-52 * (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double product = 0, back = 0;
            for (int64_t p = 0; p < n; p++) {
                product += v[i * n + p] * v[j * n + p];
                back += v[p * n + i] * (values[p] / scale) * v[p * n + j];
            }
            CHECK_NEAR(product, i == j, 8 * unit);
            CHECK_NEAR(back, a[i * n + j] / scale, 16 * unit);
        }
    for (int64_t i = 1; i < n; i++)
        assert_true(values[i] >= values[i - 1]);
}

static void test_decomposition(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    for (size_t f = 0; f < LLI_COUNT(all); f++)
        for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
            int64_t n = sizes[s];
            double *a = matrix_new(all[f].formula, n), *v = matrix_new(all[f].formula, n), *values = calloc((size_t)n, sizeof *values);
            CHECK_OK(ctx, lli_eigen_symmetric(ctx, v, values, n));
            check_decomposition(a, v, values, n);
            free(a);
            free(v);
            free(values);
        }
    ll_context_free(ctx);
}

static void test_numpy(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("linear");
    for (size_t f = 0; f < LLI_COUNT(all); f++)
        for (int64_t n = 3; n <= 40; n += 37) {
            char key[64];
            snprintf(key, sizeof key, "%s_%d", all[f].name, (int)n);
            double *v = matrix_new(all[f].formula, n), *values = calloc((size_t)n, sizeof *values), *expected = fixture_reals(root, key, n),
                   unit = 16 * 0x1p-52 * (double)n * matrix_largest(v, n);
            CHECK_OK(ctx, lli_eigen_symmetric(ctx, v, values, n));
            for (int64_t i = 0; i < n; i++)
                CHECK_NEAR(values[i], expected[i], unit);
            free(v);
            free(values);
            free(expected);
        }
    json_decref(root);
    ll_context_free(ctx);
}

/* 2 - 2 cos(pi i / (n + 1)), of a size at which blocks, panels and batches of rotations all end somewhere. */
static void test_closed_form(void **state) {
    (void)state;
    int64_t n = 700;
    ll_context *ctx = check_context(2);
    double *v = matrix_new(second_difference, n), *values = calloc((size_t)n, sizeof *values);
    CHECK_OK(ctx, lli_eigen_symmetric(ctx, v, values, n));
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(values[i], 2 - 2 * cos(acos(-1) * (double)(i + 1) / (double)(n + 1)), 1e-13);
    for (int64_t i = 0; i < n; i += 97)
        for (int64_t j = 0; j < n; j++) /* the vector is a sine; its sign is free */
            CHECK_NEAR(fabs(v[i * n + j]), sqrt(2 / (double)(n + 1)) * fabs(sin(acos(-1) * (double)((i + 1) * (j + 1)) / (double)(n + 1))),
                       1e-9);
    free(v);
    free(values);
    ll_context_free(ctx);
}

static void test_threads(void **state) {
    (void)state;
    int64_t n = 200;
    double *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        ll_context *ctx = check_context(threads);
        double *v = matrix_new(wavy, n), *values = calloc((size_t)n, sizeof *values);
        CHECK_OK(ctx, lli_eigen_symmetric(ctx, v, values, n));
        if (first)
            assert_memory_equal(first, v, (size_t)(n * n) * sizeof *v);
        else
            first = v;
        if (first != v)
            free(v);
        free(values);
        ll_context_free(ctx);
    }
    free(first);
}

static void test_not_finite(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double *v = matrix_new(wavy, 5), values[5];
    v[7] = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "not finite", lli_eigen_symmetric(ctx, v, values, 5));
    free(v);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decomposition), cmocka_unit_test(test_numpy),      cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
