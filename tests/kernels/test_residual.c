/* SPDX-License-Identifier: MIT */
/* residual against f64, and what it does with numbers that are not. */
#include "kernels/shapes.h"
#include "kernels/wide.h"

#include <math.h>

static void residual_matches_f64(void **state) {
    (void)state;
    static const double scales[] = {0.1, 5, 60, 1000};
    FOR_LEVELS(kernels, 0) FOR_SIZES(n) FOR_SIZES(K) for (size_t s = 0; s < 2 * LLI_COUNT(scales); s++) {
        const double scale = scales[s / 2];
        const bool weighted = s % 2;
        int64_t ldk = lli_kernels_stride_classes(K);
        float *logits = floats(n * ldk), *found = floats(n * ldk), *weights = floats(n);
        int32_t *labels = array_new(n, sizeof *labels);
        fill_weights(weights, n);
        fill_reals(logits, n * ldk, scale, 3); /* the padding holds anything */
        memcpy(found, logits, (size_t)(n * ldk) * sizeof *found);
        for (int64_t i = 0; i < n; i++)
            labels[i] = (int32_t)(check_uniform(4, i) * (double)K);
        double nll = kernels->residual(found, labels, weighted ? weights : NULL, n, K, ldk), expected = 0;
        for (int64_t i = 0; i < n; i++) {
            double total = 0, top = -INFINITY, w = weighted ? (double)weights[i] : 1;
            for (int64_t k = 0; k < K; k++)
                top = fmax(top, (double)logits[i * ldk + k]);
            for (int64_t k = 0; k < K; k++)
                total += exp((double)logits[i * ldk + k] - top);
            expected += w * (log(total) + top - (double)logits[i * ldk + labels[i]]);
            for (int64_t k = 0; k < ldk; k++) {
                double p = exp((double)logits[i * ldk + k] - top) / total;
                CHECK_NEAR((double)found[i * ldk + k], k < K ? w * (k == labels[i] ? p - 1 : p) : 0, (1 + w) * (5e-7 + 2e-6 * scale / 60));
            }
        }
        CHECK_NEAR(nll, expected, 4e-6 * (double)n * (1 + scale / 20));
        free(logits);
        free(weights);
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
        kernels->residual(whole, labels, NULL, N, K, ldk);
        for (int64_t i = 0; i < N; i++)
            kernels->residual(alone + i * ldk, labels, NULL, 1, K, ldk);
        assert_memory_equal(alone, whole, (size_t)(N * ldk) * sizeof *alone);
        free(whole);
        free(alone);
    }
}

/* Weights of 1 change no bit of the residuals. */
static void residual_of_weights_of_one(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) FOR_SIZES(n) FOR_SIZES(K) {
        int64_t ldk = lli_kernels_stride_classes(K);
        float *plain = floats(n * ldk), *weighed = floats(n * ldk), *ones = floats(n);
        int32_t *labels = array_new(n, sizeof *labels);
        fill_reals(plain, n * ldk, 8, 7);
        memcpy(weighed, plain, (size_t)(n * ldk) * sizeof *plain);
        for (int64_t i = 0; i < n; i++)
            ones[i] = 1;
        double expected = kernels->residual(plain, labels, NULL, n, K, ldk), found = kernels->residual(weighed, labels, ones, n, K, ldk);
        CHECK_NEAR(found, expected, 1e-12 * (1 + fabs(expected)));
        assert_memory_equal(weighed, plain, (size_t)(n * ldk) * sizeof *plain);
        free(plain);
        free(weighed);
        free(ones);
        free(labels);
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
        const float weights[11] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 0.5f, 2};
        if (isfinite(kernels->residual(logits, labels, k % 2 ? weights : NULL, n, K, ldk)))
            fail_msg("%s: class %d of %d is %g, the loss is finite", kernels->name, (int)k, (int)K, (double)bad[b]);
        free(logits);
        free(labels);
    }
}

