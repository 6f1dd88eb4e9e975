/* SPDX-License-Identifier: MIT */
/* What is kept of an evaluation in a store of trials. */
#ifndef LLI_METRICS_TRIAL_SCORE_H
#define LLI_METRICS_TRIAL_SCORE_H

#include "base/context.h"

void lli_trial_score_take(ll_score *score, const ll_evaluation *evaluation);

/* The members of ll_score that are numbers: one, or one per confidence. Writers and readers go by this table. */
typedef struct lli_trial_score_field {
    const char *key;
    size_t offset;
    bool by_confidence;
} lli_trial_score_field;

extern const lli_trial_score_field lli_trial_score_fields[];
extern const size_t lli_trial_score_field_count;

#endif
