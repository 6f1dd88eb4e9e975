/* SPDX-License-Identifier: MIT */
/* The matrix product: bit for bit the plain loop where sums are exact, whichever way the operands lie; and the same bits for every cut. */
#include "kernels/gemm.h"
#include "kernels/shapes.h"

#include <math.h>

enum { MARGIN = 5 }; /* of the rows of c: nobody may write there */

typedef struct product {
    lli_gemm g;
    float *a, *b, *c, *bias, *work;
    int64_t count; /* of c */
} product;

typedef enum order { ROWS, COLUMNS, PANELS_COLUMNS, PANELS_ROWS, ORDERS } order; /* how an operand lies */

static lli_matrix matrix_of(const float *at, int64_t rows, int64_t columns, order o) {
    return o == ROWS ? (lli_matrix){at, columns, 1} : (lli_matrix){at, 1, rows};
}

static product product_new(int64_t m, int64_t n, int64_t k, order a, order b, bool integers) {
    int64_t panels = (b == PANELS_ROWS ? k : n) / LLI_GEMM_PANEL + 1, along = b == PANELS_ROWS ? n : k, ldc = n + MARGIN;
    product p = {.count = m * ldc};
    p.a = floats(m * k);
    p.b = floats(panels * LLI_GEMM_PANEL * along);
    p.c = floats(p.count);
    p.bias = floats(n);
    p.work = floats(lli_gemm_floats(m, n, k));
    if (integers) {
        fill_integers(p.a, m * k, 3, 1);
        fill_integers(p.b, panels * LLI_GEMM_PANEL * along, 3, 2);
        fill_integers(p.c, p.count, 9, 3);
        fill_integers(p.bias, n, 9, 4);
    } else {
        fill_reals(p.a, m * k, 1, 1);
        fill_reals(p.b, panels * LLI_GEMM_PANEL * along, 1, 2);
        fill_reals(p.c, p.count, 1, 3);
        fill_reals(p.bias, n, 1, 4);
    }
    p.g = (lli_gemm){
        .m = m,
        .n = n,
        .k = k,
        .a = matrix_of(p.a, m, k, a),
        .b = matrix_of(p.b, k, n, b),
        .panels = b == PANELS_COLUMNS ? LLI_PANELS_COLUMNS : b == PANELS_ROWS ? LLI_PANELS_ROWS : LLI_PANELS_NONE,
        .panel = along * LLI_GEMM_PANEL,
        .c = p.c,
        .ldc = ldc,
    };
    return p;
}

static void product_free(product *p) {
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->bias);
    free(p->work);
}

static void compare(int64_t m, int64_t n, int64_t k) {
    FOR_LEVELS(kernels, 1) for (order a = ROWS; a <= COLUMNS; a++) for (order b = ROWS; b < ORDERS; b++) for (int kind = 0; kind < 4; kind++) {
        product found = product_new(m, n, k, a, b, true), expected = product_new(m, n, k, a, b, true);
        found.g.add = expected.g.add = kind & 1;
        found.g.relu = expected.g.relu = kind & 2;
        found.g.bias = kind & 2 ? found.bias : NULL;
        expected.g.bias = kind & 2 ? expected.bias : NULL;
        kernels->gemm(&found.g, found.work);
        lli_kernels_ref.gemm(&expected.g, expected.work);
        for (int64_t i = 0; i < found.count; i++)
            if (found.c[i] != expected.c[i])
                fail_msg("%s, m %d, n %d, k %d, orders %d %d, kind %d: c[%d,%d] = %.9g, expected %.9g", kernels->name, (int)m, (int)n, (int)k, a, b,
                         kind, (int)(i / found.g.ldc), (int)(i % found.g.ldc), (double)found.c[i], (double)expected.c[i]);
        product_free(&found);
        product_free(&expected);
    }
}

static void equals_ref_on_odd_shapes(void **state) {
    (void)state;
    FOR_SIZES(m) FOR_SIZES(n) FOR_SIZES(k) if (m * n * k < 4000 || (m == n && n == k)) compare(m, n, k);
}

static void equals_ref_on_large_shapes(void **state) {
    (void)state;
    compare(32, 512, 784);
    compare(784, 16, 32);
    compare(200, 33, 1500);
    compare(97, 300, 513);
    compare(1, 20, 2000);
    compare(5, 3, 0);
}

/* A sum over rows is a product with ones that all lie at one place. */
static void one_number_for_all(void **state) {
    (void)state;
    static const float one = 1;
    FOR_LEVELS(kernels, 0) {
        product p = product_new(1, 37, 70, ROWS, ROWS, true);
        p.g.a = (lli_matrix){&one, 0, 0};
        kernels->gemm(&p.g, p.work);
        for (int64_t j = 0; j < 37; j++) {
            float sum = 0;
            for (int64_t i = 0; i < 70; i++)
                sum += p.b[i * 37 + j];
            assert_true(p.c[j] == sum);
        }
        product_free(&p);
    }
}

/* On reals: parts of c, cut anywhere, have the bits of the whole; and the whole is right. */
static void bits_do_not_depend_on_the_cut(void **state) {
    (void)state;
    enum { M = 45, N = 83, K = 700 };
    FOR_LEVELS(kernels, 1) for (order b = ROWS; b < ORDERS; b++) for (int64_t cut = 1; cut < M; cut += 7) {
        product whole = product_new(M, N, K, ROWS, b, false), parts = product_new(M, N, K, ROWS, b, false);
        whole.g.bias = whole.bias;
        kernels->gemm(&whole.g, whole.work);
        for (int64_t i = 0; i < M; i += cut)
            for (int64_t j = 0, width = cut / 8 * 16 + 16; j < N; j += width) {
                lli_gemm g = parts.g;
                g.m = LLI_MIN(cut, M - i);
                g.n = LLI_MIN(width, N - j);
                g.a.at += i * g.a.row;
                g.b.at += b == PANELS_COLUMNS ? j / 16 * g.panel : b == PANELS_ROWS ? j * 16 : j * g.b.column;
                g.c += i * g.ldc + j;
                g.bias = parts.bias + j;
                kernels->gemm(&g, parts.work);
            }
        assert_memory_equal(whole.c, parts.c, (size_t)whole.count * sizeof *whole.c);
        lli_kernels_ref.gemm(&whole.g, whole.work);
        for (int64_t i = 0; i < whole.count; i++)
            CHECK_NEAR((double)whole.c[i], (double)parts.c[i], 1e-4);
        product_free(&whole);
        product_free(&parts);
    }
}

static void relu_keeps_nan(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) {
        product p = product_new(7, 20, 3, ROWS, ROWS, false);
        p.a[4] = NAN;
        p.g.relu = true;
        kernels->gemm(&p.g, p.work);
        for (int64_t j = 0; j < 20; j++) {
            assert_true(p.c[j] >= 0);
            assert_true(isnan(p.c[p.g.ldc + j]));
        }
        product_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_ref_on_odd_shapes),      cmocka_unit_test(equals_ref_on_large_shapes), cmocka_unit_test(one_number_for_all),
        cmocka_unit_test(bits_do_not_depend_on_the_cut), cmocka_unit_test(relu_keeps_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
