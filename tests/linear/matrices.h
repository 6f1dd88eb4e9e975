/* SPDX-License-Identifier: MIT */
/* Matrices of every temper, by formulas that tests/oracle/linear.py has too. */
#ifndef TESTS_LINEAR_MATRICES_H
#define TESTS_LINEAR_MATRICES_H

#include <math.h>

#include "check.h"
#include "linear/linear.h"

typedef double matrix_formula(int64_t i, int64_t j, int64_t n);

static inline double wavy(int64_t i, int64_t j, int64_t n) {
    (void)n;
    return cos((double)(i * j + i + j)) + (double)(i == j);
}

static inline double hilbert(int64_t i, int64_t j, int64_t n) { /* condition 1e13 at n = 10, beyond f64 from there */
    (void)n;
    return 1 / (double)(i + j + 1);
}

static inline double graded(int64_t i, int64_t j, int64_t n) { /* from 1 to 1e-30 on the diagonal */
    return pow(10, -30 * (double)(i + j) / (double)(2 * n)) * cos((double)(i * j));
}

static inline double huge(int64_t i, int64_t j, int64_t n) {
    return 1e300 * wavy(i, j, n);
}

static inline double tiny(int64_t i, int64_t j, int64_t n) {
    return 1e-300 * wavy(i, j, n);
}

static inline double alike(int64_t i, int64_t j, int64_t n) { /* one eigenvalue n + 2, all others 2 */
    (void)n;
    return 1 + 2 * (double)(i == j);
}

static inline double flat(int64_t i, int64_t j, int64_t n) { /* of rank 1 */
    (void)n;
    return (double)((i + 1) * (j + 1));
}

static inline double nothing(int64_t i, int64_t j, int64_t n) {
    (void)i;
    (void)j;
    (void)n;
    return 0;
}

static inline double wilkinson(int64_t i, int64_t j, int64_t n) { /* pairs of eigenvalues that differ by less than f64 can say */
    return i == j ? fabs((double)(n - 1) / 2 - (double)i) : (double)(llabs(i - j) == 1);
}

static inline double second_difference(int64_t i, int64_t j, int64_t n) {
    (void)n;
    return i == j ? 2 : llabs(i - j) == 1 ? -1 : 0;
}

static inline double *matrix_new(matrix_formula *formula, int64_t n) {
    double *a = malloc((size_t)(n * n) * sizeof *a);
    assert_non_null(a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] = formula(i, j, n);
    return a;
}

static inline double matrix_largest(const double *a, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n * n; i++)
        most = fmax(most, fabs(a[i]));
    return most;
}

#endif
