/* SPDX-License-Identifier: MIT */
/* Vectors of one level in the compilers' own vector types, and the few operations that these do not have: fused multiply-add, the
 * widening product, the square root, sums over lanes in a fixed order. The only kernels file with intrinsics. */
#ifndef LLI_KERNELS_SIMD_VECTOR_H
#define LLI_KERNELS_SIMD_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* checks in unrolled code take minutes to compile */
#define UNROLL
#define UNROLL2
#define UNROLL4
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL2 _Pragma("clang loop unroll_count(2)")
#define UNROLL4 _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL2 _Pragma("GCC unroll 2")
#define UNROLL4 _Pragma("GCC unroll 4")
#endif

enum { W = LLI_BYTES / 4, H = LLI_BYTES / 8 }; /* floats and doubles in a vector */

typedef float vf __attribute__((vector_size(LLI_BYTES)));
typedef int32_t vi __attribute__((vector_size(LLI_BYTES)));
typedef uint32_t vu __attribute__((vector_size(LLI_BYTES)));
typedef double vd __attribute__((vector_size(LLI_BYTES)));
typedef int64_t vl __attribute__((vector_size(LLI_BYTES)));
typedef uint64_t vq __attribute__((vector_size(LLI_BYTES)));
typedef float vh __attribute__((vector_size(LLI_BYTES / 2))); /* H floats */
typedef int32_t vhi __attribute__((vector_size(LLI_BYTES / 2)));
typedef float v4 __attribute__((vector_size(16)));

/* As they lie in memory: no alignment beyond that of an element. */
typedef float vf_memory __attribute__((vector_size(LLI_BYTES), aligned(4), may_alias));
typedef int32_t vi_memory __attribute__((vector_size(LLI_BYTES), aligned(4), may_alias));
typedef double vd_memory __attribute__((vector_size(LLI_BYTES), aligned(8), may_alias));
typedef int32_t vhi_memory __attribute__((vector_size(LLI_BYTES / 2), aligned(4), may_alias));
typedef float vh_memory __attribute__((vector_size(LLI_BYTES / 2), aligned(4), may_alias));
typedef float v4_memory __attribute__((vector_size(16), aligned(4), may_alias));

INLINE vf load(const float *x) {
    return (vf) * (const vf_memory *)x;
}

INLINE void store(float *x, vf v) {
    *(vf_memory *)x = (vf_memory)v;
}

INLINE vd load_d(const double *x) {
    return (vd) * (const vd_memory *)x;
}

INLINE void store_d(double *x, vd v) {
    *(vd_memory *)x = (vd_memory)v;
}

INLINE vf all(float x) {
    return x - (vf){0};
}

#if LLI_BYTES == 64
#include "kernels/simd/vector64.h"
#else

#if LLI_BYTES == 32
INLINE vf load_halves(const float *low, const float *high) {
    return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
#endif

INLINE vi load_i(const int32_t *x) {
    return (vi) * (const vi_memory *)x;
}

/* H integers, exactly. */
INLINE vd load_integers(const int32_t *x) {
#if LLI_BYTES == 32
    return (vd)_mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i_u *)x));
#else
    return __builtin_convertvector((vhi) * (const vhi_memory *)x, vd);
#endif
}

INLINE vd load_widened(const float *x) {
#if LLI_BYTES == 32
    return (vd)_mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    return __builtin_convertvector((vh) * (const vh_memory *)x, vd);
#endif
}

/* 2 H doubles as W floats. */
INLINE vf narrow(vd low, vd high) {
#if LLI_BYTES == 32
    return (vf)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
#else
    vh l = __builtin_convertvector(low, vh), h = __builtin_convertvector(high, vh);
    return __builtin_shufflevector(l, h, 0, 1, 2, 3);
#endif
}

INLINE void store4(float *x, v4 v) {
    *(v4_memory *)x = (v4_memory)v;
}

INLINE void store_i(int32_t *x, vi v) {
    *(vi_memory *)x = (vi_memory)v;
}

INLINE vd all_d(double x) {
    return x - (vd){0};
}

#if LLI_BYTES == 32
#define LANES(type) ((type){0, 1, 2, 3, 4, 5, 6, 7})
#define LANES_D(type) ((type){0, 1, 2, 3})
#else
#define LANES(type) ((type){0, 1, 2, 3})
#define LANES_D(type) ((type){0, 1})
#endif

INLINE vf choose(vi mask, vf yes, vf no) {
#if LLI_BYTES == 32
    return (vf)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)mask);
#else
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
#endif
}

/* Lanes whose sign bit is set, a bit each. */
INLINE unsigned lane_bits(vi x) {
#if LLI_BYTES == 32
    return (unsigned)_mm256_movemask_ps((__m256)x);
#elif defined(__SSE2__)
    return (unsigned)_mm_movemask_ps((__m128)x);
#else
    unsigned bits = 0;
    for (int i = 0; i < W; i++)
        bits |= (unsigned)(x[i] < 0) << i;
    return bits;
#endif
}

