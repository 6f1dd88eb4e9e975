/* SPDX-License-Identifier: MIT */
/* A tensor against what a fixture has of it: its norm and its products with vectors of test data. */
#ifndef TESTS_MODEL_SUMMARY_H
#define TESTS_MODEL_SUMMARY_H

#include <math.h>

#include "fixture.h"

enum { SUMMARY_PRODUCTS = 4 };

/* Within 1e-4 of the norm. */
static inline void assert_summary(json_t *expected, const float *values, int64_t count) {
    int tensor = (int)fixture_integer(expected, "tensor");
    double norm = fixture_real(expected, "norm"), *products = fixture_reals(expected, "products", SUMMARY_PRODUCTS), squares = 0;
    for (int64_t k = 0; k < count; k++)
        squares += (double)values[k] * (double)values[k];
    CHECK_NEAR(sqrt(squares), norm, 1e-4 * norm);
    for (int p = 0; p < SUMMARY_PRODUCTS; p++) {
        double product = 0, length = 0;
        for (int64_t k = 0; k < count; k++) {
            double v = 2 * check_uniform(1000 + 10 * tensor + p, k) - 1;
            product += v * (double)values[k];
            length += v * v;
        }
        CHECK_NEAR(product, products[p], 1e-4 * norm * sqrt(length));
    }
    free(products);
}

#endif
