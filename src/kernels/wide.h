/* SPDX-License-Identifier: MIT */
/* The softmax of training where there are very many classes, in steps between which the classes of a row may lie apart, each process with
 * its own: the largest logit of all, then the sum of exponentials in fixed point, then the residuals. A maximum and a sum of integers do
 * not depend on an order, so the bits are the same however the classes are divided. docs/math/model.md */
#ifndef LLI_KERNELS_WIDE_H
#define LLI_KERNELS_WIDE_H

#include "base/status.h"

enum { LLI_WIDE_CLASSES = 4096 }; /* from here on */

/* Of a row, also where its classes are divided over ranks. */
typedef struct lli_wide_row {
    float top;     /* the largest logit, infinite if one is not finite */
    int64_t total; /* sum of round(exp(f - top) 2^power) */
    float gap;     /* f_y - top */
} lli_wide_row;

typedef struct lli_wide {
    /* Of the K classes that are here; -inf if there are none. A row has room for a multiple of 16. */
    float (*top)(const float *row, int64_t K);
    /* In place f -> exp(f - top). Returns their sum. */
    int64_t (*sum)(float *row, float top, int64_t K, int power);
    /* In place exp(f - top) -> w (p - 1{k = label}), columns K..ldk-1 -> 0. label: among those here, or -1. Returns -w log p(y); not
     * finite if a logit is not. */
    double (*residual)(float *row, const lli_wide_row *of, float weight, int64_t label, int64_t K, int64_t ldk, int power);
} lli_wide;

/* Of all K classes: 44, less where their sum could leave an int64_t. */
static inline int lli_wide_power(int64_t K) {
    int power = 44;
    while (K >= (int64_t)1 << (62 - power))
        power--;
    return power;
}

/* A row whose classes are all here. */
static inline double lli_wide_softmax(const lli_wide *wide, float *row, int32_t label, float weight, int64_t K, int64_t ldk) {
    int power = lli_wide_power(K);
    lli_wide_row of = {.top = wide->top(row, K)};
    of.gap = row[label] - of.top;
    of.total = wide->sum(row, of.top, K, power);
    return wide->residual(row, &of, weight, label, K, ldk, power);
}

#endif
