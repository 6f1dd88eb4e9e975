/* SPDX-License-Identifier: MIT */
/* A cut that other rows found. */
#ifndef LLI_METRICS_THRESHOLD_H
#define LLI_METRICS_THRESHOLD_H

#include "base/context.h"

/* What answering when confidence >= cut gives on checked points that have this confidence. */
void lli_threshold_at_cut(ll_threshold *out, const ll_outcome *points, ll_confidence by, double cut);

#endif