/* Very many classes: against f64, and the same bits where the classes lie apart, as ranks have them. */
static void wide_rows_may_be_divided(void **state) {
    (void)state;
    enum { K = 4099, LABEL = 4098, PARTS = 4 };
    static const int64_t cut[PARTS + 1] = {0, 16, 16, 3000, K}; /* one part has no class */
    static const double scales[] = {0.1, 8, 60};
    FOR_LEVELS(kernels, 0) for (size_t s = 0; s < LLI_COUNT(scales); s++) {
        const lli_wide *wide = kernels->wide;
        int64_t ldk = lli_kernels_stride_classes(K);
        int power = lli_wide_power(K);
        float *logits = floats(ldk), *whole = floats(ldk), *part[PARTS], weight = 0.7f;
        fill_reals(logits, ldk, scales[s], 11);
        memcpy(whole, logits, (size_t)ldk * sizeof *whole);
        double nll = kernels->residual(whole, (const int32_t[]){LABEL}, &weight, 1, K, ldk), top = -INFINITY, total = 0;
        for (int64_t k = 0; k < K; k++)
            top = fmax(top, (double)logits[k]);
        for (int64_t k = 0; k < K; k++)
            total += exp((double)logits[k] - top);
        CHECK_NEAR(nll, (double)weight * (log(total) + top - (double)logits[LABEL]), 2e-6 * (1 + scales[s] / 20));
        for (int64_t k = 0; k < K; k++)
            CHECK_NEAR((double)whole[k], (double)weight * (exp((double)logits[k] - top) / total - (k == LABEL)),
                       1e-6 + 2e-6 * scales[s] / 60);
        lli_wide_row of = {.top = -INFINITY};
        for (int p = 0; p < PARTS; p++) {
            int64_t own = cut[p + 1] - cut[p];
            part[p] = floats(lli_kernels_stride_classes(own));
            memcpy(part[p], logits + cut[p], (size_t)own * sizeof **part);
            of.top = fmaxf(of.top, wide->top(part[p], own));
        }
        of.gap = part[PARTS - 1][LABEL - cut[PARTS - 1]] - of.top;
        for (int p = 0; p < PARTS; p++)
            of.total += wide->sum(part[p], of.top, cut[p + 1] - cut[p], power);
        CHECK_NEAR(ldexp((double)of.total, -power), total, 1e-6 * total);
        for (int p = 0; p < PARTS; p++) {
            int64_t own = cut[p + 1] - cut[p], label = p == PARTS - 1 ? LABEL - cut[p] : -1;
            assert_true(wide->residual(part[p], &of, weight, label, own, lli_kernels_stride_classes(own), power) == nll);
            assert_memory_equal(part[p], whole + cut[p], (size_t)own * sizeof **part);
            free(part[p]);
        }
        free(logits);
        free(whole);
    }
}

/* The sum of so many classes still fits: all of them equal is the worst. */
static void wide_sums_stay_in_range(void **state) {
    (void)state;
    assert_int_equal(lli_wide_power(4096), 44);
    for (int64_t K = 4096; K < (int64_t)1 << 31; K *= 2)
        assert_true(ldexp((double)(K + K / 2), lli_wide_power(K + K / 2)) < 0x1p63 && lli_wide_power(K) > 30);
}

static void wide_rows_show_divergence(void **state) {
    (void)state;
    enum { K = 4099 };
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const int64_t places[] = {0, 1, 2000, 4096, 4098};
    FOR_LEVELS(kernels, 0) for (size_t b = 0; b < LLI_COUNT(bad); b++) for (size_t p = 0; p < LLI_COUNT(places); p++) {
        int64_t ldk = lli_kernels_stride_classes(K);
        float *logits = floats(ldk);
        fill_reals(logits, ldk, 3, 6);
        logits[places[p]] = bad[b];
        assert_false(isfinite(kernels->residual(logits, (const int32_t[]){7}, NULL, 1, K, ldk)));
        free(logits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residual_matches_f64),       cmocka_unit_test(residual_of_a_row_alone),
        cmocka_unit_test(residual_of_weights_of_one), cmocka_unit_test(residual_shows_divergence),
        cmocka_unit_test(wide_rows_may_be_divided),   cmocka_unit_test(wide_sums_stay_in_range),
        cmocka_unit_test(wide_rows_show_divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
