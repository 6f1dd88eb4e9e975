/* SPDX-License-Identifier: MIT */
/* Normals, sgld noise and dropout masks: against ref, against their laws, and independent of how the work is cut. */
#include "kernels/shapes.h"

#include <math.h>

static void normals_match_ref(void **state) {
    (void)state;
    static const int64_t firsts[] = {0, 1, 2, 3, 4, 13, 1000003, (int64_t)4 << 32};
    enum { COUNT = 20000 };
    float *expected = floats(COUNT), *found = floats(COUNT);
    lli_stream stream = lli_rng_stream(0x123456789abcdefull, LLI_PURPOSE_NOISE, 5, 77);
    FOR_LEVELS(kernels, 1) for (size_t f = 0; f < LLI_COUNT(firsts); f++) {
        lli_kernels_ref.normals(expected, stream, firsts[f], COUNT);
        kernels->normals(found, stream, firsts[f], COUNT);
        for (int i = 0; i < COUNT; i++)
            CHECK_NEAR((double)found[i], (double)expected[i], 1e-5);
    }
    free(expected);
    free(found);
}

static void normals_do_not_depend_on_the_cut(void **state) {
    (void)state;
    lli_stream stream = lli_rng_stream(9, LLI_PURPOSE_NOISE, 0, 1);
    FOR_LEVELS(kernels, 0) {
        float whole[200], part[200];
        kernels->normals(whole, stream, 40, 200);
        for (int64_t count = 1; count < 40; count++)
            for (int64_t first = 0; first + count <= 200; first += 3) {
                kernels->normals(part, stream, 40 + first, count);
                assert_memory_equal(part, whole + first, (size_t)count * sizeof *part);
            }
        float *exact = floats(7); /* the sanitizer watches its end */
        kernels->normals(exact, stream, 2, 7);
        free(exact);
    }
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Moments within five standard errors; Kolmogorov-Smirnov at 99.9 %; the tail beyond 4 where a short polynomial or few bits would show. */
static void normals_are_normal(void **state) {
    (void)state;
    enum { COUNT = 1 << 20 };
    float *x = floats(COUNT);
    FOR_LEVELS(kernels, 0) {
        double sum[5] = {0}, lag = 0, n = COUNT, distance = 0;
        kernels->normals(x, lli_rng_stream(2026, LLI_PURPOSE_TEST, 1, 2), 0, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double v = (double)x[i];
            sum[1] += v;
            sum[2] += v * v;
            sum[3] += v * v * v;
            sum[4] += v * v * v * v;
            lag += i ? v * (double)x[i - 1] : 0;
        }
        CHECK_NEAR(sum[1] / n, 0, 5 / sqrt(n));
        CHECK_NEAR(sum[2] / n, 1, 5 * sqrt(2 / n));
        CHECK_NEAR(sum[3] / n, 0, 5 * sqrt(15 / n));
        CHECK_NEAR(sum[4] / n, 3, 5 * sqrt(96 / n));
        CHECK_NEAR(lag / n, 0, 5 / sqrt(n));
        qsort(x, COUNT, sizeof *x, ascending);
        int beyond = 0;
        for (int i = 0; i < COUNT; i++) {
            double cdf = erfc(-(double)x[i] / sqrt(2)) / 2;
            distance = fmax(distance, fmax(cdf - i / n, (i + 1) / n - cdf));
            beyond += fabsf(x[i]) > 4;
        }
        assert_true(distance * sqrt(n) < 1.95);
        double expected = n * erfc(4 / sqrt(2));
        CHECK_NEAR(beyond, expected, 4 * sqrt(expected));
    }
    free(x);
}

/* The noise of sgld: exactly the normals of the stream, none on the padding, variance noise^2. */
static void update_adds_the_normals_of_the_stream(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {2, 15}, {3, 16}, {10, 20}, {5, 31}, {4, 100}, {7, 512}};
    FOR_LEVELS(kernels, 0) for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
        int64_t K = shapes[s][0], D = shapes[s][1], ld = lli_kernels_stride(D), ldk = lli_kernels_stride_classes(K);
        float *theta = floats(K * ld), *g = floats(ldk), *z = floats(ld), *xi = floats(ld);
        lli_update u = {.shrink = 1, .scale = 1, .noise = 0.25f, .stream = lli_rng_stream(3, LLI_PURPOSE_NOISE, 4, 5)};
        kernels->update(theta, g, z, &u, 1, K, D, ld, ldk);
        for (int64_t k = 0; k < K; k++) {
            kernels->normals(xi, u.stream, k * ld, ld);
            for (int64_t j = 0; j < ld; j++)
                assert_true(theta[k * ld + j] == (j <= D ? 0.25f * xi[j] : 0));
        }
        free(theta);
        free(g);
        free(z);
        free(xi);
    }
}

