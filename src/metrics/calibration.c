/* SPDX-License-Identifier: MIT */
/* Reliability bins, ECE and MCE. */
#include "metrics/calibration.h"

#include <math.h>

/* Edge j of m equal-width bins; all comparisons are with this double. */
static double edge(int64_t j, int64_t m) {
    return (double)j / (double)m;
}

/* The product c m may round across an edge, so it is only the first guess. */
static int64_t bin_of(double c, int64_t m, bool right) {
    int64_t j = (int64_t)fmin(fmax(c * (double)m, 0), (double)(m - 1));
    while (j > 0 && (right ? c <= edge(j, m) : c < edge(j, m)))
        j--;
    while (j < m - 1 && (right ? c > edge(j + 1, m) : c >= edge(j + 1, m)))
        j++;
    return j;
}

/* While a bin fills, accuracy holds the number of right points and confidence the sum. */
static void fill(ll_bin *bin, const lli_curve *curve, int64_t i) {
    int64_t size = lli_curve_size(curve, i);
    bin->n += size;
    bin->accuracy += (double)(size - lli_curve_marked(curve, i));
    bin->confidence += (double)size * curve->step[i].cut;
}

static bool dropped(const lli_curve *curve, int64_t i, bool drop_one) {
    return drop_one && curve->step[i].cut >= 1;
}

static int64_t fill_equal_width(ll_bin *bin, const lli_curve *curve, int64_t m, bool right, bool drop_one) {
    for (int64_t j = 0; j < m; j++)
        bin[j] = (ll_bin){.lo = edge(j, m), .hi = edge(j + 1, m)};
    for (int64_t i = 0; i < curve->steps; i++)
        if (!dropped(curve, i, drop_one))
            fill(&bin[bin_of(curve->step[i].cut, m, right)], curve, i);
    return m;
}

/* Bin floor(m r/n), with r = the number of points of less confidence: a group of ties has one r, so it stays together. */
static int64_t fill_equal_mass(ll_bin *bin, const lli_curve *curve, int64_t m, bool drop_one) {
    int64_t bins = 0, open = -1;
    for (int64_t i = curve->steps - 1; i >= 0; i--) {
        if (dropped(curve, i, drop_one))
            continue;
        int64_t j = m * (curve->n - curve->step[i].accepted) / curve->n;
        if (j != open)
            bin[bins++] = (ll_bin){.lo = curve->step[i].cut};
        open = j;
        bin[bins - 1].hi = curve->step[i].cut;
        fill(&bin[bins - 1], curve, i);
    }
    return bins;
}

int64_t lli_calibration_measure(double *ece, double *mce, ll_bin *bin, const lli_curve *curve, int64_t m, lli_calibration_edges edges,
                                bool drop_one) {
    int64_t bins = edges == LLI_CALIBRATION_MASS ? fill_equal_mass(bin, curve, m, drop_one)
                                                 : fill_equal_width(bin, curve, m, edges == LLI_CALIBRATION_RIGHT, drop_one);
    *ece = *mce = 0;
    for (int64_t j = 0; j < bins; j++) {
        double count = (double)bin[j].n;
        bin[j].accuracy = bin[j].n ? bin[j].accuracy / count : NAN;
        bin[j].confidence = bin[j].n ? bin[j].confidence / count : NAN;
        double gap = bin[j].n ? fabs(bin[j].accuracy - bin[j].confidence) : 0;
        *ece += gap * (count / (double)curve->n);
        *mce = fmax(*mce, gap);
    }
    return bins;
}
