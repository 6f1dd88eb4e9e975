/* SPDX-License-Identifier: MIT */
/* logits, update, gradient: bit for bit against ref on integers, in the promised order on reals. */
#include "kernels/shapes.h"

#include <math.h>

typedef struct head {
    int64_t n, K, D, ld, ldk;
    float *theta, *z, *g;
} head;

static head head_new(int64_t n, int64_t K, int64_t D, bool integers) {
    head h = {n, K, D, lli_kernels_stride(D), lli_kernels_stride_classes(K), NULL, NULL, NULL};
    h.theta = floats(K * h.ld);
    h.z = floats(n * h.ld);
    h.g = floats(n * h.ldk);
    float *all[] = {h.theta, h.z, h.g};
    int64_t count[] = {K * h.ld, n * h.ld, n * h.ldk};
    for (int a = 0; a < 3; a++)
        if (integers)
            fill_integers(all[a], count[a], 3, a);
        else
            fill_reals(all[a], count[a], 1, a);
    clear_padding(h.theta, K, h.ld, D + 1);
    clear_padding(h.z, n, h.ld, D + 1);
    clear_padding(h.g, n, h.ldk, K);
    return h;
}

static void head_free(head *h) {
    free(h->theta);
    free(h->z);
    free(h->g);
}

static void compare_logits(const lli_kernels *kernels, const head *h) {
    float *expected = floats(h->n * h->ldk), *found = floats(h->n * h->ldk);
    for (int64_t i = 0; i < h->n * h->ldk; i++)
        expected[i] = found[i] = 77; /* columns K.. are left alone */
    lli_kernels_ref.logits(expected, h->theta, h->z, h->n, h->K, h->ld, h->ldk);
    kernels->logits(found, h->theta, h->z, h->n, h->K, h->ld, h->ldk);
    assert_memory_equal(found, expected, (size_t)(h->n * h->ldk) * sizeof *found);
    free(expected);
    free(found);
}

static void compare_update(const lli_kernels *kernels, const head *h) {
    const size_t bytes = (size_t)(h->K * h->ld) * sizeof(float);
    lli_update u = {.shrink = 0.5f, .scale = 0.25f};
    float *expected = floats(h->K * h->ld), *found = floats(h->K * h->ld);
    memcpy(expected, h->theta, bytes);
    memcpy(found, h->theta, bytes);
    lli_kernels_ref.update(expected, h->g, h->z, &u, h->n, h->K, h->D, h->ld, h->ldk);
    kernels->update(found, h->g, h->z, &u, h->n, h->K, h->D, h->ld, h->ldk);
    for (int64_t i = 0; i < h->K * h->ld; i++)
        if (found[i] != expected[i])
            fail_msg("%s, n %d, K %d, D %d: theta[%d] = %g, expected %g", kernels->name, (int)h->n, (int)h->K, (int)h->D, (int)i,
                     (double)found[i], (double)expected[i]);
    free(expected);
    free(found);
}

static void compare_gradient(const lli_kernels *kernels, const head *h) {
    double *expected = array_new(h->K * h->ld, sizeof *expected), *found = array_new(h->K * h->ld, sizeof *found);
    for (int64_t i = 0; i < h->K * h->ld; i++)
        expected[i] = found[i] = (double)i / 3;
    lli_kernels_ref.gradient(expected, h->g, h->z, h->n, h->K, h->ld, h->ldk);
    kernels->gradient(found, h->g, h->z, h->n, h->K, h->ld, h->ldk);
    assert_memory_equal(found, expected, (size_t)(h->K * h->ld) * sizeof *found);
    free(expected);
    free(found);
}

static void compare(int64_t n, int64_t K, int64_t D) {
    head h = head_new(n, K, D, true);
    FOR_LEVELS(kernels, 1) {
        compare_logits(kernels, &h);
        compare_update(kernels, &h);
        compare_gradient(kernels, &h);
    }
    head_free(&h);
}

