/* SPDX-License-Identifier: MIT */
/* Everything is measured from the logit of the label, so that tails keep their digits at any temperature. */
#include "predict/calibrated.h"

#include <math.h>

#include "kernels/tally.h"
#include "predict/logmean.h"

static bool keeps_order(const double *calibration, int64_t K) {
    const double *scale = calibration, *shift = calibration + K;
    for (int64_t k = 0; k < K; k++)
        if (scale[k] != scale[0] || shift[k] != 0)
            return false;
    return scale[0] > 0;
}

void lli_calibrated_verdict(lli_verdict *v, double *logp, const double *calibration, int64_t K) {
    const double *scale = calibration, *shift = calibration + K;
    for (int64_t k = 0; k < K; k++)
        logp[k] = scale[k] * logp[k] + shift[k];
    if (!keeps_order(calibration, K)) {
        v->label = 0;
        for (int64_t k = 1; k < K; k++)
            v->label = logp[k] > logp[v->label] ? k : v->label;
    }
    lli_logsum others = {0};
    double own = logp[v->label], second = -INFINITY;
    for (int64_t k = 0; k < K; k++)
        if (k != v->label) {
            lli_logmean_add_term(&others, logp[k] - own, 1);
            second = fmax(second, logp[k] - own);
        }
    double odds = lli_logmean_log_sum(&others, 1), total = log1p(exp(odds)), mixed = total / (1 + exp(odds));
    for (int64_t k = 0; k < K; k++) {
        logp[k] = k == v->label ? -total : logp[k] - own - total;
        mixed -= k == v->label || logp[k] == -INFINITY ? 0 : exp(logp[k]) * logp[k];
    }
    v->log_tail = odds - total;
    v->tail = exp(v->log_tail);
    v->most = 1 / (1 + exp(odds));
    v->second = exp(second - total);
    v->margin = v->most > v->second * LLI_TALLY_TIE ? v->most - v->second : 0;
    v->mixed = mixed;
    lli_logmean_add_term(&others, second, 1); /* 1 - margin = tail + second */
    v->log_margin_tail = lli_logmean_log_sum(&others, 1) - total;
    v->saturated = v->log_tail < LLI_LOGMEAN_LEAST_LOG;
}
