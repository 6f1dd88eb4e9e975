/* SPDX-License-Identifier: MIT */
/* exp, log, sine and cosine on vectors. Accuracy is stated at each function and tested in tests/kernels/test_elementary.c. */
#ifndef LLI_KERNELS_SIMD_ELEMENTARY_H
#define LLI_KERNELS_SIMD_ELEMENTARY_H

#include "kernels/simd/vector.h"

/* 2^power exp x for x <= 0 where that is at least 2^-125, exact at 0, for `count` vectors in step, since each operation waits for the one
 * before. exp x = 2^n exp r, n = round(x / ln 2), |r| <= ln 2 / 2; with 1.5 * 2^23 added, the last bits of a float are n, and these go
 * straight into the exponent, `power` with them. exp r = 1 + r + r^2 q(r), q of degree 3, the best there is: relative error 1e-7 before
 * rounding, 2e-7 after, and 3e-9 |x| of the rounded ln 2. NaN stays NaN. out may be x. */
INLINE void exp_times(vf *out, const vf *x, const int power, const int count) {
    const vf magic = all(0x1.8p23f + (float)power);
    vf shifted[4], r[4], q[4];
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

/* exp x for x <= 0 in place, and exp -86 = 4.5e-38 below that, so that nothing is subnormal. NaN stays NaN. */
INLINE void exp_each(vf *x, const int count) {
    UNROLL
    for (int i = 0; i < count; i++)
        x[i] = larger(all(-86), x[i]);
    exp_times(x, x, 0, count);
}

INLINE vf exp_f(vf x) {
    exp_each(&x, 1);
    return x;
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
