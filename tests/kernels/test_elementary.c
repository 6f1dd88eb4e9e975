/* SPDX-License-Identifier: MIT */
/* The vector functions against libm in a wider type, to the bounds they state: directly as the base level has them, and for every level
 * through the residual of two classes, whose second probability is exp(-gap) once 1 + exp(-gap) rounds to 1. */
#include "kernels/shapes.h"

#include <math.h>

#define LLI_LEVEL base
#define LLI_BYTES 16
#include "kernels/simd/elementary.h"

/* Error in units in the last place of the f32 or f64 result. */
static double ulps_f(float found, double exact) {
    int exponent;
    frexp(exact, &exponent);
    return fabs((double)found - exact) / ldexp(1, exponent - 24);
}

static double ulps_d(double found, long double exact) {
    int exponent;
    frexpl(exact, &exponent);
    return (double)(fabsl((long double)found - exact) / ldexpl(1, exponent - 53));
}

static void exp_within_its_bounds(void **state) {
    (void)state;
    double worst = 0, worst_odds = 0;
    for (int i = 0; i <= 2000000; i += check_step(10)) {
        vf x = all(-86.0f * (float)i / 2000000.0f), odds[] = {all(-150.0f * (float)i / 2000000.0f)};
        double y = (double)odds[0][0], reduction = 3e-9; /* per unit of x */
        exp_times(odds, odds, 100, 1);
        worst = fmax(worst, fabs((double)exp_f(x)[0] / exp((double)x[0]) - 1) + reduction * (double)x[0]);
        worst_odds = fmax(worst_odds, fabs((double)odds[0][0] / ldexp(exp(y), 100) - 1) + reduction * y);
    }
    print_message("# exp_f %.2g, exp_times %.2g\n", worst, worst_odds);
    assert_true(worst < 2.3e-7 && worst_odds < 2.3e-7);
    float least = exp_f(all(-86))[0];
    assert_true(least > 0x1p-125f && exp_f(all(0))[0] == 1 && exp_f(all(-INFINITY))[0] == least && isnan(exp_f(all(NAN))[0]));
    for (int i = 87; i < 2000; i++)
        assert_true(exp_f(all((float)-i))[0] == least);
    vf ends[] = {all(0), all(NAN)};
    exp_times(ends, ends, 100, 2);
    assert_true(ends[0][0] == 0x1p100f && isnan(ends[1][0]));
}

static void log_within_its_bounds(void **state) {
    (void)state;
    double worst = 0, worst_d = 0, worst_1p = 0;
    for (int i = 0; i < 1000000; i += check_step(11)) { /* odd: the halves below take turns */
        float x = (float)exp(check_uniform(1, i) * 40 - 20);
        if (fabsf(x - 1) > 1e-7f)
            worst = fmax(worst, ulps_f(log_f(all(x))[0], log((double)x)));
        double y = i % 2 ? exp(check_uniform(2, i) * 60 - 50) : -exp(-check_uniform(2, i) * 40 - 1e-3),
               z = i % 2 ? exp(check_uniform(3, i) * 1200 - 600) : 0.5 + check_uniform(3, i);
        worst_1p = fmax(worst_1p, ulps_d(log1p_d(all_d(y))[0], log1pl((long double)y)));
        worst_d = fmax(worst_d, ulps_d(log_d(all_d(z))[0], logl((long double)z)));
    }
    print_message("# log_f %.2f ulp, log_d %.2f ulp, log1p_d %.2f ulp\n", worst, worst_d, worst_1p);
    assert_true(worst < 3 && worst_d < 3 && worst_1p < 4);
    assert_true(log_f(all(1))[0] == 0 && log1p_d(all_d(0))[0] == 0 && log_d(all_d(1))[0] == 0);
    assert_true(log1p_d(all_d(1e-300))[0] == 1e-300);
    CHECK_NEAR(log1p_d(all_d(1e200))[0], log1p(1e200), 1e-12);
    CHECK_NEAR(log_d(all_d(1e-300))[0], log(1e-300), 1e-12);
}

static void sine_and_cosine(void **state) {
    (void)state;
    for (int i = -100000; i <= 100000; i += check_step(10)) {
        float x = (float)(i * 0x1.921fb6p-1 / 100000);
        vf s, c;
        sin_cos_f(&s, &c, all(x));
        CHECK_NEAR((double)s[0], sin((double)x), 1e-7);
        CHECK_NEAR((double)c[0], cos((double)x), 1e-7);
    }
}

static void exp_of_every_level(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) {
        double worst = 0, worst_small = 0;
        for (int i = 1; i < 200000; i += check_step(10)) {
            float gap = 86.0f * (float)i / 200000.0f, row[16] = {0, -gap};
            kernels->residual(row, &(int32_t){0}, NULL, 1, 2, 16);
            double e = exp(-(double)gap), ulps = ulps_f(row[1], e / (1 + e));
            if (gap > 17)
                worst = fmax(worst, ulps);
            else
                worst_small = fmax(worst_small, ulps);
        }
        print_message("# %s: exp %.2f ulp, probabilities %.2f ulp\n", kernels->name, worst, worst_small);
        assert_true(worst < 6 && worst_small < 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_within_its_bounds),
        cmocka_unit_test(log_within_its_bounds),
        cmocka_unit_test(sine_and_cosine),
        cmocka_unit_test(exp_of_every_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
