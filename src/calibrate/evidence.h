/* SPDX-License-Identifier: MIT */
/* What a calibration is fitted on: rows of log-probabilities or logits with their true classes, given block by block, so that N x K need
 * not be in memory. */
#ifndef LLI_CALIBRATE_EVIDENCE_H
#define LLI_CALIBRATE_EVIDENCE_H

#include "base/context.h"

typedef struct lli_evidence {
    int64_t n, K;
    const int32_t *truth; /* [n] in [0,K) */
    /* Rows first .. first+n-1, finite, into f [n,K]. Called by several workers at once, for the same rows again in every pass. */
    ll_status (*fill)(ll_context *ctx, void *arg, double *f, int64_t first, int64_t n, int worker);
    void *arg;
} lli_evidence;

/* Rows of a block, which depends on the shape alone: bits do not depend on the threads. */
int64_t lli_evidence_block(const lli_evidence *e);

/* Adds what rows first .. first+n-1, f [n,K], give to `sum` [sums], which is zero before. */
typedef void lli_evidence_visit(double *sum, const lli_evidence *e, const void *arg, double *f, int64_t first, int64_t n);

/* One pass: out [sums] = the sum over all rows, blocks in order. */
ll_status lli_evidence_pass(ll_context *ctx, const lli_evidence *e, double *out, int64_t sums, lli_evidence_visit *visit,
                            const void *arg) LL_CHECK_RESULT;

/* Rows in memory or in a mapped file: f64 [n,K], or what converts to it. */
ll_status lli_evidence_fill_array(ll_context *ctx, void *arg /* const ll_array * */, double *f, int64_t first, int64_t n, int worker);

#endif
