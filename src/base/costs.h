/* SPDX-License-Identifier: MIT */
/* Decisions of least expected cost. Equation: docs/math/scores.md. */
#ifndef LLI_BASE_COSTS_H
#define LLI_BASE_COSTS_H

#include "base/context.h"

/* A [K,K] array of any number type as f64, checked to be finite: the cost of deciding the column when the row is true. */
ll_status lli_costs_read(double **out, ll_context *ctx, const ll_array *costs, int64_t K) LL_CHECK_RESULT;

/* argmin_j sum_k p_k cost[k,j], the lowest j on ties. */
int32_t lli_costs_decide(double *expected /* [K] workspace */, const double *p /* [K] */, const double *costs /* [K,K] */, int64_t K);

#endif
