/* SPDX-License-Identifier: MIT */
/* Points sorted by confidence and grouped by equal values: the steps at which a threshold may cut. Some points are marked: errors for
 * selective classification, out-of-distribution points for detection. Every ranking metric is a function of these counts alone, so
 * it cannot depend on the order of the input. */
#ifndef LLI_METRICS_CURVE_H
#define LLI_METRICS_CURVE_H

#include "base/context.h"
#include "metrics/sort.h"

typedef struct lli_curve_step {
    double cut;               /* the confidence of the group */
    int64_t accepted, marked; /* points, and marked points, with confidence >= cut */
} lli_curve_step;

typedef struct lli_curve {
    int64_t n, marked;
    int64_t steps;
    lli_curve_step *step; /* [steps], by falling cut */
    lli_sort_item *items; /* [n], once closed by falling confidence, the marked ones last in their group; tag = row << 1 | mark */
    lli_sort_item *scratch;
    int64_t capacity;
} lli_curve;

/* Of the point at place i of a closed curve: its number in the order of adding, and its mark. */
static inline int64_t lli_curve_row(const lli_curve *curve, int64_t i) {
    return curve->items[i].tag >> 1;
}
static inline bool lli_curve_is_marked(const lli_curve *curve, int64_t i) {
    return curve->items[i].tag & 1;
}

/* Room for `capacity` points; filling it again and again allocates nothing more. */
ll_status lli_curve_init(lli_curve *curve, ll_context *ctx, int64_t capacity) LL_CHECK_RESULT;
void lli_curve_release(lli_curve *curve);

void lli_curve_clear(lli_curve *curve);
/* confidence [n] without NaN. mark [n] is 0 or 1 each; NULL = all are `all`. `falling`: the numbers are tails, less = more sure. */
void lli_curve_add(lli_curve *curve, const double *confidence, int64_t n, bool falling, const uint8_t *mark, bool all);
/* Sorts and groups what was added. Fails only when cancelled: this is what takes the time of every metric. */
ll_status lli_curve_close(ll_context *ctx, lli_curve *curve) LL_CHECK_RESULT;

/* The chance that an unmarked point has more confidence than a marked one, ties worth 1/2. NaN without both kinds. */
double lli_curve_auroc(const lli_curve *curve);

/* Points and marked points of group i alone. */
int64_t lli_curve_size(const lli_curve *curve, int64_t i);
int64_t lli_curve_marked(const lli_curve *curve, int64_t i);

#endif
