/* SPDX-License-Identifier: MIT */
/* The mean over members in logarithms, in f64, for one row: exact for any gap between logits. What sums of probabilities cannot hold, the
 * tails of saturated rows above all, is read from here. docs/math/confidence.md */
#ifndef LLI_PREDICT_LOGMEAN_H
#define LLI_PREDICT_LOGMEAN_H

#include "predict/verdict.h"

/* A row whose tail is below this is saturated: its verdict is made in logarithms. So is p of a true class below it. */
#define LLI_LOGMEAN_LEAST 1e-30
#define LLI_LOGMEAN_LEAST_LOG (-69.077552789821371)

/* log sum w exp(x), term by term. */
typedef struct lli_logsum {
    double peak; /* the largest x */
    double sum;  /* sum w exp(x - peak); 0: none so far */
} lli_logsum;

void lli_logmean_add_term(lli_logsum *s, double x, double weight);
double lli_logmean_log_sum(const lli_logsum *s, double weight); /* of the sum / weight */

/* Spread over members of the tail of their common top class, in units of exp(scale). */
typedef struct lli_logspread {
    double scale;         /* the largest log tail */
    double first;         /* tail of the first member */
    double shift, square; /* sum w d, sum w d^2, d = tail - first */
    double low, high;     /* extremes of d */
} lli_logspread;

typedef struct lli_logmean {
    int64_t K, members;
    double weight;   /* sum w */
    lli_logsum *sum; /* [K] of log p */
    double *first;   /* [K] log p of the first member that gives the class any */
    double *moved;   /* [K] sum w (exp(log p - peak) - exp(first - peak)), which keeps its digits where members are close */
    double *cross;   /* [K] sum w exp(log p - peak) (log p - first) */
    lli_logspread spread;
} lli_logmean;

enum { LLI_LOGMEAN_DOUBLES = 5 };                                    /* of workspace for a class */
void lli_logmean_init(lli_logmean *m, int64_t K, double *workspace); /* [LLI_LOGMEAN_DOUBLES,K], which it borrows */
void lli_logmean_clear(lli_logmean *m);
/* A member: log p [K], and log(1 - p_top). A log p of -inf is a probability of 0. */
void lli_logmean_add(lli_logmean *m, const double *logp, double logtail, double weight);

double lli_logmean_log(const lli_logmean *m, int64_t k); /* log p_hat_k */
/* H(p_hat) - mean of H(p_i); exactly 0 where members are the same. */
double lli_logmean_information(const lli_logmean *m);
/* The parts of a verdict that a saturated row cannot have from sums of probabilities. v->label is the top class of every member. */
void lli_logmean_verdict(lli_verdict *v, const lli_logmean *m);

/* logits -> log p, with log(1 - p_top) beside; returns the top class, the lowest index on ties. logp may be the logits. */
int64_t lli_logmean_softmax(double *logp, double *logtail, const double *logits, int64_t K);

#endif