static void equal_ref_on_odd_shapes(void **state) {
    (void)state;
    FOR_SIZES(n) FOR_SIZES(K) FOR_SIZES(D) compare(n, K, D);
}

static void equal_ref_on_large_shapes(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{128, 10, 512}, {300, 10, 784},   {515, 7, 64}, {130, 101, 639},
                                        {64, 37, 2048}, {33, 1000, 1290}, {1030, 3, 20}};
    for (size_t t = 0; t < LLI_COUNT(shapes); t += (size_t)check_step(2))
        compare(shapes[t][0], shapes[t][1], shapes[t][2]);
}

/* A row alone, in any part of a block, or in the whole: the same bits. */
static void logits_do_not_depend_on_the_block(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 5}, {2, 64}, {3, 33}, {4, 100}, {6, 20}, {7, 1300}, {10, 784}, {11, 512}, {100, 700}};
    FOR_LEVELS(kernels, 0)
    for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
        head h = head_new(61, shapes[s][0], shapes[s][1], false);
        float *whole = floats(h.n * h.ldk), *part = floats(h.n * h.ldk);
        kernels->logits(whole, h.theta, h.z, h.n, h.K, h.ld, h.ldk);
        for (int64_t count = 1; count < 14; count++)
            for (int64_t i = 0; i + count <= h.n; i += 7) {
                kernels->logits(part, h.theta, h.z + i * h.ld, count, h.K, h.ld, h.ldk);
                for (int64_t r = 0; r < count; r++)
                    assert_memory_equal(part + r * h.ldk, whole + (i + r) * h.ldk, (size_t)h.K * sizeof *part);
            }
        free(whole);
        free(part);
        head_free(&h);
    }
}

/* The sum of element (k,j) over the batch, in row order, as each level promises it. */
static float ordered_sum(const head *h, int64_t k, int64_t j, bool fused) {
    float sum = 0;
    for (int64_t i = 0; i < h->n; i++)
        if (fused)
            sum = fmaf(h->g[i * h->ldk + k], h->z[i * h->ld + j], sum);
        else
            sum += h->g[i * h->ldk + k] * h->z[i * h->ld + j];
    return sum;
}

static void sums_go_in_row_order(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 2, 3}, {37, 10, 33}, {300, 4, 17}, {700, 11, 70}, {129, 63, 200}};
    FOR_LEVELS(kernels, 0)
    for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
        head h = head_new(shapes[s][0], shapes[s][1], shapes[s][2], false);
        bool fused = kernels->fused;
        lli_update u = {.shrink = 0.999f, .scale = 0.037f};
        float *theta = floats(h.K * h.ld);
        double *gradient = array_new(h.K * h.ld, sizeof *gradient);
        memcpy(theta, h.theta, (size_t)(h.K * h.ld) * sizeof *theta);
        kernels->update(theta, h.g, h.z, &u, h.n, h.K, h.D, h.ld, h.ldk);
        kernels->gradient(gradient, h.g, h.z, h.n, h.K, h.ld, h.ldk);
        for (int64_t k = 0; k < h.K; k++)
            for (int64_t j = 0; j < h.ld; j++) {
                float sum = ordered_sum(&h, k, j, fused), old = u.shrink * h.theta[k * h.ld + j];
                float expected = fused ? fmaf(sum, -u.scale, old) : old - u.scale * sum;
                assert_true(theta[k * h.ld + j] == expected);
                assert_true(gradient[k * h.ld + j] == (double)sum);
                assert_true(j <= h.D || theta[k * h.ld + j] == 0);
            }
        free(theta);
        free(gradient);
        head_free(&h);
    }
}

