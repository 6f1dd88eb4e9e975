/* SPDX-License-Identifier: MIT */
/* Calibrations with more than one number: p = softmax(v o log p_hat + c). Equations: docs/math/temperature.md. */
#ifndef LLI_CALIBRATE_SCALING_H
#define LLI_CALIBRATE_SCALING_H

#include "calibrate/evidence.h"

typedef enum lli_scaling_kind {
    LLI_SCALING_BIAS, /* v is one number for all classes */
    LLI_SCALING_VECTOR
} lli_scaling_kind;

typedef struct lli_scaling {
    double nll;  /* mean over rows, without the ridge */
    double norm; /* of the gradient that the search reached */
    bool converged;
    int64_t iterations;
} lli_scaling;

/* scale, shift [K] by L-BFGS from v = beta, c = 0, with the ridge (|v - beta|^2 + |c|^2) / (2 n). Rows of logits are normalised first. */
ll_status lli_scaling_fit(ll_context *ctx, lli_scaling *out, double *scale, double *shift, const lli_evidence *e, lli_scaling_kind kind,
                          double beta) LL_CHECK_RESULT;

/* Logits of one row, f [K], as log-probabilities, in place. */
void lli_scaling_normalise(double *f, int64_t K);

#endif
