/* SPDX-License-Identifier: MIT */
/* One row per array. */
#include "predict/extra.h"

static const struct {
    const char *name;
    size_t prediction, outcome;
} table[LLI_EXTRA_COUNT] = {
    [LLI_EXTRA_SR_TAIL] = {"sr_tail", offsetof(ll_prediction, sr_tail), offsetof(ll_outcome, sr_tail)},
    [LLI_EXTRA_SR_LOGTAIL] = {"sr_logtail", offsetof(ll_prediction, sr_logtail), offsetof(ll_outcome, sr_logtail)},
    [LLI_EXTRA_MARGIN_LOGTAIL] = {"margin_logtail", offsetof(ll_prediction, margin_logtail), offsetof(ll_outcome, margin_logtail)},
    [LLI_EXTRA_LOG_TRUE] = {"log_true", offsetof(ll_prediction, log_true), offsetof(ll_outcome, log_true)},
};

const char *lli_extra_name(lli_extra x) {
    return table[x].name;
}

double **lli_extra_of(ll_prediction *p, lli_extra x) {
    return (double **)((char *)p + table[x].prediction);
}

const double **lli_extra_in(ll_outcome *o, lli_extra x) {
    return (const double **)((char *)o + table[x].outcome);
}
