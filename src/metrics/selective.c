/* SPDX-License-Identifier: MIT */
/* Areas under risk-coverage curves, and thresholds. n points, e errors; before a group of g points with h errors, n0 points and e0
 * errors are accepted. */
#include "metrics/selective.h"

#include <math.h>

/* Sum over `count` places of the risk, when each place accepts one point more and `rate` errors more. */
static double risk_sum(double n0, double e0, int64_t count, double rate) {
    double sum = 0;
    for (int64_t i = 1; i <= count; i++)
        sum += (e0 + (double)i * rate) / (n0 + (double)i);
    return sum;
}

/* The least possible area: all errors have the least confidence. n AURC* = sum_{j=1..e} j/(n-e+j). */
static double oracle_sum(int64_t n, int64_t e) {
    return risk_sum((double)(n - e), 0, e, 1);
}

void lli_selective_measure(ll_selective *out, const lli_curve *curve, bool expected_ties) {
    double n = (double)curve->n, paper = 0, best = 0, worst = 0, expected = 0, generalised = 0;
    for (int64_t i = 0; i < curve->steps; i++) {
        const lli_curve_step *step = &curve->step[i];
        int64_t g = lli_curve_size(curve, i), h = lli_curve_marked(curve, i);
        double n0 = (double)(step->accepted - g), e0 = (double)(step->marked - h);
        paper += (double)g * ((double)step->marked / (double)step->accepted);
        expected += risk_sum(n0, e0, g, (double)h / (double)g);
        best += risk_sum(n0, e0, g - h, 0);
        best += risk_sum(n0 + (double)(g - h), e0, h, 1);
        worst += risk_sum(n0, e0, h, 1);
        worst += risk_sum(n0 + (double)h, e0 + (double)h, g - h, 0);
        generalised += 0.5 * (e0 + (double)step->marked) * (double)g;
    }
    double aurc = expected_ties ? expected : paper;
    *out = (ll_selective){
        .aurc = aurc / n,
        .best = best / n,
        .expected = expected / n,
        .worst = worst / n,
        .eaurc = fmax(0, (aurc - oracle_sum(curve->n, curve->marked)) / n), /* never negative but for rounding */
        .augrc = generalised / (n * n),
        .failure_auroc = lli_curve_auroc(curve),
        .ties = curve->steps < curve->n,
    };
}

static double risk_of(const lli_curve_step *step) {
    return (double)step->marked / (double)step->accepted;
}

static void answer(ll_threshold *out, const lli_curve *curve, const lli_curve_step *step /* NULL: none */) {
    *out = (ll_threshold){.cut = NAN, .risk = NAN, .n = curve->n, .errors = curve->marked, .found = step != NULL};
    if (!step)
        return;
    out->cut = step->cut;
    out->coverage = (double)step->accepted / (double)curve->n;
    out->risk = risk_of(step);
    out->accepted = step->accepted;
    out->accepted_errors = step->marked;
}

void lli_selective_at_risk(ll_threshold *out, const lli_curve *curve, double risk) {
    int64_t i = curve->steps - 1; /* from the full coverage down: risk is not monotone */
    while (i >= 0 && risk_of(&curve->step[i]) > risk)
        i--;
    answer(out, curve, i >= 0 ? &curve->step[i] : NULL);
}

void lli_selective_at_coverage(ll_threshold *out, const lli_curve *curve, double coverage) {
    int64_t i = 0;
    while (i + 1 < curve->steps && (double)curve->step[i].accepted / (double)curve->n < coverage)
        i++;
    answer(out, curve, &curve->step[i]);
}
