/* SPDX-License-Identifier: MIT */
/* Chains judged by what they predict on many rows. */
#ifndef LLI_METRICS_DIAGNOSIS_H
#define LLI_METRICS_DIAGNOSIS_H

#include "metrics/mixing.h"

/* Chains differ where more than this share of the rows has an R-hat above the limit. */
#define LLI_DIAGNOSIS_SHARE 0.05
/* Members repeat each other where the median bulk ESS is below this share of S. */
#define LLI_DIAGNOSIS_WORTH 0.25

struct ll_diagnosis {
    ll_diagnosis_info info;
    char *method;
    int64_t *row;               /* [rows] */
    double *rhat, *bulk, *tail; /* [rows] */
    double *draws;              /* [rows,members] */
};

/* What a file holds of a diagnosis: its summary, and the draws of a few rows. */
typedef struct lli_diagnosis_traces {
    ll_diagnosis_info info; /* its method is the text below */
    char *method;
    int64_t count;
    int64_t *row;  /* [count] */
    double *draws; /* [count,members], chain after chain */
} lli_diagnosis_traces;

/* Takes row [rows] and draws [rows,members] over, also on failure. */
ll_status lli_diagnosis_new(ll_diagnosis **out, ll_context *ctx, const char *method, int64_t chains, int64_t members, int64_t rows,
                            int64_t among, int64_t *row, double *draws) LL_CHECK_RESULT;

#endif