/* x where the mask is set, else 0. As an intrinsic, since gcc turns the plain form into scalar code where SSE2 has no 64-bit blend. */
INLINE vd keep_d(vl mask, vd x) {
#if LLI_BYTES == 32
    return (vd)_mm256_and_pd((__m256d)mask, (__m256d)x);
#elif defined(__SSE2__)
    return (vd)_mm_and_pd((__m128d)mask, (__m128d)x);
#else
    return (vd)(mask & (vl)x);
#endif
}

/* a * b + c: one rounding where the level has FMA, two where it has not. Never left to the compiler. */
INLINE vf fma_f(vf a, vf b, vf c) {
#if defined(LLI_FMA)
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

INLINE vd fma_d(vd a, vd b, vd c) {
#if defined(LLI_FMA)
    return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
}

/* Product of the low 32 bits of each 64-bit lane; the high bits are ignored. */
INLINE vq multiply_low(vq a, vq b) {
#if LLI_BYTES == 32
    return (vq)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vq)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

INLINE vf square_root(vf x) {
#if LLI_BYTES == 32
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
    return (vf)_mm_sqrt_ps((__m128)x);
#else
    for (int i = 0; i < W; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

/* a > b ? a : b, so b where one is NaN. */
INLINE vf larger(vf a, vf b) {
#if LLI_BYTES == 32
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return choose(a > b, a, b);
#endif
}

/* The less and the larger of two vectors of integers. */
#if LLI_BYTES == 32
#define INTEGER_EXTREME(name, intrinsic, type, sign)  \
    INLINE vi name(vi a, vi b) {                      \
        return (vi)intrinsic((__m256i)a, (__m256i)b); \
    }
#else
#define INTEGER_EXTREME(name, intrinsic, type, sign)                 \
    INLINE vi name(vi a, vi b) {                                     \
        return (vi)choose((vi)((type)a sign(type) b), (vf)a, (vf)b); \
    }
#endif
INTEGER_EXTREME(least_unsigned, _mm256_min_epu32, vu, <)
INTEGER_EXTREME(most_unsigned, _mm256_max_epu32, vu, >)
INTEGER_EXTREME(least_signed, _mm256_min_epi32, vi, <)
INTEGER_EXTREME(most_signed, _mm256_max_epi32, vi, >)

INLINE vf smaller(vf a, vf b) {
#if LLI_BYTES == 32
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return choose(a < b, a, b);
#endif
}

INLINE vd larger_d(vd a, vd b) {
#if LLI_BYTES == 32
    return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE2__)
    return (vd)_mm_max_pd((__m128d)a, (__m128d)b);
#else
    return keep_d(a > b, a) + keep_d(~(a > b), b);
#endif
}

/* Sums over lanes. First the halves of a wide vector, then (x0 + x2) + (x1 + x3): one order for one vector and for four at once. */
INLINE v4 fold(vf x) {
#if LLI_BYTES == 32
    return __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
    return x;
#endif
}

INLINE v4 sum_lanes4(vf a, vf b, vf c, vf d) {
    v4 w = fold(a), x = fold(b), y = fold(c), z = fold(d);
    v4 wx = __builtin_shufflevector(w, x, 0, 4, 1, 5) + __builtin_shufflevector(w, x, 2, 6, 3, 7);
    v4 yz = __builtin_shufflevector(y, z, 0, 4, 1, 5) + __builtin_shufflevector(y, z, 2, 6, 3, 7);
    return __builtin_shufflevector(wx, yz, 0, 1, 4, 5) + __builtin_shufflevector(wx, yz, 2, 3, 6, 7);
}

INLINE float sum_lanes(vf x) {
    v4 w = fold(x);
    return (w[0] + w[2]) + (w[1] + w[3]);
}

/* Lane b of x[a] <-> lane a of x[b]. */
INLINE void transpose(vf x[W]) {
#if LLI_BYTES == 32
    vf t[W];
    UNROLL
    for (int a = 0; a < W; a += 2) { /* within pairs of vectors */
        t[a] = __builtin_shufflevector(x[a], x[a + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[a + 1] = __builtin_shufflevector(x[a], x[a + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    UNROLL
    for (int b = 0; b < W / 2; b++) { /* of pairs */
        const int a = b < 2 ? b : b + 2;
        x[a] = __builtin_shufflevector(t[a], t[a + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        x[a + 2] = __builtin_shufflevector(t[a], t[a + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    UNROLL
    for (int a = 0; a < W / 2; a++) { /* of halves */
        vf low = __builtin_shufflevector(x[a], x[a + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        x[a + 4] = __builtin_shufflevector(x[a], x[a + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        x[a] = low;
    }
#else
    vf p = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5), q = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    vf r = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7), s = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    x[0] = __builtin_shufflevector(p, q, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(p, q, 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(r, s, 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(r, s, 2, 3, 6, 7);
#endif
}

INLINE float largest_lane(vf x) {
#if LLI_BYTES == 32
    x = larger(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
    x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
    x = larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
#else
    x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
    x = larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
#endif
    return x[0];
}

#endif /* LLI_BYTES */
#endif
