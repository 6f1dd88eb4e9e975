/* SPDX-License-Identifier: MIT */
/* The matrix product: bit for bit the plain loop where sums are exact, whichever way the operands lie; and the same bits for every cut. */
#include "kernels/gemm.h"
#include "kernels/shapes.h"

#include <math.h>

enum { MARGIN = 5 }; /* of the rows of c: nobody may write there */

typedef struct product {
    lli_gemm g;
    float *a, *b, *c, *bias, *packed, *work;
    int64_t count; /* of c */
} product;

typedef enum order { ROWS, PANELS_COLUMNS, PANELS_ROWS, ORDERS } order; /* of b */

/* a lies as rows, or as columns. */
static product product_new(const lli_kernels *kernels, int64_t m, int64_t n, int64_t k, bool columns, order b, bool integers) {
    int64_t panels = (b == PANELS_ROWS ? k : n) / LLI_GEMM_PANEL + 1, along = b == PANELS_ROWS ? n : k, ldc = n + MARGIN;
    int64_t b_count = b == ROWS ? k * n : panels * LLI_GEMM_PANEL * along;
    product p = {.count = m * ldc};
    p.a = floats(m * k);
    p.b = floats(b_count);
    p.c = floats(p.count);
    p.bias = floats(n);
    p.packed = floats(lli_gemm_packed_floats(m, k));
    p.work = floats(lli_gemm_floats(k));
    float *all[] = {p.a, p.b, p.c, p.bias};
    int64_t counts[] = {m * k, b_count, p.count, n};
    for (int i = 0; i < 4; i++)
        if (integers)
            fill_integers(all[i], counts[i], 1 + i, i);
        else
            fill_reals(all[i], counts[i], 1, i);
    p.g = (lli_gemm){
        .a = p.packed,
        .m = m,
        .n = n,
        .k = k,
        .end = lli_gemm_tiles(m),
        .b = p.b,
        .row = n,
        .panels = b == PANELS_COLUMNS ? LLI_PANELS_COLUMNS
                  : b == PANELS_ROWS  ? LLI_PANELS_ROWS
                                      : LLI_PANELS_NONE,
        .panel = along * LLI_GEMM_PANEL,
        .c = p.c,
        .ldc = ldc,
    };
    kernels->gemm_pack(p.packed, columns ? (lli_matrix){p.a, 1, m} : (lli_matrix){p.a, k, 1}, m, k, 0, lli_gemm_tiles(m));
    return p;
}

static void product_free(product *p) {
    float *all[] = {p->a, p->b, p->c, p->bias, p->packed, p->work};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        free(all[i]);
}

