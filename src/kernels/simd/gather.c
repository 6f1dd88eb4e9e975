/* SPDX-License-Identifier: MIT */
/* Rows of features, f32 or f16, to augmented f32 rows. Rows come in any order, so they are prefetched. */
#include "base/half.h"
#include "base/status.h"
#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum { LINE = 64, AHEAD_BYTES = 1024 };

typedef uint16_t halves __attribute__((vector_size(2 * W), aligned(2), may_alias));

/* Exact for every pattern. Without the instruction: the bits of a half, moved into place, are its value times 2^-112; subnormals come out
 * right as well. An exponent of 31 becomes 255. */
INLINE vf widen(const uint16_t *x) {
#if defined(LLI_FMA)
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)x));
#else
    vu h = __builtin_convertvector(*(const halves *)x, vu);
    vf magnitude = (vf)((h & 0x7fffu) << 13) * 0x1p112f;
    vu special = (vu)((vi)(h & 0x7c00u) == 0x7c00) & 0x7f800000u;
    return (vf)((vu)magnitude | special | (h & 0x8000u) << 16);
#endif
}

/* The last vector overlaps the one before, so that nothing beyond the row is read. */
INLINE void copy_half(float *out, const uint16_t *x, int64_t D) {
    int64_t j = 0;
    if (D < W) {
        for (; j < D; j++)
            out[j] = lli_half_to_float(x[j]);
        return;
    }
    for (; j + W <= D; j += W)
        store(out + j, widen(x + j));
    store(out + D - W, widen(x + D - W));
}

INLINE void copy(float *out, const float *x, int64_t D) {
    int64_t j = 0;
    if (D < W) {
        for (; j < D; j++)
            out[j] = x[j];
        return;
    }
    for (; j + W <= D; j += W)
        store(out + j, load(x + j));
    store(out + D - W, load(x + D - W));
}

void LEVEL(gather)(float *z, const void *features, bool half, const int64_t *rows, int64_t first, int64_t n, int64_t D, int64_t ld) {
    const size_t bytes = (size_t)D * (half ? sizeof(uint16_t) : sizeof(float));
    const int64_t ahead = LLI_MAX(1, (int64_t)(AHEAD_BYTES / bytes));
    for (int64_t i = 0; i < n; i++) {
        const char *row = (const char *)features + (size_t)(rows ? rows[i] : first + i) * bytes;
        if (rows && i + ahead < n) {
            const char *later = (const char *)features + (size_t)rows[i + ahead] * bytes;
            for (size_t b = 0; b < bytes; b += LINE)
                __builtin_prefetch(later + b);
        }
        float *out = z + i * ld;
        if (half)
            copy_half(out, (const uint16_t *)(const void *)row, D);
        else
            copy(out, (const float *)(const void *)row, D);
        out[D] = 1;
        for (int64_t j = D + 1; j < ld; j++)
            out[j] = 0;
    }
}
