/* SPDX-License-Identifier: MIT */
/* AUROC, AUPR and FPR at 95 % TPR. */
#include "metrics/ood.h"

/* The area so far, and the last point of the curve. */
typedef struct area {
    double sum, recall, precision;
    lli_ood_aupr rule;
    bool started;
} area;

static void area_add(area *a, int64_t positives, int64_t found, int64_t accepted) {
    double recall = (double)found / (double)positives, precision = (double)found / (double)accepted;
    double width = recall - a->recall;
    if (a->rule == LLI_OOD_STEP)
        a->sum += width * precision;
    else if (a->started || a->rule == LLI_OOD_TRAPEZOID)
        a->sum += 0.5 * width * (precision + a->precision);
    a->recall = recall;
    a->precision = precision;
    a->started = true;
}

static double aupr_in(const lli_curve *curve, lli_ood_aupr rule) {
    area a = {.precision = 1, .rule = rule};
    for (int64_t i = 0; i < curve->steps; i++) {
        const lli_curve_step *step = &curve->step[i];
        area_add(&a, curve->n - curve->marked, step->accepted - step->marked, step->accepted);
    }
    return a.sum;
}

/* The out points are the positives, so the least confidence comes first. */
static double aupr_out(const lli_curve *curve, lli_ood_aupr rule) {
    area a = {.precision = 1, .rule = rule};
    for (int64_t i = curve->steps - 1; i >= 0; i--) {
        int64_t above = i ? curve->step[i - 1].accepted : 0, above_marked = i ? curve->step[i - 1].marked : 0;
        area_add(&a, curve->marked, curve->marked - above_marked, curve->n - above);
    }
    return a.sum;
}

static double fpr95(const lli_curve *curve) {
    double positives = (double)(curve->n - curve->marked);
    int64_t i = 0;
    while (i + 1 < curve->steps && (double)(curve->step[i].accepted - curve->step[i].marked) / positives < 0.95)
        i++;
    return (double)curve->step[i].marked / (double)curve->marked;
}

void lli_ood_measure(ll_ood *out, const lli_curve *curve, lli_ood_aupr aupr) {
    *out = (ll_ood){
        .auroc = lli_curve_auroc(curve),
        .aupr_in = aupr_in(curve, aupr),
        .aupr_out = aupr_out(curve, aupr),
        .fpr95 = fpr95(curve),
    };
}
