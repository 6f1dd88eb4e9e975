/* SPDX-License-Identifier: MIT */
/* The functions that tests and intervals are made of: normal, beta and binomial distributions. Tails are logarithms, so that they keep
 * their digits where the probability itself is 0 or 1. Equations: docs/math/special.md. */
#ifndef LLI_METRICS_SPECIAL_H
#define LLI_METRICS_SPECIAL_H

#include <stdint.h>

double lli_special_normal_cdf(double z);
/* z with cdf(z) = p; -inf and +inf for 0 and 1, NaN outside [0,1]. */
double lli_special_normal_quantile(double p);

/* log P[Bin(m, p) <= k] and log P[Bin(m, p) >= k], p in [0,1], m >= 0, any k: 0 where it is certain, -inf where it cannot be. */
double lli_special_log_binomial_cdf(int64_t k, int64_t m, double p);
double lli_special_log_binomial_tail(int64_t k, int64_t m, double p);

double lli_special_log_binomial_pmf(int64_t k, int64_t m, double p); /* log P[Bin(m, p) = k], 0 <= k <= m, p in (0,1) */

/* x with I_x(a, b) = p, the quantile of Beta(a, b); a, b > 0, p in [0,1]. The upper bound of a rate at confidence 1 - delta after k of m
 * events is lli_special_beta_quantile(1 - delta, k + 1, m - k), for k < m. */
double lli_special_beta_quantile(double p, double a, double b);

#endif
