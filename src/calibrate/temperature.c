/* SPDX-License-Identifier: MIT */
/* Newton on beta. The NLL is convex in beta, so the sign of its slope brackets the minimum, and a step that leaves the bracket is halved
 * into it. */
#include "calibrate/temperature.h"

#include <math.h>

enum { STEPS_MAX = 50 };

static const double CONVERGED = 1e-12, LOG_MOST = 10;

/* The sums of a pass at beta: NLL, its slope and its curvature, and what decides whether there is a minimum. */
enum { NLL, SLOPE, CURVATURE, SLOPE_AT_ZERO, WRONG, OTHER_CLASS, SUMS };

/* All values of a row are measured from its largest: sure rows then keep the digits of their small terms. */
static void visit(double *sum, const lli_evidence *e, const void *arg, double *f, int64_t first, int64_t n) {
    double beta = *(const double *)arg;
    for (int64_t i = 0; i < n; i++) {
        const double *row = f + i * e->K;
        int32_t y = e->truth[first + i];
        double most = row[0];
        for (int64_t k = 1; k < e->K; k++)
            most = fmax(most, row[k]);
        double z = 0, zf = 0, zff = 0, total = 0;
        for (int64_t k = 0; k < e->K; k++) {
            double d = row[k] - most, x = exp(beta * d);
            z += x;
            zf += x * d;
            zff += x * d * d;
            total += d;
        }
        double mean = zf / z, own = row[y] - most;
        sum[NLL] += log(z) - beta * own;
        sum[SLOPE] += mean - own;
        sum[CURVATURE] += zff / z - mean * mean;
        sum[SLOPE_AT_ZERO] += total / (double)e->K - own;
        sum[WRONG] += own < 0;
        sum[OTHER_CLASS] += y != e->truth[0];
    }
}

static ll_status look(ll_context *ctx, double sum[SUMS], const lli_evidence *e, double beta) {
    LLI_TRY(lli_evidence_pass(ctx, e, sum, SUMS, visit, &beta));
    for (int j = NLL; j <= SLOPE_AT_ZERO; j++)
        sum[j] /= (double)e->n;
    return LL_OK;
}

static lli_temperature_end no_minimum(const double sum[SUMS]) {
    if (sum[OTHER_CLASS] == 0)
        return LLI_TEMPERATURE_ONE_CLASS;
    if (sum[SLOPE_AT_ZERO] >= 0)
        return LLI_TEMPERATURE_WORSE;
    return sum[WRONG] == 0 ? LLI_TEMPERATURE_ALL_RIGHT : LLI_TEMPERATURE_FOUND;
}

ll_status lli_temperature_fit(ll_context *ctx, lli_temperature *out, const lli_evidence *e) {
    double sum[SUMS], low = exp(-LOG_MOST), high = exp(LOG_MOST), beta = 1;
    LLI_TRY(look(ctx, sum, e, beta));
    *out = (lli_temperature){.end = no_minimum(sum), .beta = 1, .nll_before = sum[NLL], .nll = sum[NLL], .error = NAN};
    if (out->end != LLI_TEMPERATURE_FOUND)
        return LL_OK;
    double step = INFINITY;
    while (out->steps < STEPS_MAX && fabs(step) > CONVERGED * beta && high > low) {
        *(sum[SLOPE] > 0 ? &high : &low) = beta;
        step = fmin(fmax(-sum[SLOPE] / sum[CURVATURE], -beta / 2), beta / 2);
        if (!(beta + step > low && beta + step < high) && fabs(step) > CONVERGED * beta)
            step = sqrt(low) * sqrt(high) - beta;
        beta += step;
        LLI_TRY(look(ctx, sum, e, beta));
        out->steps++;
    }
    out->beta = beta;
    out->nll = sum[NLL];
    out->error = 1 / sqrt((double)e->n * sum[CURVATURE]);
    if (fabs(log(beta)) > LOG_MOST - 1e-3)
        out->end = LLI_TEMPERATURE_EDGE;
    return LL_OK;
}

const char *lli_temperature_why(lli_temperature_end end) {
    switch (end) {
    case LLI_TEMPERATURE_WORSE: return "the outputs are worse than uniform here: do the labels belong to these rows, and start at 0?";
    case LLI_TEMPERATURE_ALL_RIGHT: return "every row is right: a lower temperature is always better; calibrate on rows with errors";
    case LLI_TEMPERATURE_ONE_CLASS: return "all rows have the same true class; calibrate on rows of several classes";
    case LLI_TEMPERATURE_FOUND:
    case LLI_TEMPERATURE_EDGE: break;
    }
    return NULL;
}
