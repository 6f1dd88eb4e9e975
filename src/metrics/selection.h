/* SPDX-License-Identifier: MIT */
/* Which of many trials is the one to take. docs/math/selection.md */
#ifndef LLI_METRICS_SELECTION_H
#define LLI_METRICS_SELECTION_H

#include "base/context.h"

typedef enum lli_selection_rule {
    LLI_SELECTION_AURC,     /* least AURC of sr and std: the paper's tables */
    LLI_SELECTION_AURC_HQ,  /* of sr, std and hq: its figures */
    LLI_SELECTION_AUROC,    /* largest AUROC of sr and std: its out-of-distribution tables */
    LLI_SELECTION_AUROC_HQ, /* of sr, std and hq: that of CIFAR-100, the only one that shows hq */
} lli_selection_rule;

typedef struct lli_selection {
    lli_selection_rule rule;
    ll_split chooses, reports;
} lli_selection;

/* LL_ERR_USAGE for unknown words, and for rows that may not choose. NULL words = honest, aurc. */
ll_status lli_selection_parse(lli_selection *out, ll_context *ctx, const char *protocol, const char *by) LL_CHECK_RESULT;

double lli_selection_aurc(const ll_score *score, bool hq);                       /* least of sr, std (and hq); NaN if none is defined */
double lli_selection_largest(const double values[LL_CONFIDENCE_COUNT], bool hq); /* of sr, std (and hq); NaN if none is defined */
/* What is made least: the AURC, or minus the AUROC. Infinite where it is undefined, and for a trial that diverged. */
double lli_selection_value(const lli_selection *selection, const ll_trial *trial);
/* Index of the least value, the first of equal ones; of `method` only, NULL = all. -1 if there is none. */
int64_t lli_selection_best(const lli_selection *selection, const ll_trial *trials, int64_t count, const char *method);

/* Of the trials of one method: the first, and what lli_selection_best says. */
typedef struct lli_selection_peers {
    int64_t first, best;
} lli_selection_peers;

/* For every trial, those of its method, whatever the number of methods in time n log n. */
ll_status lli_selection_group(lli_selection_peers *out, /* [count] */ ll_context *ctx, const lli_selection *selection,
                              const ll_trial *trials, int64_t count) LL_CHECK_RESULT;
/* Rising value; equal ones keep their order. */
ll_status lli_selection_order(int64_t *out, /* [count] */ ll_context *ctx, const lli_selection *selection, const ll_trial *trials,
                              int64_t count) LL_CHECK_RESULT;

/* A number of the paper's tables by its name: accuracy nll ece; KIND_CONFIDENCE, min_aurc, max_KIND and ratio_KIND, where KIND is aurc,
 * auroc, aupr_in or aupr_out. min_aurc is over sr and std, max_KIND over the confidences that the paper's table shows: sr, std and hq, but
 * for auroc hq only with auroc_hq; ratio_KIND divides it by KIND_sr of `point`. NaN where it is undefined, or unknown. */
double lli_selection_metric(const char *name, const ll_score *score, const ll_score *point, bool auroc_hq);
/* Mean and standard deviation (n - 1) over seeds; the latter NaN for one. */
void lli_selection_spread(double *mean, double *spread, const double *values, /* [n] */ int64_t n);

#endif
