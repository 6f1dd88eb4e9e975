/* SPDX-License-Identifier: MIT */
/* Binomial counts by inversion: probabilities are taken off one uniform number, from the mode outwards, so that a draw takes about as many
 * steps as the distribution has standard deviations' width. */
#include "metrics/digits.h"

#include <math.h>

#include "base/memory.h"
#include "metrics/special.h"

lli_digits lli_digits_of(uint64_t seed, lli_digits_use use, int64_t draw) {
    return (lli_digits){.stream = lli_rng_stream(seed, LLI_PURPOSE_INTERVAL, (int64_t)use, draw), .at = 4};
}

double lli_digits_share(lli_digits *d) {
    uint64_t high = lli_digits_next(d);
    return (double)((high << 32 | lli_digits_next(d)) >> 11) * 0x1p-53;
}

int64_t lli_digits_binomial_at(double u, int64_t m, double p) {
    int64_t mode = LLI_MIN(m, (int64_t)((double)(m + 1) * p)), up = mode, down = mode;
    double odds = p / (1 - p), above = exp(lli_special_log_binomial_pmf(mode, m, p)), below = above;
    u -= above;
    while (u >= 0 && (up < m || down > 0)) {
        above = up < m ? above * ((double)(m - up) / (double)(up + 1) * odds) : 0;
        up++;
        if (up <= m && (u -= above) < 0)
            return up;
        below = down > 0 ? below * ((double)down / ((double)(m - down + 1) * odds)) : 0;
        down--;
        if (down >= 0 && (u -= below) < 0)
            return down;
        if (above == 0 && below == 0)
            break;
    }
    return mode;
}

int64_t lli_digits_binomial(lli_digits *d, int64_t m, double p) {
    if (m == 0 || !(p > 0))
        return 0;
    return p < 1 ? lli_digits_binomial_at(lli_digits_share(d), m, p) : m;
}
