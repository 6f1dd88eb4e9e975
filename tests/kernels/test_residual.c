/* SPDX-License-Identifier: MIT */
/* residual against f64, and what it does with numbers that are not. */
#include "kernels/shapes.h"

#include <math.h>

static void residual_matches_f64(void **state) {
    (void)state;
    static const double scales[] = {0.1, 5, 60, 1000};
    FOR_LEVELS(kernels, 0) FOR_SIZES(n) FOR_SIZES(K) for (size_t s = 0; s < LLI_COUNT(scales); s++) {
        int64_t ldk = lli_kernels_stride_classes(K);
        float *logits = floats(n * ldk), *found = floats(n * ldk);
        int32_t *labels = array_new(n, sizeof *labels);
        fill_reals(logits, n * ldk, scales[s], 3); /* the padding holds anything */
        memcpy(found, logits, (size_t)(n * ldk) * sizeof *found);
        for (int64_t i = 0; i < n; i++)
            labels[i] = (int32_t)(check_uniform(4, i) * (double)K);
        double nll = kernels->residual(found, labels, n, K, ldk), expected = 0;
        for (int64_t i = 0; i < n; i++) {
            double total = 0, top = -INFINITY;
            for (int64_t k = 0; k < K; k++)
                top = fmax(top, (double)logits[i * ldk + k]);
            for (int64_t k = 0; k < K; k++)
                total += exp((double)logits[i * ldk + k] - top);
            expected += log(total) + top - (double)logits[i * ldk + labels[i]];
            for (int64_t k = 0; k < ldk; k++) {
                double p = exp((double)logits[i * ldk + k] - top) / total;
                CHECK_NEAR((double)found[i * ldk + k], k < K ? (k == labels[i] ? p - 1 : p) : 0, 5e-7 + 2e-6 * scales[s] / 60);
            }
        }
        CHECK_NEAR(nll, expected, 2e-6 * (double)n * (1 + scales[s] / 20));
        free(logits);
        free(found);
        free(labels);
    }
}

/* The bits of a row do not depend on the rows beside it. */
static void residual_of_a_row_alone(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) FOR_SIZES(K) {
        enum { N = 37 };
        int64_t ldk = lli_kernels_stride_classes(K);
        float *whole = floats(N * ldk), *alone = floats(N * ldk);
        int32_t labels[N] = {0};
        fill_reals(whole, N * ldk, 8, 5);
        memcpy(alone, whole, (size_t)(N * ldk) * sizeof *alone);
        kernels->residual(whole, labels, N, K, ldk);
        for (int64_t i = 0; i < N; i++)
            kernels->residual(alone + i * ldk, labels, 1, K, ldk);
        assert_memory_equal(alone, whole, (size_t)(N * ldk) * sizeof *alone);
        free(whole);
        free(alone);
    }
}

static void residual_shows_divergence(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    FOR_LEVELS(kernels, 0) FOR_SIZES(K) for (size_t b = 0; b < LLI_COUNT(bad); b++) for (int64_t k = 0; k < K; k++) {
        int64_t n = 11, ldk = lli_kernels_stride_classes(K);
        float *logits = floats(n * ldk);
        int32_t *labels = array_new(n, sizeof *labels);
        fill_reals(logits, n * ldk, 3, 6);
        logits[9 * ldk + k] = bad[b];
        for (int64_t i = 0; i < n; i++)
            labels[i] = (int32_t)((k + i) % K);
        if (isfinite(kernels->residual(logits, labels, n, K, ldk)))
            fail_msg("%s: class %d of %d is %g, the loss is finite", kernels->name, (int)k, (int)K, (double)bad[b]);
        free(logits);
        free(labels);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residual_matches_f64), cmocka_unit_test(residual_of_a_row_alone), cmocka_unit_test(residual_shows_divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
