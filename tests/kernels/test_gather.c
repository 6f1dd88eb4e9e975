/* SPDX-License-Identifier: MIT */
/* Rows in any order, f32 and f16, bit for bit. */
#include "base/half.h"
#include "kernels/shapes.h"

#include <math.h>

static void every_half(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) for (int64_t D = 1; D <= 64; D *= 2) {
        int64_t n = 65536 / D, ld = lli_kernels_stride(D);
        uint16_t *halves = array_new(65536, sizeof *halves);
        float *z = floats(n * ld);
        for (int i = 0; i < 65536; i++)
            halves[i] = (uint16_t)i;
        kernels->gather(z, halves, true, NULL, 0, n, D, ld);
        for (int64_t i = 0; i < 65536; i++) {
            float expected = lli_half_to_float((uint16_t)i), found = z[i / D * ld + i % D];
            if (isnan(expected) ? !isnan(found) : memcmp(&expected, &found, sizeof found) != 0)
                fail_msg("%s: half %04x gives %g, expected %g", kernels->name, (unsigned)i, (double)found, (double)expected);
        }
        free(halves);
        free(z);
    }
}

static void rows_in_any_order(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) FOR_SIZES(n) FOR_SIZES(D) for (int half = 0; half < 2; half++) {
        int64_t N = 40, ld = lli_kernels_stride(D);
        float *features = floats(N * D), *z = floats(n * ld);
        uint16_t *halves = array_new(N * D, sizeof *halves);
        int64_t *rows = array_new(n, sizeof *rows);
        fill_integers(features, N * D, 1000, 1); /* exact in f16 too */
        for (int64_t i = 0; i < N * D; i++)
            halves[i] = lli_half_from_float(features[i]);
        for (int64_t i = 0; i < n; i++)
            rows[i] = (int64_t)(check_uniform(2, i) * (double)N);
        const void *source = half ? (const void *)halves : features;
        kernels->gather(z, source, half, rows, 0, n, D, ld);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < ld; j++)
                assert_true(z[i * ld + j] == (j < D ? features[rows[i] * D + j] : j == D));
        int64_t count = n < N - 3 ? n : N - 3;
        kernels->gather(z, source, half, NULL, 3, count, D, ld);
        for (int64_t i = 0; i < count; i++)
            assert_memory_equal(z + i * ld, features + (3 + i) * D, (size_t)D * sizeof *z);
        free(features);
        free(halves);
        free(rows);
        free(z);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_half), cmocka_unit_test(rows_in_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
