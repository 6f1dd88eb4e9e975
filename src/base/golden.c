/* SPDX-License-Identifier: MIT */
/* Golden section: the two inner points of an interval lie so that the one that stays is an inner point of the next. */
#include "base/golden.h"

#include <math.h>

static ll_status evaluate(ll_context *ctx, double *out, lli_golden_function *function, void *arg, double x, double *best, double *value) {
    LLI_TRY(function(ctx, arg, out, x));
    if (isnan(*out))
        *out = INFINITY;
    if (*out < *value) {
        *value = *out;
        *best = x;
    }
    return LL_OK;
}

ll_status lli_golden_run(ll_context *ctx, double *x, double *value, lli_golden_function *function, void *arg, double low, double high,
                         double tolerance) {
    const double share = (sqrt(5) - 1) / 2;
    double left = high - share * (high - low), right = low + share * (high - low), f_left, f_right;
    *x = right;
    *value = INFINITY;
    LLI_TRY(evaluate(ctx, &f_left, function, arg, left, x, value));
    LLI_TRY(evaluate(ctx, &f_right, function, arg, right, x, value));
    while (high - low > tolerance) {
        if (f_left < f_right) {
            high = right;
            right = left;
            f_right = f_left;
            left = high - share * (high - low);
            LLI_TRY(evaluate(ctx, &f_left, function, arg, left, x, value));
        } else {
            low = left;
            left = right;
            f_left = f_right;
            right = low + share * (high - low);
            LLI_TRY(evaluate(ctx, &f_right, function, arg, right, x, value));
        }
    }
    return LL_OK;
}
