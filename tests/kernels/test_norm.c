/* SPDX-License-Identifier: MIT */
/* Batch norm and pooling on every level, against the plain loops. */
#include "kernels/norm.h"

#include <math.h>

#include "kernels/shapes.h"

static void test_sums(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 1) FOR_SIZES(C) for (int64_t rows = 1; rows < 20; rows += 3) {
        float *x = floats(rows * C), *dy = floats(rows * C);
        double *a = array_new(2 * C, sizeof *a), *b = array_new(2 * C, sizeof *b);
        fill_integers(x, rows * C, 9, 1);
        fill_integers(dy, rows * C, 9, 2);
        const lli_norm_kernels *plain = lli_kernels_ref.norm;
        plain->sums(a, x, rows, C);
        kernels->norm->sums(b, x, rows, C);
        assert_memory_equal(a, b, (size_t)(2 * C) * sizeof *a);
        plain->back_sums(a, dy, x, rows, C);
        kernels->norm->back_sums(b, dy, x, rows, C);
        assert_memory_equal(a, b, (size_t)(2 * C) * sizeof *a);
        free(x);
        free(dy);
        free(a);
        free(b);
    }
}

static void test_apply(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 1) FOR_SIZES(C) {
        int64_t rows = 5;
        float *x = floats(rows * C), *dy = floats(rows * C), *abc = floats(3 * C), *a = floats(rows * C), *b = floats(rows * C);
        fill_integers(x, rows * C, 9, 1);
        fill_integers(dy, rows * C, 9, 2);
        fill_integers(abc, 3 * C, 9, 3);
        const lli_norm_kernels *plain = lli_kernels_ref.norm;
        plain->apply(a, x, abc, abc + C, rows, C);
        kernels->norm->apply(b, x, abc, abc + C, rows, C);
        assert_memory_equal(a, b, (size_t)(rows * C) * sizeof *a);
        for (int positive = 0; positive < 2; positive++) {
            plain->back(a, dy, x, abc, positive, rows, C);
            memcpy(b, dy, (size_t)(rows * C) * sizeof *b);
            kernels->norm->back(b, b, x, abc, positive, rows, C);
            for (int64_t i = 0; i < rows * C; i++)
                assert_true(a[i] == b[i]);
        }
        float *all[] = {x, dy, abc, a, b};
        for (size_t i = 0; i < LLI_COUNT(all); i++)
            free(all[i]);
    }
}

/* Few distinct values, so that windows have ties: the first maximum takes the gradient. */
static void test_pool(void **state) {
    (void)state;
    static const int64_t sides[][2] = {{2, 2}, {3, 2}, {2, 5}, {4, 4}, {7, 9}};
    FOR_LEVELS(kernels, 1) for (size_t k = 0; k < LLI_COUNT(sides); k++) FOR_SIZES(C) {
        int64_t n = 3, height = sides[k][0], width = sides[k][1], in = n * height * width * C, rows = n * (height / 2),
                out = rows * (width / 2) * C;
        float *x = floats(in), *dx = floats(in), *plain_dx = floats(in), *y = floats(out), *plain_y = floats(out), *dy = floats(out);
        fill_integers(x, in, 1, 1);
        fill_integers(dy, out, 50, 2);
        fill_reals(dx, in, 1, 3); /* all of it must be written */
        const lli_norm_kernels *plain = lli_kernels_ref.norm;
        plain->pool(plain_y, x, height, width, C, 0, rows);
        plain->pool_back(plain_dx, dy, x, height, width, C, 0, rows);
        for (int64_t row = 0; row < rows; row += 2) {
            kernels->norm->pool(y, x, height, width, C, row, LLI_MIN(row + 2, rows));
            kernels->norm->pool_back(dx, dy, x, height, width, C, row, LLI_MIN(row + 2, rows));
        }
        for (int64_t i = 0; i < out; i++)
            assert_true(y[i] == plain_y[i]);
        double before = 0, after = 0;
        for (int64_t i = 0; i < in; i++) {
            assert_true(dx[i] == plain_dx[i]);
            after += (double)dx[i];
        }
        for (int64_t i = 0; i < out; i++)
            before += (double)dy[i];
        assert_true(before == after);
        float *all[] = {x, dx, plain_dx, y, plain_y, dy};
        for (size_t i = 0; i < LLI_COUNT(all); i++)
            free(all[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_apply), cmocka_unit_test(test_pool)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
