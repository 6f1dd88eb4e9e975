/* SPDX-License-Identifier: MIT */
/* A cut of a confidence with a promise: exact tests on rows that did not propose it. Equations: docs/math/certificates.md. */
#ifndef LLI_METRICS_CERTIFY_H
#define LLI_METRICS_CERTIFY_H

#include "base/context.h"

enum { LLI_CERTIFY_CUTS = 20 };

typedef enum lli_certify_rule {
    LLI_CERTIFY_SEQUENCE,  /* in an order learnt on the proposing rows, each at full delta, until the first that fails */
    LLI_CERTIFY_BONFERRONI /* all, each at delta divided by their number */
} lli_certify_rule;

/* What is promised of one cut; NaN where it is not. Several promises share delta equally. */
typedef struct lli_certify_promise {
    double risk;     /* mean loss of the answered rows at most this, in (0,1) */
    double coverage; /* share of answered rows at least this, in (0,1) */
    double out;      /* share of answered out-of-distribution rows at most this, in (0,1) */
    double delta;    /* in (0,1) */
    lli_certify_rule rule;
} lli_certify_promise;

typedef struct lli_certify_rows {
    int64_t n;
    const double *confidence; /* [n] without NaN; a row is answered when confidence >= cut */
    const double *loss;       /* [n] in [0,1]: 1 for an error */
    const uint8_t *proposes;  /* [n] 1: the row proposes cuts, 0: it tests them */
    bool whole;               /* every loss is 0 or 1: exact binomial tests, else Hoeffding-Bentkus */
    const double *out;        /* [n_out] confidences of out-of-distribution rows; all of them test */
    int64_t n_out;
} lli_certify_rows;

/* A proposed cut on the testing rows, in the order of the tests. */
typedef struct lli_certify_test {
    double cut;
    int64_t accepted, accepted_out;
    double loss;                            /* sum over the answered rows: the number of errors where losses are whole */
    double log_risk, log_coverage, log_out; /* log p-values; NaN where not promised */
    bool tested, passed;
    int64_t proposed_accepted; /* on the proposing rows */
    double proposed_order;     /* what the order goes by: the largest log p-value there */
} lli_certify_test;

typedef struct lli_certify_result {
    bool certified;
    int64_t winner;         /* place in test, -1: none */
    int64_t n, n_proposing; /* testing and proposing rows */
    int64_t cuts;
    lli_certify_test test[LLI_CERTIFY_CUTS];
    double level;   /* at which each test of each promise was made */
    double log_p;   /* the largest p-value of the winner's promises */
    double bound;   /* upper bound of the winner's risk at this level, shown and not promised; NaN for losses that are not whole */
    int64_t needed; /* answered rows without an error that the risk would need at least; 0 without one */
} lli_certify_result;

/* A seeded third of n rows, floor(n/3) of them. */
ll_status lli_certify_split(ll_context *ctx, uint8_t *proposes /* [n] */, int64_t n, uint64_t seed) LL_CHECK_RESULT;

ll_status lli_certify_run(ll_context *ctx, lli_certify_result *out, const lli_certify_rows *rows,
                          const lli_certify_promise *promise) LL_CHECK_RESULT;

/* log of the p-value of "the risk is above r" after losses that sum to `loss` on m rows. */
double lli_certify_log_p(double loss, int64_t m, double r, bool whole);
/* The least m with (1 - r)^m <= delta. */
int64_t lli_certify_needed(double r, double delta);

/* Selection with guaranteed risk (Geifman and El-Yaniv), for comparison: it searches along a path that the data choose, so its promise is
 * not proved. On all rows, whose losses are whole. */
typedef struct lli_certify_sgr {
    bool found;
    double cut, bound;
    int64_t accepted, errors;
} lli_certify_sgr;

ll_status lli_certify_sgr_run(ll_context *ctx, lli_certify_sgr *out, const double *confidence, const double *loss, int64_t n, double risk,
                              double delta) LL_CHECK_RESULT;

#endif
