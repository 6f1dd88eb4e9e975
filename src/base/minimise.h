/* SPDX-License-Identifier: MIT */
/* L-BFGS for smooth convex functions, with a weak Wolfe line search by bisection. */
#ifndef LLI_BASE_MINIMISE_H
#define LLI_BASE_MINIMISE_H

#include "base/context.h"

/* Value and gradient [n] at x [n]. `norm` is that of the gradient which the tolerance is about: where x are other coordinates than the
 * caller's own, it is not the one of g. */
typedef ll_status lli_minimise_function(ll_context *ctx, void *arg, double *value, double *norm, double *g, const double *x);

/* *sum = <a,b>. */
typedef ll_status lli_minimise_dot(ll_context *ctx, void *arg, double *sum, const double *a, const double *b);

typedef struct lli_minimise {
    int64_t n;
    int64_t all;           /* of all ranks, where each has some of the coordinates; 0: n */
    lli_minimise_dot *dot; /* over all ranks; NULL: in order */
    lli_minimise_function *function;
    void *arg;
    double tolerance; /* on the norm */
    int64_t iterations_max;
    double noise;     /* relative: values closer than this are the same, and the slope alone decides */
    const char *what; /* of the progress, and "WHAT left the finite numbers" */
    /* The results. */
    double value, norm;
    int64_t iterations;
} lli_minimise;

/* From x to the minimum. The function is called last at the x that is returned. Not converged is no failure; `norm` shows it. */
ll_status lli_minimise_run(ll_context *ctx, lli_minimise *m, double *x) LL_CHECK_RESULT;

#endif
