/* SPDX-License-Identifier: MIT */
/* Steps of optimisers: each level against f64, the place of an element, moments that fade. */
#include <math.h>

#include "kernels/shapes.h"

typedef struct arrays {
    int64_t count;
    float *theta, *first, *second, *gradient;
} arrays;

static arrays arrays_new(int64_t count) {
    arrays a = {count, floats(count), floats(count), floats(count), floats(count)};
    fill_reals(a.theta, count, 1, 1);
    fill_reals(a.first, count, 0.1, 2);
    fill_reals(a.second, count, 0.01, 3);
    fill_reals(a.gradient, count, 0.2, 4);
    for (int64_t i = 0; i < count; i++)
        a.second[i] = fabsf(a.second[i]);
    return a;
}

static void arrays_free(arrays *a) {
    free(a->theta);
    free(a->first);
    free(a->second);
    free(a->gradient);
}

static const lli_adam adam = {.rest1 = 0.1f, .beta2 = 0.999f, .rest2 = 0.001f, .step = 0.01f, .root = 3, .eps = 1e-7f};

static void near_f64(const char *name, const float *found, const double *expected, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)found[i] - expected[i]) <= 4e-7 * fmax(fabs(expected[i]), 0.1)))
            fail_msg("%s: element %d is %.9g, expected %.9g", name, (int)i, (double)found[i], expected[i]);
}

static void test_adam(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0)
    FOR_SIZES(n) {
        arrays a = arrays_new(n), old = arrays_new(n);
        double *theta = array_new(n, sizeof *theta), *m = array_new(n, sizeof *m), *v = array_new(n, sizeof *v);
        const double decay = 0.25;
        for (int64_t i = 0; i < n; i++) {
            double g = (double)old.gradient[i] + decay * (double)old.theta[i];
            m[i] = 0.9 * (double)old.first[i] + 0.1 * g;
            v[i] = 0.999 * (double)old.second[i] + 0.001 * g * g;
            theta[i] = (double)old.theta[i] - 0.01 * m[i] / (3 * sqrt(v[i]) + 1e-7);
        }
        kernels->adam(a.theta, a.first, a.second, a.gradient, &adam, (float)decay, n);
        near_f64(kernels->name, a.theta, theta, n);
        near_f64(kernels->name, a.first, m, n);
        near_f64(kernels->name, a.second, v, n);
        free(theta);
        free(m);
        free(v);
        arrays_free(&a);
        arrays_free(&old);
    }
}

static void test_momentum(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0)
    FOR_SIZES(n)
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        arrays a = arrays_new(n), old = arrays_new(n);
        double *theta = array_new(n, sizeof *theta), *u = array_new(n, sizeof *u);
        const lli_momentum o = {.momentum = 0.75f, .lr = 0.125f, .nesterov = nesterov};
        for (int64_t i = 0; i < n; i++) {
            double g = (double)old.gradient[i] + 0.5 * (double)old.theta[i];
            u[i] = 0.75 * (double)old.first[i] + g;
            theta[i] = (double)old.theta[i] - 0.125 * (nesterov ? g + 0.75 * u[i] : u[i]);
        }
        kernels->momentum(a.theta, a.first, a.gradient, &o, 0.5f, n);
        near_f64(kernels->name, a.theta, theta, n);
        near_f64(kernels->name, a.first, u, n);
        free(theta);
        free(u);
        arrays_free(&a);
        arrays_free(&old);
    }
}

/* However a run is cut, an element's bits are the same. */
static void test_cuts(void **state) {
    (void)state;
    const int64_t n = 130;
    const lli_momentum o = {.momentum = 0.9f, .lr = 0.1f, .nesterov = true};
    FOR_LEVELS(kernels, 0)
    for (int64_t cut = 1; cut < n; cut += 3) {
        arrays whole = arrays_new(n), cuts = arrays_new(n);
        size_t bytes = (size_t)n * sizeof(float);
        kernels->adam(whole.theta, whole.first, whole.second, whole.gradient, &adam, 0.1f, n);
        kernels->momentum(whole.theta, whole.first, whole.gradient, &o, 0, n);
        kernels->adam(cuts.theta, cuts.first, cuts.second, cuts.gradient, &adam, 0.1f, cut);
        kernels->adam(cuts.theta + cut, cuts.first + cut, cuts.second + cut, cuts.gradient + cut, &adam, 0.1f, n - cut);
        kernels->momentum(cuts.theta + cut, cuts.first + cut, cuts.gradient + cut, &o, 0, n - cut);
        kernels->momentum(cuts.theta, cuts.first, cuts.gradient, &o, 0, cut);
        assert_memory_equal(cuts.theta, whole.theta, bytes);
        assert_memory_equal(cuts.first, whole.first, bytes);
        assert_memory_equal(cuts.second, whole.second, bytes);
        arrays_free(&whole);
        arrays_free(&cuts);
    }
}

/* Moments of parameters without a gradient fade to zero, never to denormals. */
static void test_fading(void **state) {
    (void)state;
    const lli_momentum o = {.momentum = 0.9f, .lr = 0.1f};
    FOR_LEVELS(kernels, 0) {
        arrays a = arrays_new(17);
        memset(a.gradient, 0, 17 * sizeof(float));
        for (int step = 0; step < 2000; step++) {
            kernels->adam(a.theta, a.first, a.second, a.gradient, &adam, 0, 17);
            kernels->momentum(a.theta, a.second, a.gradient, &o, 0, 17);
            for (int i = 0; i < 17; i++)
                assert_true(fpclassify(a.first[i]) != FP_SUBNORMAL && fpclassify(a.second[i]) != FP_SUBNORMAL);
        }
        for (int i = 0; i < 17; i++)
            assert_true(a.first[i] == 0 && a.second[i] == 0);
        arrays_free(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_fading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
