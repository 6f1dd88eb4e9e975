/* SPDX-License-Identifier: MIT */
/* One temperature T = 1/beta for all classes: p = softmax(beta f). Equations: docs/math/temperature.md. */
#ifndef LLI_CALIBRATE_TEMPERATURE_H
#define LLI_CALIBRATE_TEMPERATURE_H

#include "calibrate/evidence.h"

typedef enum lli_temperature_end {
    LLI_TEMPERATURE_FOUND,
    LLI_TEMPERATURE_WORSE,     /* the true classes do not have more than the mean logit: worse than uniform */
    LLI_TEMPERATURE_ALL_RIGHT, /* no row is wrong: the NLL falls without end */
    LLI_TEMPERATURE_ONE_CLASS, /* all rows have one true class: there is nothing to tell apart */
    LLI_TEMPERATURE_EDGE,      /* the minimum is beyond T = e^-10 or e^10 */
} lli_temperature_end;

typedef struct lli_temperature {
    lli_temperature_end end;
    double beta;       /* 1 unless FOUND or EDGE */
    double nll_before; /* at beta = 1 */
    double nll;        /* at beta */
    int64_t steps;
    double error; /* standard error of beta, 1/sqrt(n h); NaN unless FOUND */
} lli_temperature;

ll_status lli_temperature_fit(ll_context *ctx, lli_temperature *out, const lli_evidence *e) LL_CHECK_RESULT;
/* Why beta is 1, as the end of a sentence; NULL where it was found. */
const char *lli_temperature_why(lli_temperature_end end);

#endif
