/* SPDX-License-Identifier: MIT */
/* The least value of a function of one number, by golden section: each step keeps .618 of the interval and evaluates once. */
#ifndef LLI_BASE_GOLDEN_H
#define LLI_BASE_GOLDEN_H

#include "base/context.h"

/* May be infinite; NaN counts as such. */
typedef ll_status lli_golden_function(ll_context *ctx, void *arg, double *value, double x);

/* The best x of those tried, and its value. In [low,high], until the interval is as short as `tolerance`. Of a function with several
 * minima it finds one. */
ll_status lli_golden_run(ll_context *ctx, double *x, double *value, lli_golden_function *function, void *arg, double low, double high,
                         double tolerance) LL_CHECK_RESULT;

#endif
