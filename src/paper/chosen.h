/* SPDX-License-Identifier: MIT */
/* The predictions of a chosen trial and their evaluation. The store of a search keeps those of each method's best trial, so that a trial
 * which only a smaller grid chooses has none. */
#ifndef LLI_PAPER_CHOSEN_H
#define LLI_PAPER_CHOSEN_H

#include "base/context.h"

typedef struct lli_chosen {
    ll_predictions *points; /* NULL: the store keeps those of another trial, or none */
    ll_evaluation *evaluation;
} lli_chosen;

ll_status lli_chosen_read(lli_chosen *out, ll_context *ctx, const char *store, const char *protocol, const ll_trial *trial) LL_CHECK_RESULT;
void lli_chosen_release(lli_chosen *chosen);
/* Of a metric of lli_reproduced_metrics; NaN where it has none. */
ll_interval lli_chosen_interval(const lli_chosen *chosen, const char *metric);

#endif
