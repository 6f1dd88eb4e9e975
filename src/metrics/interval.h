/* SPDX-License-Identifier: MIT */
/* Intervals and tests from counts and standard errors. z is the normal quantile of (1 + level)/2. What is undefined is NaN.
 * Equations: docs/math/intervals.md. */
#ifndef LLI_METRICS_INTERVAL_H
#define LLI_METRICS_INTERVAL_H

#include "base/context.h"

extern const ll_interval lli_interval_none; /* NaN, NaN */

ll_interval lli_interval_wilson(int64_t count, int64_t n, double z); /* of the share count/n */
ll_interval lli_interval_normal(double value, double error, double z);
ll_interval lli_interval_above_zero(double value, double error, double z); /* normal, cut at 0 */
ll_interval lli_interval_log(double value, double error, double z);        /* value exp(+-z error/value), value in (0,1), at most 1 */
ll_interval lli_interval_logit(double value, double error, double z);      /* on the scale of log(value/(1 - value)), value in (0,1) */

/* Two methods on n rows: `won` rows that only the second has right, `lost` rows that only the first has. Of the second's accuracy minus
 * the first's: Agresti and Min's interval, McNemar's p, exact below 25 rows that differ. */
ll_interval lli_interval_agresti_min(int64_t won, int64_t lost, int64_t n, double z);
double lli_interval_mcnemar(int64_t won, int64_t lost);

double lli_interval_p(double difference, double error); /* two-sided, normal */

/* p [count] adjusted for their number, by Holm; NaN is no test. */
void lli_interval_holm(double *adjusted, const double *p, int64_t count);

#endif
