/* SPDX-License-Identifier: MIT */
/* Groups of ties are passed from the least confidence up, since what a point does to the risk at its own and every lower confidence is a
 * sum over the groups from its own on. Inside a group there are two values: that of the marked points and that of the others. */
#include "metrics/influence.h"

#include <math.h>

typedef struct passage {
    const lli_curve *curve;
    lli_ranking metric;
    double n, area, rate, log_right;  /* area = the metric itself; rate of marked points, log(1 - rate) */
    double H, Q;                      /* sums over the groups passed: n_h/C_h, and n_h r_h/C_h */
    double plain_scale, marked_scale; /* influence to contribution */
} passage;

typedef struct pair {
    double plain, marked;
} pair;

static double risk_of(const lli_curve *curve, int64_t i) {
    return (double)curve->step[i].marked / (double)curve->step[i].accepted;
}

static double area_of(const lli_curve *curve, lli_ranking metric) {
    double n = (double)curve->n, sum = 0;
    if (metric == LLI_RANKING_AUROC)
        return lli_curve_auroc(curve);
    for (int64_t i = 0; i < curve->steps; i++) {
        double size = (double)lli_curve_size(curve, i);
        sum += size * (metric == LLI_RANKING_AUGRC ? ((double)curve->step[i].marked - 0.5 * (double)lli_curve_marked(curve, i)) / n
                                                   : risk_of(curve, i));
    }
    return sum / n;
}

static bool passage_init(passage *p, const lli_curve *curve, lli_ranking metric) {
    double n = (double)curve->n, marked = (double)curve->marked, plain = n - marked;
    *p = (passage){.curve = curve, .metric = metric, .n = n, .rate = marked / n, .log_right = log1p(-marked / n)};
    int64_t least = metric == LLI_RANKING_AUROC ? 2 : 1;
    if (curve->n < 2 || curve->marked < least || curve->n - curve->marked < least)
        return false;
    p->area = area_of(curve, metric);
    p->plain_scale = p->marked_scale = 1 / sqrt(n * (n - 1));
    if (metric == LLI_RANKING_AUROC) {
        p->plain_scale = 1 / sqrt(plain * (plain - 1));
        p->marked_scale = 1 / sqrt(marked * (marked - 1));
    }
    return true;
}

/* DeLong's placements: the share of the other kind that a point of the group beats, less the mean share. */
static pair placement(const passage *p, int64_t i) {
    const lli_curve_step *step = &p->curve->step[i];
    double marked = (double)lli_curve_marked(p->curve, i), plain = (double)lli_curve_size(p->curve, i) - marked;
    double all_marked = (double)p->curve->marked, all_plain = p->n - all_marked;
    double below = all_marked - (double)step->marked, above = (double)(step->accepted - step->marked) - plain;
    return (pair){(below + 0.5 * marked) / all_marked - p->area, (above + 0.5 * plain) / all_plain - p->area};
}

/* Of group i; called for i = steps - 1 down to 0. */
static pair passage_next(passage *p, int64_t i) {
    const lli_curve *curve = p->curve;
    double size = (double)lli_curve_size(curve, i), accepted = (double)curve->step[i].accepted, risk = risk_of(curve, i);
    pair v;
    if (p->metric == LLI_RANKING_AUROC)
        v = placement(p, i);
    else if (p->metric == LLI_RANKING_AUGRC) {
        double F = (p->n - accepted + 0.5 * size) / p->n;
        double G = ((double)curve->step[i].marked - 0.5 * (double)lli_curve_marked(curve, i)) / p->n;
        v = (pair){G - 2 * p->area, F + G - 2 * p->area};
    } else {
        p->H += size / accepted;
        p->Q += size * risk / accepted;
        v.plain = risk - p->area - p->Q;
        v.marked = v.plain + p->H;
        if (p->metric == LLI_RANKING_EAURC) {
            v.plain -= p->log_right * p->rate;
            v.marked += p->log_right * (1 - p->rate);
        }
    }
    return (pair){v.plain * p->plain_scale, v.marked * p->marked_scale};
}

double lli_influence_error(const lli_curve *curve, lli_ranking metric) {
    passage p;
    double squares = 0;
    if (!passage_init(&p, curve, metric))
        return NAN;
    for (int64_t i = curve->steps - 1; i >= 0; i--) {
        pair v = passage_next(&p, i);
        double marked = (double)lli_curve_marked(curve, i);
        squares += marked * v.marked * v.marked + ((double)lli_curve_size(curve, i) - marked) * v.plain * v.plain;
    }
    return sqrt(squares);
}

void lli_influence_rows(double *rows, const lli_curve *curve, lli_ranking metric) {
    passage p;
    bool defined = passage_init(&p, curve, metric);
    for (int64_t i = curve->steps - 1; i >= 0; i--) {
        pair v = defined ? passage_next(&p, i) : (pair){NAN, NAN};
        for (int64_t j = curve->step[i].accepted - lli_curve_size(curve, i); j < curve->step[i].accepted; j++)
            rows[lli_curve_row(curve, j)] = lli_curve_is_marked(curve, j) ? v.marked : v.plain;
    }
}
