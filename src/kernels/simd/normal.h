/* SPDX-License-Identifier: MIT */
/* The two halves of Box-Muller on random words: the radius and the direction of a pair of normals. docs/math/random.md */
#ifndef LLI_KERNELS_SIMD_NORMAL_H
#define LLI_KERNELS_SIMD_NORMAL_H

#include "kernels/simd/elementary.h"

/* (c + 1/2) 2^-32, rounded once: both products and the inner sum are exact. */
INLINE vf unit(vu c) {
    vf high = __builtin_convertvector((vi)(c >> 16), vf), low = __builtin_convertvector((vi)(c & 0xffffu), vf);
    return fma_f(high, all(0x1p-16f), fma_f(low, all(0x1p-32f), all(0x1p-33f)));
}

/* sqrt(-2 log u), u = (c + 1/2) 2^-32. Above .7 log(1 - v) is taken of v = 1 - u, which the complement of c gives without cancellation. */
INLINE vf radius_start(vf *e, vu c) {
    vi above = (vi)(c > 0xb4000000u);
    vf x = unit(c ^ (vu)above), f, exponent = split_f(&f, x);
    f = choose(above, -x, f);
    *e = (vf)((vi)exponent & ~above);
    return f / (f + 2.0f);
}

INLINE vf radius_end(vf s, vf e) {
    return square_root(-2.0f * fma_f(e, all(0x1.62e43p-1f), log1p_series_f(s)));
}

INLINE vf radius(vu c) {
    vf e, s = radius_start(&e, c);
    return radius_end(s, e);
}

/* cos and sin of 2 pi (c + 1/2) 2^-32: the nearest quarter turn comes from the top bits, exactly. */
INLINE void direction(vf *cosine, vf *sine, vu c) {
    vu quarter = (c + 0x20000000u) >> 30;
    vf rest = __builtin_convertvector((vi)(c - (quarter << 30)), vf) + 0.5f, s, t;
    sin_cos_f(&s, &t, rest * 0x1.921fb6p-30f);
    vi odd = (vi)(quarter & 1) == 1;
    *cosine = (vf)((vu)choose(odd, s, t) ^ (quarter + 1) >> 1 << 31);
    *sine = (vf)((vu)choose(odd, t, s) ^ quarter >> 1 << 31);
}

#endif
