/* SPDX-License-Identifier: MIT */
/* A clock, and the peak of the multiply-add units of one core, measured. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <math.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"), noinline)) static float multiply_add(float factor) {
    __m256 sum[10], x = _mm256_set1_ps(factor), y = _mm256_set1_ps(0.25f);
    for (int i = 0; i < 10; i++)
        sum[i] = _mm256_set1_ps((float)i);
    for (int j = 0; j < 10000; j++)
#pragma GCC unroll 10
        for (int i = 0; i < 10; i++)
            sum[i] = _mm256_fmadd_ps(x, sum[i], y);
    for (int i = 1; i < 10; i++)
        sum[0] = _mm256_add_ps(sum[0], sum[i]);
    return _mm256_cvtss_f32(sum[0]);
}
#endif

/* GF/s; NaN where it is not known how to ask for it. */
static inline double peak(void) {
    double best = NAN;
#if defined(__x86_64__)
    volatile float kept = 0.5f; /* neither side of a call is known to the compiler */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        for (int repeat = 0; repeat < 10; repeat++) {
            double start = seconds(CLOCK_THREAD_CPUTIME_ID);
            for (int i = 0; i < 20; i++)
                kept = multiply_add(0.5f + kept * 1e-3f);
            best = fmin(best, seconds(CLOCK_THREAD_CPUTIME_ID) - start);
        }
#endif
    return 20 * 10000.0 * 10 * 16 / best * 1e-9;
}

#endif
