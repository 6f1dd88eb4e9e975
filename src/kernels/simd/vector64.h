/* SPDX-License-Identifier: MIT */
/* vector.h for vectors of 64 bytes, AVX-512: the operations that convolutions and matrix products need. */
#ifndef LLI_KERNELS_SIMD_VECTOR64_H
#define LLI_KERNELS_SIMD_VECTOR64_H

INLINE vd load_widened(const float *x) {
    return (vd)_mm512_cvtps_pd(_mm256_loadu_ps(x));
}

/* Lanes whose sign bit is set, a bit each. */
INLINE unsigned lane_bits(vi x) {
    return (unsigned)_mm512_movepi32_mask((__m512i)x);
}

INLINE vf fma_f(vf a, vf b, vf c) {
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

INLINE vf larger(vf a, vf b) {
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}

/* Of each pair of vectors, d apart, the off-diagonal blocks of d x d lanes change places. */
#define LOW_LANE(lane, d) ((lane) & (d) ? 16 + (lane) - (d) : (lane))
#define HIGH_LANE(lane, d) ((lane) & (d) ? 16 + (lane) : (lane) + (d))
#define LANES_OF(f, d)                                                                                                                \
    f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d), f(8, d), f(9, d), f(10, d), f(11, d), f(12, d), f(13, d), \
        f(14, d), f(15, d)
#define EXCHANGE(x, d)                                                                      \
    UNROLL                                                                                  \
    for (int a = 0; a < W; a++)                                                             \
        if (!(a & (d))) {                                                                   \
            vf low = __builtin_shufflevector(x[a], x[a + (d)], LANES_OF(LOW_LANE, d));      \
            x[a + (d)] = __builtin_shufflevector(x[a], x[a + (d)], LANES_OF(HIGH_LANE, d)); \
            x[a] = low;                                                                     \
        }

INLINE void transpose(vf x[W]) {
    EXCHANGE(x, 1)
    EXCHANGE(x, 2)
    EXCHANGE(x, 4)
    EXCHANGE(x, 8)
}

#endif
