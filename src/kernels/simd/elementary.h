/* SPDX-License-Identifier: MIT */
/* exp, log, sine and cosine on vectors. Accuracy is stated at each function and tested in tests/kernels/test_elementary.c. */
#ifndef LLI_KERNELS_SIMD_ELEMENTARY_H
#define LLI_KERNELS_SIMD_ELEMENTARY_H

#include "kernels/simd/vector.h"

/* exp x = 2^n exp r, n = round(x / ln 2), |r| <= ln 2 / 2. With 1.5 * 2^23 added, the last bits of a float are n.
 * exp r = 1 + r + r^2 q(r), q interpolates at Chebyshev nodes: degree 6 in all, relative error 1e-8 before rounding.
 * For x <= 0: within 2 ulp down to -87, exactly 0 below. NaN, whose last bits are 0, stays NaN.
 * In place, for `count` vectors in step, since each operation waits for the one before. */
INLINE void exp_each(vf *x, const int count) {
    const vf magic = all(0x1.8p23f);
    vf shifted[4], r[4], q[4];
    UNROLL
    for (int i = 0; i < count; i++)
        shifted[i] = fma_f(x[i], all(0x1.715476p+0f), magic);
    UNROLL
    for (int i = 0; i < count; i++) {
        vf n = shifted[i] - magic;
        r[i] = fma_f(n, all(-0x1.62e4p-1f), x[i]); /* ln 2 in two parts: n times the first is exact */
        r[i] = fma_f(n, all(-0x1.7f7d1cp-20f), r[i]);
        q[i] = all(0x1.6d10fcp-10f);
    }
    static const float coefficient[] = {0x1.120b62p-7f, 0x1.55551ap-5f, 0x1.5554dep-3f, 0.5f};
    UNROLL
    for (int c = 0; c < 4; c++)
        UNROLL
        for (int i = 0; i < count; i++)
            q[i] = fma_f(q[i], r[i], all(coefficient[c]));
    UNROLL
    for (int i = 0; i < count; i++) {
        vf p = fma_f(q[i], r[i] * r[i], r[i]) + 1.0f;
        x[i] = (vf)(((vu)p + ((vu)shifted[i] << 23)) & ~(vu)(x[i] < all(-87.0f))); /* p 2^n: n goes straight into the exponent */
    }
}

INLINE vf exp_f(vf x) {
    exp_each(&x, 1);
    return x;
}

/* 2^100 exp x for -150 <= x <= 0, exact at 0, for `count` vectors in step, since each operation waits for the one before. The same way,
 * with q of degree 3, the best there is: relative error 1e-7 before rounding, 2e-7 after. The 100 comes with the last bits, and these go
 * straight into the exponent. NaN stays NaN. */
INLINE void exp_odds(vf *out, const vf *x, const int count) {
    const vf magic = all(0x1.8p23f + 100);
    vf shifted[2], r[2], q[2];
    UNROLL
    for (int i = 0; i < count; i++)
        shifted[i] = fma_f(x[i], all(0x1.715476p+0f), magic);
#if defined(LLI_FMA)
    UNROLL
    for (int i = 0; i < count; i++)
        r[i] = fma_f(shifted[i] - magic, all(-0x1.62e43p-1f), x[i]); /* the product is exact, ln 2 to 3e-9 */
#else
    for (int i = 0; i < count; i++)
        r[i] = (x[i] - (shifted[i] - magic) * 0x1.62e4p-1f) - (shifted[i] - magic) * 0x1.7f7d1cp-20f;
#endif
    static const float coefficient[] = {0x1.572a4cp-5f, 0x1.55578cp-3f, 0x1.fffdfcp-2f, 1, 1};
    UNROLL
    for (int i = 0; i < count; i++)
        q[i] = all(0x1.10758cp-7f);
    UNROLL
    for (int c = 0; c < 5; c++)
        UNROLL
        for (int i = 0; i < count; i++)
            q[i] = fma_f(q[i], r[i], all(coefficient[c]));
    UNROLL
    for (int i = 0; i < count; i++)
        out[i] = (vf)((vu)q[i] + ((vu)shifted[i] << 23));
}

/* log(1 + f) = 2 artanh s, s = f / (2 + f): for f in [sqrt 1/2 - 1, sqrt 2 - 1], s^2 < .0295 and five terms leave 2e-9.
 * f is not rounded on the way, so the relative error stays small as f -> 0. */
INLINE vf log1p_series_f(vf s) {
    vf s2 = s * s, q = all(2.0f / 9);
    q = fma_f(q, s2, all(2.0f / 7));
    q = fma_f(q, s2, all(2.0f / 5));
    q = fma_f(q, s2, all(2.0f / 3));
    return fma_f(q * s2, s, s + s);
}

INLINE vf log1p_reduced_f(vf f) {
    return log1p_series_f(f / (f + 2.0f));
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

/* The same in f64, ten terms: 2e-17 before rounding. */
INLINE vd log1p_reduced_d(vd f) {
    vd s = f / (f + 2.0), s2 = s * s, q = all_d(2.0 / 21);
    UNROLL
    for (int i = 19; i >= 3; i -= 2)
        q = fma_d(q, s2, all_d(2.0 / i));
    return fma_d(q * s2, s, s + s);
}

/* An exponent as a double. */
INLINE vd exponent_d(vq e) {
    return (vd)(e + (vq)all_d(0x1.8p52)) - 0x1.8p52;
}

/* log x for normal x > 0, within 3 ulp of the largest of log x, log 2 and x - 1 near 1. */
INLINE vd log_d(vd x) {
    vq bits = (vq)x, e = bits - 0x3fe6a09e667f3bcd;
    e = (e >> 52) | ((vq){0} - (e >> 63)) << 12; /* an arithmetic shift, which has no instruction */
    return fma_d(exponent_d(e), all_d(0x1.62e42fefa39efp-1), log1p_reduced_d((vd)(bits - (e << 52)) - 1.0));
}

/* log(1 + x) for finite x > -1, within 4 ulp. With u = 1 + x rounded it is log u and what the rounding lost, relative to u. */
INLINE vd log1p_d(vd x) {
    vd u = 1.0 + x;
    return log_d(u) + (x - (u - 1.0)) / u;
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
