/* SPDX-License-Identifier: MIT */
/* Sets of classes that hold the true one with a promised probability: split conformal prediction. Equations: docs/math/conformal.md. */
#ifndef LLI_METRICS_CONFORMAL_H
#define LLI_METRICS_CONFORMAL_H

#include "base/context.h"

typedef enum lli_conformal_score {
    LLI_CONFORMAL_LAC, /* 1 - p_y */
    LLI_CONFORMAL_APS, /* p of the classes before y and of y itself, less a random share of p_y */
    LLI_CONFORMAL_RAPS /* the same with a penalty for each class after the fifth */
} lli_conformal_score;

typedef struct lli_conformal_rule {
    lli_conformal_score score;
    double alpha;     /* in (0,1): sets miss the true class at most this often */
    double delta;     /* NaN: on average over calibration rows; else with probability 1 - delta over them */
    bool by_class;    /* a quantile for each class of its own */
    bool allow_empty; /* else the first class is always in */
    uint64_t seed;    /* of APS and RAPS */
} lli_conformal_rule;

typedef struct lli_conformal {
    lli_conformal_rule rule;
    int64_t n, K;
    int64_t rank;     /* of the quantile among the scores of all rows; n + 1: infinite */
    double pooled;    /* the quantile of all rows */
    double *quantile; /* [K]; of LAC minus the least p that is in */
    int64_t *class_n; /* [K] calibration rows of the class */
    bool *few;        /* [K] by_class: too few rows, the pooled quantile stands in */
} lli_conformal;

/* probs f16, f32 or f64 [n,K], truth [n], both checked. */
ll_status lli_conformal_fit(ll_context *ctx, lli_conformal *out, const ll_array *probs, const int32_t *truth,
                            const lli_conformal_rule *rule) LL_CHECK_RESULT;
void lli_conformal_release(lli_conformal *c);

/* The place of the quantile among n sorted scores, from 1; n + 1: infinite. */
int64_t lli_conformal_rank(int64_t n, double alpha, double delta);
/* The least n whose quantile is finite. */
int64_t lli_conformal_needed(double alpha, double delta);

/* Bytes of one set: bit k % 8 of byte k / 8 is class k. */
static inline int64_t lli_conformal_bytes(int64_t K) {
    return (K + 7) / 8;
}
static inline bool lli_conformal_has(const uint8_t *set, int64_t k) {
    return set[k / 8] >> (k % 8) & 1;
}

/* Sets of new rows, probs [n,K]: set [n,bytes], size [n]. `row` is the number of the first, which its random share goes by. */
ll_status lli_conformal_sets(ll_context *ctx, const lli_conformal *c, const ll_array *probs, int64_t row, uint8_t *set,
                             int32_t *size) LL_CHECK_RESULT;

#endif
