/* SPDX-License-Identifier: MIT */
/* Sums of exponentials are kept relative to their largest term. */
#include "predict/logmean.h"

#include <math.h>
#include <string.h>

/* Makes room for x: what there is, in units of exp(peak), becomes one of exp(x) if x is larger. */
static double raise_peak(double *peak, double x) {
    double factor = 1;
    if (x > *peak) {
        factor = exp(*peak - x);
        *peak = x;
    }
    return factor;
}

/* exp(x - peak), also where both are -inf. */
static double share_of(double x, double peak) {
    return x == peak ? 1 : exp(x - peak);
}

void lli_logmean_add_term(lli_logsum *s, double x, double weight) {
    if (x == -INFINITY)
        return;
    if (s->sum == 0)
        s->peak = x;
    s->sum *= raise_peak(&s->peak, x);
    s->sum += weight * share_of(x, s->peak);
}

double lli_logmean_log_sum(const lli_logsum *s, double weight) {
    return s->sum > 0 ? s->peak + log(s->sum / weight) : -INFINITY;
}

void lli_logmean_init(lli_logmean *m, int64_t K, double *workspace) {
    *m = (lli_logmean){
        .K = K,
        .sum = (lli_logsum *)workspace,
        .first = workspace + 2 * K,
        .moved = workspace + 3 * K,
        .cross = workspace + 4 * K,
    };
}

void lli_logmean_clear(lli_logmean *m) {
    memset(m->sum, 0, (size_t)m->K * sizeof *m->sum);
    memset(m->moved, 0, (size_t)m->K * sizeof *m->moved);
    memset(m->cross, 0, (size_t)m->K * sizeof *m->cross);
    m->members = 0;
    m->weight = 0;
    m->spread = (lli_logspread){0};
}

static void add_tail(lli_logspread *s, double logtail, double weight, bool is_first) {
    if (is_first)
        *s = (lli_logspread){.scale = logtail, .first = 1};
    double factor = raise_peak(&s->scale, logtail);
    s->first *= factor;
    s->shift *= factor;
    s->square *= factor * factor;
    double d = share_of(logtail, s->scale) - s->first;
    s->shift += weight * d;
    s->square += weight * d * d;
    s->low = fmin(s->low * factor, d);
    s->high = fmax(s->high * factor, d);
}

static void add_class(lli_logmean *m, int64_t k, double x, double weight) {
    lli_logsum *s = &m->sum[k];
    if (x == -INFINITY) {
        m->moved[k] -= s->sum > 0 ? weight * share_of(m->first[k], s->peak) : 0;
        return;
    }
    if (s->sum == 0) { /* members before it gave nothing */
        s->peak = m->first[k] = x;
        m->moved[k] = -m->weight;
    }
    double factor = raise_peak(&s->peak, x), e = weight * share_of(x, s->peak), gain = x - m->first[k];
    s->sum = s->sum * factor + e;
    m->cross[k] = m->cross[k] * factor + e * gain;
    double d = gain > -700 ? -e * expm1(-gain) : -weight * share_of(m->first[k], s->peak); /* exp(x) - exp(first) */
    m->moved[k] = m->moved[k] * factor + d;
}

void lli_logmean_add(lli_logmean *m, const double *logp, double logtail, double weight) {
    for (int64_t k = 0; k < m->K; k++)
        add_class(m, k, logp[k], weight);
    add_tail(&m->spread, logtail, weight, m->members == 0);
    m->weight += weight;
    m->members++;
}

double lli_logmean_log(const lli_logmean *m, int64_t k) {
    return lli_logmean_log_sum(&m->sum[k], m->weight);
}

/* log p_hat_k - first, from the difference of the two where they are close. */
static double log_moved(const lli_logmean *m, int64_t k) {
    const lli_logsum *s = &m->sum[k];
    double first = m->weight * exp(m->first[k] - s->peak);
    return fabs(m->moved[k]) < first / 2 ? log1p(m->moved[k] / first) : s->peak - m->first[k] + log(s->sum / m->weight);
}

/* sum_k sum_i w_i p_i(k) (log p_i(k) - log p_hat(k)), both logarithms measured from that of the first member. No class is below 0, and
 * where members are close each is small in the second order. */
double lli_logmean_information(const lli_logmean *m) {
    double sum = 0;
    for (int64_t k = 0; k < m->K; k++)
        if (m->sum[k].sum > 0)
            sum += exp(m->sum[k].peak) * (m->cross[k] - m->sum[k].sum * log_moved(m, k));
    return fmax(sum / m->weight, 0);
}

void lli_logmean_verdict(lli_verdict *v, const lli_logmean *m) {
    lli_logsum tail = {0};
    double second = -INFINITY, mixed = 0, unit = exp(m->spread.scale), shift = m->spread.shift / m->weight;
    for (int64_t k = 0; k < m->K; k++) {
        if (k == v->label)
            continue;
        double x = lli_logmean_log(m, k);
        lli_logmean_add_term(&tail, x, 1);
        second = fmax(second, x);
        mixed -= x > -INFINITY ? exp(x) * x : 0;
    }
    v->log_tail = lli_logmean_log_sum(&tail, 1);
    v->saturated = true;
    lli_logmean_add_term(&tail, second, 1); /* 1 - margin = tail + second */
    v->log_margin_tail = lli_logmean_log_sum(&tail, 1);
    v->tail = exp(v->log_tail);
    v->most = 1 - v->tail;
    v->second = exp(second);
    v->margin = v->most - v->second;
    v->mixed = mixed - (1 - v->tail) * log1p(-v->tail);
    v->spread = unit * sqrt(fmax(m->spread.square / m->weight - shift * shift, 0));
    v->range = unit * (m->spread.high - m->spread.low);
    v->information = lli_logmean_information(m);
}

int64_t lli_logmean_softmax(double *logp, double *logtail, const double *logits, int64_t K) {
    int64_t best = 0;
    for (int64_t k = 1; k < K; k++)
        if (logits[k] > logits[best])
            best = k;
    lli_logsum others = {0};
    double largest = logits[best];
    for (int64_t k = 0; k < K; k++)
        if (k != best)
            lli_logmean_add_term(&others, logits[k] - largest, 1);
    double odds = lli_logmean_log_sum(&others, 1), total = log1p(exp(odds));
    for (int64_t k = 0; k < K; k++)
        logp[k] = logits[k] - largest - total;
    *logtail = odds - total;
    return best;
}
