/* SPDX-License-Identifier: MIT */
/* IEEE half precision and bfloat16, one number at a time, every bit pattern. The kernels convert rows. */
#ifndef LLI_BASE_HALF_H
#define LLI_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float lli_half_bits_to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t lli_half_float_to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float lli_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
    if (exponent == 31)
        return lli_half_bits_to_float(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24, exact in f32 */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return lli_half_bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Rounds to nearest, ties to even; overflows to infinity; keeps NaN. */
static inline uint16_t lli_half_from_float(float f) {
    uint32_t bits = lli_half_float_to_bits(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) /* 65520 and above */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below 2^-14: adding 0.5 aligns the fraction with the half's last place and rounds */
        float aligned = lli_half_bits_to_float(magnitude) + 0.5f;
        return (uint16_t)(sign | (lli_half_float_to_bits(aligned) - 0x3f000000u));
    }
    uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | ((magnitude + 0xc8000fffu + odd) >> 13));
}

static inline float lli_half_from_bfloat(uint16_t b) {
    return lli_half_bits_to_float((uint32_t)b << 16);
}

static inline uint16_t lli_half_to_bfloat(float f) {
    uint32_t bits = lli_half_float_to_bits(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
