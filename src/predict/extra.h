/* SPDX-License-Identifier: MIT */
/* The f64 arrays of predictions beside their confidences, so that who allocates, copies, reads and writes them can do so in a loop. */
#ifndef LLI_PREDICT_EXTRA_H
#define LLI_PREDICT_EXTRA_H

#include "base/status.h"

typedef enum lli_extra {
    LLI_EXTRA_SR_TAIL,
    LLI_EXTRA_SR_LOGTAIL,
    LLI_EXTRA_MARGIN_LOGTAIL,
    LLI_EXTRA_LOG_TRUE, /* only where the truth is known */
    LLI_EXTRA_COUNT
} lli_extra;

const char *lli_extra_name(lli_extra x); /* in files */
double **lli_extra_of(ll_prediction *p, lli_extra x);
const double **lli_extra_in(ll_outcome *o, lli_extra x);

#endif