static void compare(int64_t m, int64_t n, int64_t k) {
    FOR_LEVELS(kernels, 1)
    for (int columns = 0; columns < 2; columns++)
        for (order b = ROWS; b < ORDERS; b++)
            for (int kind = 0; kind < 2; kind++) {
                product found = product_new(kernels, m, n, k, columns, b, true),
                        expected = product_new(&lli_kernels_ref, m, n, k, columns, b, true);
                found.g.relu = expected.g.relu = kind;
                found.g.bias = kind ? found.bias : NULL;
                expected.g.bias = kind ? expected.bias : NULL;
                kernels->gemm(&found.g, found.work);
                lli_kernels_ref.gemm(&expected.g, expected.work);
                for (int64_t i = 0; i < found.count; i++)
                    if (found.c[i] != expected.c[i])
                        fail_msg("%s, m %d, n %d, k %d, columns %d, order %d, kind %d: c[%d,%d] = %.9g, expected %.9g", kernels->name,
                                 (int)m, (int)n, (int)k, columns, b, kind, (int)(i / found.g.ldc), (int)(i % found.g.ldc),
                                 (double)found.c[i], (double)expected.c[i]);
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
    static const int64_t shapes[][3] = {{32, 100, 784}, {784, 16, 32}, {200, 33, 1300}, {97, 30, 401}, {1, 20, 2000}, {5, 3, 0}};
    for (size_t t = 0; t < LLI_COUNT(shapes); t += (size_t)check_step(2))
        compare(shapes[t][0], shapes[t][1], shapes[t][2]);
}

/* Rows that are zero for whole tiles, for blocks of p, here and there, and everywhere. */
static void zeros_are_left_out(void **state) {
    (void)state;
    enum { M = 40, N = 20, K = 900 };
    FOR_LEVELS(kernels, 1) for (int kind = 0; kind < 5; kind++) {
        product p = product_new(kernels, M, N, K, false, ROWS, true), expected = product_new(&lli_kernels_ref, M, N, K, false, ROWS, true);
        for (int64_t i = 0; i < M; i++)
            for (int64_t q = 0; q < K; q++)
                if (kind == 0 || (kind == 1 && i < 12) || (kind == 2 && q >= 300) || (kind == 3 && q * 7 % 5) ||
                    (kind == 4 && q * 3 % 17 != i / 9))
                    p.a[i * K + q] = expected.a[i * K + q] = i % 2 ? -0.0f : 0;
        const lli_matrix a = {p.a, K, 1};
        kernels->gemm_pack(p.packed, a, M, K, 3, lli_gemm_tiles(M)); /* in any order, in any parts */
        kernels->gemm_pack(p.packed, a, M, K, 0, 3);
        lli_kernels_ref.gemm_pack(expected.packed, a, M, K, 0, lli_gemm_tiles(M));
        kernels->gemm(&p.g, p.work);
        lli_kernels_ref.gemm(&expected.g, expected.work);
        for (int64_t i = 0; i < p.count; i++)
            assert_true(p.c[i] == expected.c[i]);
        product_free(&p);
        product_free(&expected);
    }
}

/* On reals: parts of c, cut anywhere, have the bits of the whole; and the whole is right. */
static void bits_do_not_depend_on_the_cut(void **state) {
    (void)state;
    enum { M = 45, N = 83, K = 700 };
    FOR_LEVELS(kernels, 1) for (order b = ROWS; b < ORDERS; b++) for (int64_t cut = 1; cut < 8; cut += 3) {
        product whole = product_new(kernels, M, N, K, false, b, false), parts = product_new(kernels, M, N, K, true, b, false);
        for (int64_t i = 0; i < M; i++)
            for (int64_t p = 0; p < K; p++)
                parts.a[p * M + i] = whole.a[i * K + p];
        kernels->gemm_pack(parts.packed, (lli_matrix){parts.a, 1, M}, M, K, 0, lli_gemm_tiles(M));
        whole.g.bias = whole.bias;
        kernels->gemm(&whole.g, whole.work);
        for (int64_t first = 0; first < lli_gemm_tiles(M); first += cut)
            for (int64_t j = 0, width = cut * 16; j < N; j += width) {
                lli_gemm g = parts.g;
                g.first = first;
                g.end = LLI_MIN(first + cut, lli_gemm_tiles(M));
                g.n = LLI_MIN(width, N - j);
                g.b += b == PANELS_COLUMNS ? j / 16 * g.panel : b == PANELS_ROWS ? j * 16 : j;
                g.c += lli_gemm_row(M, first) * g.ldc + j;
                g.bias = parts.bias + j;
                kernels->gemm(&g, parts.work);
            }
        assert_memory_equal(whole.c, parts.c, (size_t)whole.count * sizeof *whole.c);
        lli_kernels_ref.gemm_pack(whole.packed, (lli_matrix){whole.a, K, 1}, M, K, 0, lli_gemm_tiles(M));
        lli_kernels_ref.gemm(&whole.g, whole.work);
        for (int64_t i = 0; i < whole.count; i++)
            CHECK_NEAR((double)whole.c[i], (double)parts.c[i], 1e-4);
        product_free(&whole);
        product_free(&parts);
    }
}

/* Wider vectors hold more columns, and no element another sum: levels that round alike have the same bits. */
static void fused_levels_agree(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{32, 512, 784}, {784, 16, 32}, {45, 83, 700}, {7, 33, 17}, {6, 48, 401}};
    const lli_kernels *first = NULL;
    int compared = 0;
    FOR_LEVELS(kernels, 0) {
        for (size_t t = 0; kernels->fused && first && t < LLI_COUNT(shapes); t++)
            for (int kind = 0; kind < 4 * ORDERS; kind++, compared++) {
                const int64_t m = shapes[t][0], n = shapes[t][1], k = shapes[t][2];
                product expected = product_new(first, m, n, k, kind % 2, kind / 4, false),
                        found = product_new(kernels, m, n, k, kind % 2, kind / 4, false);
                expected.g.relu = found.g.relu = kind & 2;
                expected.g.bias = kind & 2 ? expected.bias : NULL;
                found.g.bias = kind & 2 ? found.bias : NULL;
                first->gemm(&expected.g, expected.work);
                kernels->gemm(&found.g, found.work);
                assert_memory_equal(expected.c, found.c, (size_t)found.count * sizeof *found.c);
                product_free(&expected);
                product_free(&found);
            }
        first = first ? first : kernels->fused ? kernels : NULL;
    }
    if (!compared) {
        print_message("# why: fewer than two levels of this build and processor have FMA\n");
        skip();
    }
}

static void relu_keeps_nan(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) {
        product p = product_new(kernels, 7, 20, 3, false, ROWS, false);
        p.a[4] = NAN;
        kernels->gemm_pack(p.packed, (lli_matrix){p.a, 3, 1}, 7, 3, 0, lli_gemm_tiles(7));
        p.g.relu = true;
        kernels->gemm(&p.g, p.work);
        for (int64_t j = 0; j < 20; j++) {
            assert_true(p.c[j] >= 0);
            assert_true(isnan(p.c[p.g.ldc + j]));
        }
        product_free(&p);
    }
}

/* Tiles cover every row once; memory for a product serves every smaller one. */
static void shapes_cut_whole(void **state) {
    (void)state;
    int64_t packed = 0, work = 0;
    for (int64_t m = 1; m < 1300; m++) {
        assert_int_equal(lli_gemm_row(m, 0), 0);
        assert_int_equal(lli_gemm_row(m, lli_gemm_tiles(m)), m);
        for (int64_t t = 0; t < lli_gemm_tiles(m); t++) {
            int64_t rows = lli_gemm_row(m, t + 1) - lli_gemm_row(m, t);
            assert_true(rows >= 1 && rows <= LLI_GEMM_TILE);
        }
        assert_true(lli_gemm_packed_floats(10, m) >= packed && lli_gemm_floats(m) >= work);
        assert_true(lli_gemm_block(m) <= LLI_GEMM_BLOCK && lli_gemm_floats(m) >= lli_gemm_block(m) * LLI_GEMM_PANEL);
        packed = lli_gemm_packed_floats(10, m);
        work = lli_gemm_floats(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_ref_on_odd_shapes), cmocka_unit_test(equals_ref_on_large_shapes),
        cmocka_unit_test(zeros_are_left_out),       cmocka_unit_test(bits_do_not_depend_on_the_cut),
        cmocka_unit_test(relu_keeps_nan),           cmocka_unit_test(fused_levels_agree),
        cmocka_unit_test(shapes_cut_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