/* Mean loss in f64, written again. */
static double mean_loss(const head *h, const double *theta, const int32_t *labels) {
    double loss = 0;
    for (int64_t i = 0; i < h->n; i++) {
        double total = 0, correct = 0;
        for (int64_t k = 0; k < h->K; k++) {
            double logit = 0;
            for (int64_t j = 0; j < h->ld; j++)
                logit += theta[k * h->ld + j] * (double)h->z[i * h->ld + j];
            total += exp(logit);
            correct = k == labels[i] ? logit : correct;
        }
        loss += log(total) - correct;
    }
    return loss / (double)h->n;
}

static void gradient_is_that_of_the_loss(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) {
        head h = head_new(20, 5, 9, false);
        int32_t labels[20];
        for (int i = 0; i < 20; i++)
            labels[i] = i * 7 % 5;
        float *g = floats(h.n * h.ldk);
        double *gradient = array_new(h.K * h.ld, sizeof *gradient), *theta = array_new(h.K * h.ld, sizeof *theta);
        for (int64_t i = 0; i < h.K * h.ld; i++)
            theta[i] = (double)h.theta[i];
        kernels->logits(g, h.theta, h.z, h.n, h.K, h.ld, h.ldk);
        double nll = kernels->residual(g, labels, NULL, h.n, h.K, h.ldk);
        kernels->gradient(gradient, g, h.z, h.n, h.K, h.ld, h.ldk);
        CHECK_NEAR(nll / (double)h.n, mean_loss(&h, theta, labels), 1e-6);
        for (int64_t i = 0; i < h.K * h.ld; i++) {
            double here = theta[i], step = 1e-5;
            theta[i] = here + step;
            double above = mean_loss(&h, theta, labels);
            theta[i] = here - step;
            double below = mean_loss(&h, theta, labels);
            theta[i] = here;
            CHECK_NEAR(gradient[i] / (double)h.n, (above - below) / (2 * step), 1e-6);
        }
        free(g);
        free(gradient);
        free(theta);
        head_free(&h);
    }
}

static void strides(void **state) {
    (void)state;
    for (int64_t D = 1; D < 5000; D++) {
        int64_t ld = lli_kernels_stride(D);
        assert_true(ld > D && ld % 16 == 0 && ld % 128 != 0 && ld < D + 33);
        int64_t ldk = lli_kernels_stride_classes(D);
        assert_true(ldk >= D && ldk % 16 == 0 && ldk % 128 != 0 && ldk < D + 32);
    }
}

static void levels_by_name(void **state) {
    (void)state;
    assert_ptr_equal(lli_kernels_level("ref"), &lli_kernels_ref);
    assert_ptr_equal(lli_kernels_level("base"), &lli_kernels_base);
    assert_null(lli_kernels_level("v9"));
    assert_false(lli_kernels_known("v9"));
    unsetenv("LASTLAYER_ISA");
    assert_false(lli_kernels_get()->on_request);
    for (size_t i = 0; lli_kernels_at(i); i++) {
        const lli_kernels *level = lli_kernels_at(i);
        setenv("LASTLAYER_ISA", level->name, 1);
        assert_true(lli_kernels_known(level->name) && strstr(lli_kernels_names(), level->name));
        assert_ptr_equal(lli_kernels_get(), lli_kernels_supported(level) ? level : NULL);
        assert_string_equal(ll_isa(), lli_kernels_supported(level) ? level->name : "none");
        assert_true(lli_kernels_supported(level) || level->needs); /* the sentence of a refusal says it */
    }
    setenv("LASTLAYER_ISA", "nonsense", 1);
    assert_null(lli_kernels_get());
    assert_string_equal(ll_isa(), "none");
    unsetenv("LASTLAYER_ISA");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ref_on_odd_shapes),
        cmocka_unit_test(equal_ref_on_large_shapes),
        cmocka_unit_test(logits_do_not_depend_on_the_block),
        cmocka_unit_test(sums_go_in_row_order),
        cmocka_unit_test(gradient_is_that_of_the_loss),
        cmocka_unit_test(strides),
        cmocka_unit_test(levels_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
