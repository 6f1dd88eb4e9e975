/* SPDX-License-Identifier: MIT */
/* A calibration: how it was found, and its numbers. */
#ifndef LLI_CALIBRATE_CALIBRATE_H
#define LLI_CALIBRATE_CALIBRATE_H

#include "base/hash.h"
#include "calibrate/evidence.h"

struct ll_calibration {
    ll_calibration_info info;
    double *parameters;                                        /* [2,K] scale, then shift; owned */
    char rows_hash[LLI_HASH_TEXT], labels_hash[LLI_HASH_TEXT]; /* of the rows it was fitted on; "" if unknown */
};

/* Fits to rows that are checked. */
ll_status lli_calibrate_fit(ll_calibration **out, ll_context *ctx, const lli_evidence *e, const ll_calibrate_options *o) LL_CHECK_RESULT;

/* Someone else's outputs, [N,K] or [S,N,K], as rows of pooled log-probabilities; logits of one member stay as they are. */
typedef struct lli_calibrate_outputs {
    ll_array array;
    bool logits;
    int64_t S, N, K;
    double least;  /* what a probability of 0 counts as */
    double **work; /* [workers][K] */
} lli_calibrate_outputs;

ll_status lli_calibrate_fill_outputs(ll_context *ctx, void *outputs, double *f, int64_t first, int64_t n, int worker);

#endif
