/* SPDX-License-Identifier: MIT */
/* Closed forms. */
#include "metrics/interval.h"

#include <math.h>

#include "metrics/special.h"

const ll_interval lli_interval_none = {NAN, NAN};

ll_interval lli_interval_wilson(int64_t count, int64_t n, double z) {
    double N = (double)n, share = (double)count / N, z2 = z * z;
    double middle = (share + z2 / (2 * N)) / (1 + z2 / N);
    double half = z / (1 + z2 / N) * sqrt(share * (1 - share) / N + z2 / (4 * N * N));
    return (ll_interval){count == 0 ? 0 : fmax(0, middle - half), count == n ? 1 : fmin(1, middle + half)};
}

ll_interval lli_interval_normal(double value, double error, double z) {
    return isfinite(value) && isfinite(error) ? (ll_interval){value - z * error, value + z * error} : lli_interval_none;
}

ll_interval lli_interval_above_zero(double value, double error, double z) {
    ll_interval i = lli_interval_normal(value, error, z);
    return isnan(i.lo) ? i : (ll_interval){fmax(0, i.lo), fmax(0, i.hi)};
}

ll_interval lli_interval_log(double value, double error, double z) {
    if (!(value > 0 && isfinite(error)))
        return lli_interval_none;
    double factor = exp(z * error / value);
    return (ll_interval){value / factor, fmin(1, value * factor)};
}

ll_interval lli_interval_logit(double value, double error, double z) {
    if (!(value > 0 && value < 1 && isfinite(error)))
        return lli_interval_none;
    double odds = value / (1 - value), factor = exp(z * error / (value * (1 - value)));
    return (ll_interval){odds / (odds + factor), odds / (odds + 1 / factor)};
}

ll_interval lli_interval_agresti_min(int64_t won, int64_t lost, int64_t n, double z) {
    double b = (double)won + 0.5, c = (double)lost + 0.5, N = (double)n + 2, gap = (b - c) / N;
    double half = z * sqrt(b + c - (b - c) * (b - c) / N) / N;
    return (ll_interval){fmax(-1, gap - half), fmin(1, gap + half)};
}

double lli_interval_mcnemar(int64_t won, int64_t lost) {
    int64_t less = LLI_MIN(won, lost), all = won + lost;
    if (all < 25)
        return fmin(1, 2 * exp(lli_special_log_binomial_cdf(less, all, 0.5)));
    double gap = fmax(0, fabs((double)(won - lost)) - 1); /* one off, as the counts are whole */
    return erfc(gap / sqrt(2 * (double)all));
}

double lli_interval_p(double difference, double error) {
    if (!isfinite(difference) || !isfinite(error))
        return NAN;
    if (error == 0)
        return difference == 0 ? 1 : 0;
    return erfc(fabs(difference) / error * sqrt(0.5));
}

/* p counts times the number of tests whose p is not smaller, and not less than what a smaller p counts. A few methods: count^3 is fine. */
void lli_interval_holm(double *adjusted, const double *p, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        adjusted[i] = isnan(p[i]) ? NAN : 0;
        for (int64_t j = 0; j < count; j++) {
            int64_t rest = 0;
            for (int64_t k = 0; k < count; k++)
                rest += p[k] >= p[j];
            if (p[j] <= p[i])
                adjusted[i] = fmax(adjusted[i], fmin(1, p[j] * (double)rest));
        }
    }
}
