/* SPDX-License-Identifier: MIT */
/* Products, Gram matrices, Cholesky's factor and its solves, against plain loops and numpy, on every level. */
#include "fixture.h"
#include "kernels/kernels.h"
#include "linear/matrices.h"

static double definite(int64_t i, int64_t j, int64_t n) {
    return wavy(i, j, n) + (i == j ? 2 * (double)n : 0);
}

static double *uniforms(int64_t count, int64_t stream) {
    double *x = malloc((size_t)count * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < count; i++)
        x[i] = check_uniform(stream, i) - 0.5;
    return x;
}

/* All levels against plain loops, with both orders of strides; c is [m,n] within a wider matrix. */
static void test_kernel(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {4, 8, 128}, {5, 9, 129}, {67, 33, 300}, {64, 64, 64}};
    static double work[LLI_LINEAR_WORK] __attribute__((aligned(64)));
    for (size_t level = 0; lli_kernels_at(level); level++)
        for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
            const lli_kernels *kernels = lli_kernels_at(level);
            int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2], ldc = n + 3;
            if (!lli_kernels_supported(kernels))
                continue;
            double *a = uniforms(m * k, 1), *b = uniforms(k * n, 2), *c = uniforms(m * ldc, 3), *before = uniforms(m * ldc, 3);
            kernels->linear->product(c, ldc, (lli_matrix64){a, 1, m}, (lli_matrix64){b, 1, k}, m, n, k, -0.5, work);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < ldc; j++) {
                    long double sum = 0;
                    for (int64_t p = 0; p < k && j < n; p++)
                        sum += (long double)a[p * m + i] * (long double)b[j * k + p];
                    CHECK_NEAR(c[i * ldc + j], before[i * ldc + j] - 0.5 * (double)sum, j < n ? 1e-13 : 0);
                }
            double *all[] = {a, b, c, before};
            for (size_t i = 0; i < LLI_COUNT(all); i++)
                free(all[i]);
        }
}

static void test_product(void **state) {
    (void)state;
    int64_t m = 130, n = 1030, k = 140;
    double *a = uniforms(m * k, 1), *b = uniforms(k * n, 2), *c[3];
    for (int threads = 1; threads <= 3; threads++) {
        ll_context *ctx = check_context(threads);
        c[threads - 1] = calloc((size_t)(m * n), sizeof **c);
        CHECK_OK(ctx, lli_product_add(ctx, c[threads - 1], (lli_matrix64){a, k, 1}, (lli_matrix64){b, n, 1}, m, n, k, 2));
        assert_memory_equal(c[threads - 1], c[0], (size_t)(m * n) * sizeof **c);
        ll_context_free(ctx);
    }
    for (int64_t i = 0; i < m; i += 43)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += a[i * k + p] * b[p * n + j];
            CHECK_NEAR(c[0][i * n + j], 2 * sum, 1e-13);
        }
    for (int i = 0; i < 3; i++)
        free(c[i]);
    free(a);
    free(b);
}

static ll_status take_rows(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    (void)ctx;
    (void)worker;
    memcpy(out, (double *)arg + first * 70, (size_t)(count * 70) * sizeof *out);
    return LL_OK;
}

static void test_gram(void **state) {
    (void)state;
    int64_t N = 301, n = 70;
    double *x = uniforms(N * n, 1), *g = calloc((size_t)(n * n), sizeof *g), *again = calloc((size_t)(n * n), sizeof *g);
    ll_context *ctx = check_context(1), *two = check_context(2);
    CHECK_OK(ctx, lli_gram_add(ctx, g, take_rows, x, N, n, 0.25));
    CHECK_OK(two, lli_gram_add(two, again, take_rows, x, N, n, 0.25));
    assert_memory_equal(g, again, (size_t)(n * n) * sizeof *g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t r = 0; r < N; r++)
                sum += x[r * n + i] * x[r * n + j];
            CHECK_NEAR(g[i * n + j], 0.25 * sum, 1e-13);
        }
    free(x);
    free(g);
    free(again);
    ll_context_free(ctx);
    ll_context_free(two);
}

static void test_cholesky(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 40, 63, 64, 65, 200};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
        int64_t n = sizes[s], m = 67, failed;
        double *a = matrix_new(definite, n), *L[2], *x[2], *right = uniforms(n * m, 5);
        for (int t = 0; t < 2; t++) {
            ll_context *ctx = check_context(t + 1);
            L[t] = matrix_new(definite, n);
            x[t] = uniforms(n * m, 5);
            CHECK_OK(ctx, lli_cholesky_factor(ctx, &failed, L[t], n));
            assert_int_equal(failed, -1);
            CHECK_OK(ctx, lli_cholesky_solve(ctx, L[t], x[t], n, m));
            CHECK_OK(ctx, lli_cholesky_solve_transposed(ctx, L[t], x[t], n, m));
            ll_context_free(ctx);
        }
        assert_memory_equal(L[0], L[1], (size_t)(n * n) * sizeof **L);
        assert_memory_equal(x[0], x[1], (size_t)(n * m) * sizeof **x);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                double sum = 0;
                for (int64_t p = 0; p < n; p++)
                    sum += a[i * n + p] * x[0][p * m + j];
                CHECK_NEAR(sum, right[i * m + j], 1e-12);
            }
        for (int t = 0; t < 2; t++) {
            free(L[t]);
            free(x[t]);
        }
        free(a);
        free(right);
    }
}

static void test_numpy(void **state) {
    (void)state;
    int64_t n = 20, failed;
    json_t *root = fixture_read("linear");
    double *expected = fixture_reals(root, "cholesky_20", n * n), *L = matrix_new(definite, n);
    ll_context *ctx = check_context(1);
    CHECK_OK(ctx, lli_cholesky_factor(ctx, &failed, L, n));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            CHECK_NEAR(L[i * n + j], expected[i * n + j], 1e-13);
    free(expected);
    free(L);
    json_decref(root);
    ll_context_free(ctx);
}

/* The first row at which a matrix stops being positive definite is named: here one that repeats an earlier one, and one with NaN. */
static void test_not_definite(void **state) {
    (void)state;
    int64_t n = 100, failed;
    ll_context *ctx = check_context(1);
    double *a = matrix_new(second_difference, n);
    for (int64_t j = 0; j < n; j++)
        a[80 * n + j] = a[j * n + 80] = 0;
    CHECK_OK(ctx, lli_cholesky_factor(ctx, &failed, a, n));
    assert_int_equal(failed, 80);
    free(a);
    a = matrix_new(definite, n);
    a[30 * n + 4] = NAN;
    CHECK_OK(ctx, lli_cholesky_factor(ctx, &failed, a, n));
    assert_int_equal(failed, 30);
    free(a);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel),   cmocka_unit_test(test_product), cmocka_unit_test(test_gram),
        cmocka_unit_test(test_cholesky), cmocka_unit_test(test_numpy),   cmocka_unit_test(test_not_definite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
