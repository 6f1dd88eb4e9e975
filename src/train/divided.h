/* SPDX-License-Identifier: MIT */
/* The classes of a very wide head, all here or divided among ranks, and sums over them that do not depend on how. */
#ifndef LLI_TRAIN_DIVIDED_H
#define LLI_TRAIN_DIVIDED_H

#include "base/context.h"
#include "base/team.h"

typedef struct lli_divided {
    lli_team *team;            /* NULL: all are here */
    bool wide;                 /* sums are made class by class, and then over the classes in order */
    int64_t all, first, count; /* classes; the first of those here, and their number */
    int64_t most;              /* that a rank has */
    double *own, *values;      /* [most], [size,most] a sum of each class */
} lli_divided;

ll_status lli_divided_init(ll_context *ctx, lli_divided *classes, int64_t K, lli_team *team) LL_CHECK_RESULT;
void lli_divided_release(lli_divided *classes);
/* *sum = <a,b> over all classes; a and b [count,ld] are those here. */
ll_status lli_divided_dot(ll_context *ctx, lli_divided *classes, double *sum, const double *a, const double *b, int64_t ld) LL_CHECK_RESULT;
/* Rows of `floats` floats, one for each of all classes: every rank gets those of the others. */
ll_status lli_divided_collect(ll_context *ctx, const lli_divided *classes, float *rows, int64_t floats) LL_CHECK_RESULT;

#endif
