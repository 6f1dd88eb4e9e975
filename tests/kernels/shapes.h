/* SPDX-License-Identifier: MIT */
/* The levels this machine has, odd shapes, and arrays of exactly the size asked for, so that the sanitizer sees one step too far. */
#ifndef TESTS_KERNELS_SHAPES_H
#define TESTS_KERNELS_SHAPES_H

#include "check.h"
#include "kernels/kernels.h"
#include "kernels/levels.h"

static const int64_t odd_sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 130};

/* Runs the body for every level of this machine, as `kernels`. From 0: ref too; from 1: those that are compared with it. */
#define FOR_LEVELS(kernels, from)                                  \
    for (size_t level_ = (from); lli_kernels_at(level_); level_++) \
        for (const lli_kernels *kernels = lli_kernels_at(level_); kernels && lli_kernels_supported(kernels); kernels = NULL)

#define FOR_SIZES(name)                                                                                                     \
    for (size_t name##_ = 0, name##_step_ = (size_t)check_step(4); name##_ < LLI_COUNT(odd_sizes); name##_ += name##_step_) \
        for (int64_t name = odd_sizes[name##_], name##_once_ = 1; name##_once_; name##_once_ = 0)

static inline void *array_new(int64_t count, size_t size) {
    void *block = calloc((size_t)(count > 0 ? count : 1), size);
    assert_non_null(block);
    return block;
}

static inline float *floats(int64_t count) {
    return array_new(count, sizeof(float));
}

/* Integers in -limit..limit: every order of summation gives the same bits. */
static inline void fill_integers(float *x, int64_t count, int limit, int64_t stream) {
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)((int)(check_uniform(stream, i) * (2 * limit + 1)) - limit);
}

static inline void fill_reals(float *x, int64_t count, double scale, int64_t stream) {
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(scale * (2 * check_uniform(stream, i) - 1));
}

/* Weights of rows: 0.1 to 2.1. */
static inline void fill_weights(float *w, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        w[i] = (float)(0.1 + 2 * check_uniform(12, i));
}

/* A matrix [rows,ld] whose columns from `used` on are zero. */
static inline void clear_padding(float *x, int64_t rows, int64_t ld, int64_t used) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = used; j < ld; j++)
            x[i * ld + j] = 0;
}

#endif
