/* SPDX-License-Identifier: MIT */
/* exp, log, sine and cosine on vectors. Accuracy is stated at each function and tested in tests/kernels/test_elementary.c. */
#ifndef LLI_KERNELS_SIMD_ELEMENTARY_H
#define LLI_KERNELS_SIMD_ELEMENTARY_H

#include "kernels/simd/vector.h"

/* exp x = 2^n exp r, n = round(x / ln 2), |r| <= ln 2 / 2. With 1.5 * 2^23 added, the last bits of a float are n.
 * exp r = 1 + r + r^2 q(r), q interpolates at Chebyshev nodes: degree 6 in all, relative error 1e-8 before rounding.
 * For x <= 0: within 2 ulp down to -87, exactly 0 below. NaN stays NaN. */
INLINE vf exp_f(vf x) {
    const vf magic = all(0x1.8p23f);
    vf shifted = fma_f(x, all(0x1.715476p+0f), magic), n = shifted - magic;
    vf r = fma_f(n, all(-0x1.62e4p-1f), x); /* ln 2 in two parts: n times the first is exact */
    r = fma_f(n, all(-0x1.7f7d1cp-20f), r);
    vf q = all(0x1.6d10fcp-10f);
    q = fma_f(q, r, all(0x1.120b62p-7f));
    q = fma_f(q, r, all(0x1.55551ap-5f));
    q = fma_f(q, r, all(0x1.5554dep-3f));
    q = fma_f(q, r, all(0.5f));
    vf p = fma_f(q, r * r, r) + 1.0f;
    vf power = (vf)(((vi)shifted + 127) << 23);
    return (vf)((vi)(p * power) & ~(x < all(-87.0f)));
}

/* The same in f64, degree 11: relative error 2e-17 before rounding. For x in [-708, 0]: within 2 ulp. */
INLINE vd exp_d(vd x) {
    const vd magic = all_d(0x1.8p52);
    vd shifted = fma_d(x, all_d(0x1.71547652b82fep+0), magic), n = shifted - magic;
    vd r = fma_d(n, all_d(-0x1.62e42fefap-1), x);
    r = fma_d(n, all_d(-0x1.cf79abc9e3b3ap-40), r);
    vd r2 = r * r, even = all_d(0x1.28917c89a43a7p-22), odd = all_d(0x1.af389ecfc4b9cp-26); /* two short chains instead of a long one */
    even = fma_d(even, r2, all_d(0x1.a019b9149a41cp-16));
    odd = fma_d(odd, r2, all_d(0x1.71de0db2f6b19p-19));
    even = fma_d(even, r2, all_d(0x1.6c16c17889ef1p-10));
    odd = fma_d(odd, r2, all_d(0x1.a01a01a7c2efep-13));
    even = fma_d(even, r2, all_d(0x1.5555555553d68p-5));
    odd = fma_d(odd, r2, all_d(0x1.11111111109b5p-7));
    even = fma_d(even, r2, all_d(0.5));
    odd = fma_d(odd, r2, all_d(0x1.5555555555556p-3));
    vd p = fma_d(fma_d(odd, r, even), r2, r) + 1.0;
    return p * (vd)(((vl)shifted + 1023) << 52);
}

/* log(1 + f) = 2 artanh s, s = f / (2 + f): for f in [sqrt 1/2 - 1, sqrt 2 - 1], s^2 < .0295 and five terms leave 2e-9.
 * f is not rounded on the way, so the relative error stays small as f -> 0. */
INLINE vf log1p_reduced_f(vf f) {
    vf s = f / (f + 2.0f), s2 = s * s;
    vf q = all(2.0f / 9);
    q = fma_f(q, s2, all(2.0f / 7));
    q = fma_f(q, s2, all(2.0f / 5));
    q = fma_f(q, s2, all(2.0f / 3));
    return fma_f(q * s2, s, s + s);
}

/* x = 2^e (1 + f) with 1 + f in [sqrt 1/2, sqrt 2), for normal x > 0. */
INLINE vf split_f(vf *f, vf x) {
    vi bits = (vi)x, e = (bits - 0x3f3504f3) >> 23;
    *f = (vf)(bits - (e << 23)) - 1.0f;
    return __builtin_convertvector(e, vf);
}

/* log x for normal x > 0, within 3 ulp. +inf and NaN are not handled: the callers do. */
INLINE vf log_f(vf x) {
    vf f, e = split_f(&f, x);
    return fma_f(e, all(0x1.62e43p-1f), log1p_reduced_f(f));
}

/* log(1 + x) for 0 <= x < 2^52, within 3 ulp. With u = 1 + x = 2^e m rounded, c = what the rounding lost, relative to u. */
INLINE vd log1p_d(vd x) {
    vd u = 1.0 + x, c = (x - (u - 1.0)) / u;
    vq bits = (vq)u, e = (bits - 0x3fe6a09e667f3bcd) >> 52;
    vl direct = u < all_d(0x1.6a09e667f3bcdp+0); /* e = 0: then f = x, unrounded */
    vd f = keep_d(direct, x) + keep_d(~direct, (vd)(bits - (e << 52)) - 1.0);
    c = keep_d(~direct, c);
    vd s = f / (f + 2.0), s2 = s * s, q = all_d(2.0 / 21);
    UNROLL
    for (int i = 19; i >= 3; i -= 2)
        q = fma_d(q, s2, all_d(2.0 / i));
    vd n = (vd)(e + (vq)all_d(0x1.8p52)) - 0x1.8p52; /* e as a double */
    return fma_d(n, all_d(0x1.62e42fefa39efp-1), c + fma_d(q * s2, s, s + s));
}

/* sin and cos of x, |x| <= pi / 4: Taylor, absolute error 1e-7. */
INLINE void sin_cos_f(vf *sine, vf *cosine, vf x) {
    vf x2 = x * x, s = all(1 / 362880.0f), c = all(1 / 40320.0f);
    s = fma_f(s, x2, all(-1 / 5040.0f));
    s = fma_f(s, x2, all(1 / 120.0f));
    s = fma_f(s, x2, all(-1 / 6.0f));
    c = fma_f(c, x2, all(-1 / 720.0f));
    c = fma_f(c, x2, all(1 / 24.0f));
    c = fma_f(c, x2, all(-1 / 2.0f));
    *sine = fma_f(s * x2, x, x);
    *cosine = fma_f(c, x2, all(1.0f));
}

#endif