static void compare_masks(const lli_kernels *kernels, uint32_t drop16, int64_t first, int64_t n, int64_t D, int layer) {
    lli_mask m = {lli_rng_stream(11, LLI_PURPOSE_PREDICT_MASK, 0, 6), layer, drop16};
    int64_t ld = lli_kernels_stride(D);
    float *z = floats(n * ld), *expected = floats(n * ld), *found = floats(n * ld);
    const size_t bytes = (size_t)(n * ld) * sizeof *z;
    fill_reals(z, n * ld, 2, 8);
    for (int64_t i = 0; i < n; i++)
        z[i * ld + D] = 1;
    clear_padding(z, n, ld, D + 1);
    lli_kernels_ref.mask(expected, z, &m, first, n, D, ld);
    kernels->mask(found, z, &m, first, n, D, ld);
    assert_memory_equal(found, expected, bytes);
    for (int64_t i = 0; i < n; i++) { /* a row alone, in place */
        kernels->mask(z + i * ld, z + i * ld, &m, first + i, 1, D, ld);
        assert_true(z[i * ld + D] == 1);
    }
    assert_memory_equal(z, expected, bytes);
    free(z);
    free(expected);
    free(found);
}

static void masks_equal_ref(void **state) {
    (void)state;
    static const uint32_t rates[] = {1, 2, 3, 255, 6554, 16384, 19661, 32767, 32768, 32769, 49152, 58982, 65534, 65535};
    FOR_LEVELS(kernels, 1) {
        for (size_t r = 0; r < LLI_COUNT(rates); r++)
            FOR_SIZES(D) compare_masks(kernels, rates[r], (int64_t)r * 5, 5, D, (int)r % 3);
        compare_masks(kernels, 19661, 50000, 9, 512, 0);
        compare_masks(kernels, 32768, 1281166, 3, 4032, 2);
        compare_masks(kernels, 6554, (int64_t)1 << 33, 3, 700, 1);
    }
}

static void masks_keep_at_the_rate(void **state) {
    (void)state;
    static const uint32_t rates[] = {655, 6554, 19661, 32768, 45875, 64880};
    enum { ROWS = 2000, D = 300 };
    int64_t ld = lli_kernels_stride(D);
    float *z = floats(ROWS * ld);
    FOR_LEVELS(kernels, 1) for (size_t r = 0; r < LLI_COUNT(rates); r++) {
        lli_mask m = {lli_rng_stream(12, LLI_PURPOSE_TRAIN_MASK, 1, 2), 0, rates[r]};
        double p = rates[r] / 65536.0, n = (double)ROWS * D, zeros = 0, both = 0;
        for (int64_t i = 0; i < ROWS * ld; i++)
            z[i] = 1;
        kernels->mask(z, z, &m, 0, ROWS, D, ld);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < D; j++) {
                zeros += z[i * ld + j] == 0;
                both += z[i * ld + j] == 0 && z[i * ld + (j + 1) % D] == 0;
                assert_true(z[i * ld + j] == 0 || fabs((double)z[i * ld + j] - 1 / (1 - p)) < 1e-6 / (1 - p));
            }
        CHECK_NEAR(zeros / n, p, 5 * sqrt(p * (1 - p) / n));
        CHECK_NEAR(both / n, p * p, 8 * sqrt(p * p * (1 - p * p) / n) + 1e-5);
    }
    free(z);
}

/* Every level gives the draws of base/rng.h, from any place on, and nothing beyond the last; bounds on both sides of 2^32. */
static void draws_are_those_of_the_stream(void **state) {
    (void)state;
    static const uint64_t bounds[][2] = {{1, 0}, {2, 1}, {60000, 0}, {UINT32_MAX - 3, 0}, {UINT32_MAX - 9, 1}, {(uint64_t)1 << 62, 5}};
    lli_stream stream = lli_rng_stream(0x123456789abcdef, LLI_PURPOSE_TEST, 7, 9);
    FOR_LEVELS(kernels, 0)
    for (int64_t first = 0; first < 5; first++)
        for (size_t b = 0; b < LLI_COUNT(bounds); b++)
            FOR_SIZES(count) {
                uint64_t *found = array_new(count, sizeof *found);
                kernels->below(found, stream, first + ((int64_t)1 << 33), count, bounds[b][0], bounds[b][1]);
                for (int64_t i = 0; i < count; i++) {
                    uint64_t place = (uint64_t)(first + ((int64_t)1 << 33) + i), n = bounds[b][0] + (uint64_t)i * bounds[b][1];
                    assert_true(found[i] == lli_rng_below(stream, place, n));
                    assert_true(found[i] < n);
                }
                free(found);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_those_of_the_stream),
        cmocka_unit_test(normals_match_ref),
        cmocka_unit_test(normals_do_not_depend_on_the_cut),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(update_adds_the_normals_of_the_stream),
        cmocka_unit_test(masks_equal_ref),
        cmocka_unit_test(masks_keep_at_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
