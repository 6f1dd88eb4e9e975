/* SPDX-License-Identifier: MIT */
/* The sums, and the confidences made of them. */
#include "predict/moments.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

ll_status lli_moments_init(ll_context *ctx, lli_moments *m, int64_t rows, int64_t K, bool from_one) {
    *m = (lli_moments){.rows = rows, .K = K, .from_one = from_one};
    double **blocks[] = {&m->sum, &m->votes, &m->first, &m->shift, &m->square, &m->low, &m->high};
    ll_status status;
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        LLI_DO(lli_memory_new(ctx, blocks[i], rows * K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &m->entropy, rows, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &m->first_top, rows, sizeof(int32_t)));
done:
    if (status != LL_OK)
        lli_moments_release(m);
    return status;
}

void lli_moments_release(lli_moments *m) {
    double *blocks[] = {m->sum, m->votes, m->first, m->shift, m->square, m->low, m->high, m->entropy};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    lli_memory_free(m->first_top);
    *m = (lli_moments){0};
}

int64_t lli_moments_bytes(int64_t K) {
    return 7 * K * (int64_t)sizeof(double);
}

void lli_moments_clear(lli_moments *m, int64_t n) {
    double *blocks[] = {m->sum, m->votes, m->shift, m->square, m->low, m->high};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        memset(blocks[i], 0, (size_t)(n * m->K) * sizeof(double));
    memset(m->entropy, 0, (size_t)n * sizeof(double));
    m->weight = 0;
    m->members = 0;
}

/* d = p - p_first per class; `turn` = 1 where the two members carry different classes from 1, so that their r differ by a whole unit. */
static inline void add_row(double *restrict sum, double *restrict shift, double *restrict square, double *restrict low, double *restrict high,
                           const double *restrict r, const double *restrict first, double weight, int64_t K, int64_t top, int64_t first_top, bool turn) {
    for (int64_t k = 0; k < K; k++) {
        double d = r[k] - first[k];
        if (turn)
            d += (double)((k == top) - (k == first_top));
        sum[k] += weight * r[k];
        shift[k] += weight * d;
        square[k] += weight * d * d;
        low[k] = d < low[k] ? d : low[k];
        high[k] = d > high[k] ? d : high[k];
    }
}

void lli_moments_add(lli_moments *m, double weight, const double *r, const int32_t *top, const double *entropy, int64_t n) {
    int64_t K = m->K;
    if (m->members == 0) {
        memcpy(m->first, r, (size_t)(n * K) * sizeof *r);
        memcpy(m->first_top, top, (size_t)n * sizeof *top);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i * K;
        bool turn = m->from_one && top[i] != m->first_top[i];
        add_row(m->sum + at, m->shift + at, m->square + at, m->low + at, m->high + at, r + at, m->first + at, weight, K, top[i], m->first_top[i], turn);
        m->votes[at + top[i]] += weight;
        m->entropy[i] += weight * entropy[i];
    }
    m->weight += weight;
    m->members++;
}

double lli_moments_mean(const lli_moments *m, int64_t i, int64_t k) {
    int64_t at = i * m->K + k;
    return ((m->from_one ? m->votes[at] : 0) + m->sum[at]) / m->weight;
}

/* 1 - p_hat_k without cancellation. */
static double tail_of(const lli_moments *m, int64_t i, int64_t k) {
    int64_t at = i * m->K + k;
    return m->from_one ? ((m->weight - m->votes[at]) - m->sum[at]) / m->weight : 1 - m->sum[at] / m->weight;
}

/* Classes whose p_hat are one number get there on two ways, through 1 - tail and through p: what rounding sets apart is still a tie. */
int64_t lli_moments_label(const lli_moments *m, int64_t i) {
    double most = 0;
    for (int64_t k = 0; k < m->K; k++)
        most = fmax(most, lli_moments_mean(m, i, k));
    double enough = m->from_one ? most * (1 - 1e-12) : most;
    int64_t best = 0;
    while (best < m->K - 1 && !(lli_moments_mean(m, i, best) >= enough))
        best++;
    return best;
}

void lli_moments_score(const lli_moments *m, int64_t i, int32_t truth, double *nll, double *brier, bool *correct) {
    int64_t label = lli_moments_label(m, i);
    double sum = 0;
    for (int64_t k = 0; k < m->K; k++) {
        double gap = k == truth ? tail_of(m, i, k) : lli_moments_mean(m, i, k);
        sum += gap * gap;
    }
    *nll = label == truth ? -log1p(-tail_of(m, i, truth)) : -log(lli_moments_mean(m, i, truth));
    *brier = sum;
    *correct = label == truth;
}

static double entropy_of_mean(const lli_moments *m, int64_t i, int64_t label) {
    double tail = tail_of(m, i, label), h = tail < 1 ? -(1 - tail) * log1p(-tail) : 0;
    for (int64_t k = 0; k < m->K; k++) {
        double p = lli_moments_mean(m, i, k);
        if (k != label && p > 0)
            h -= p * log(p);
    }
    return h;
}

static double entropy_of_votes(const lli_moments *m, int64_t i) {
    double h = 0;
    for (int64_t k = 0; k < m->K; k++) {
        double q = m->votes[i * m->K + k] / m->weight;
        if (q > 0)
            h -= q * log(q);
    }
    return h;
}

static double second(const lli_moments *m, int64_t i, int64_t label) {
    double most = 0;
    for (int64_t k = 0; k < m->K; k++)
        if (k != label)
            most = fmax(most, lli_moments_mean(m, i, k));
    return most;
}

static int64_t most_votes(const lli_moments *m, int64_t i) {
    int64_t best = 0;
    for (int64_t k = 1; k < m->K; k++)
        if (m->votes[i * m->K + k] > m->votes[i * m->K + best])
            best = k;
    return best;
}

static double spread(const lli_moments *m, int64_t at) {
    double mean = m->shift[at] / m->weight;
    return sqrt(fmax(m->square[at] / m->weight - mean * mean, 0));
}

static double confidence(const lli_moments *m, int64_t i, int64_t label, ll_confidence c) {
    int64_t at = i * m->K + label;
    if (m->members == 1 && ll_confidence_needs_members(c))
        return NAN;
    /* 0 - x, so that no uncertainty is 0 and not -0 */
    switch (c) {
    case LL_CONFIDENCE_SR: return lli_moments_mean(m, i, label);
    case LL_CONFIDENCE_STD: return 0 - spread(m, at);
    case LL_CONFIDENCE_HQ: return 0 - entropy_of_votes(m, i);
    case LL_CONFIDENCE_MAXMIN: return 0 - (m->high[at] - m->low[at]);
    case LL_CONFIDENCE_ENTROPY: return 0 - entropy_of_mean(m, i, label);
    case LL_CONFIDENCE_MI: return 0 - fmax(entropy_of_mean(m, i, label) - m->entropy[i] / m->weight, 0);
    case LL_CONFIDENCE_MARGIN: return fmax(lli_moments_mean(m, i, label) - second(m, i, label), 0);
    case LL_CONFIDENCE_COUNT: break;
    }
    return NAN;
}

void lli_moments_finish(ll_prediction *out, int64_t at, const lli_moments *m, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t label = lli_moments_label(m, i);
        if (out->label)
            out->label[at + i] = (int32_t)label;
        if (out->vote)
            out->vote[at + i] = (int32_t)most_votes(m, i);
        if (out->sr_tail)
            out->sr_tail[at + i] = tail_of(m, i, label);
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
            if (out->confidence[c])
                out->confidence[c][at + i] = confidence(m, i, label, (ll_confidence)c);
        if (out->probs)
            for (int64_t k = 0; k < m->K; k++)
                out->probs[(at + i) * m->K + k] = (float)lli_moments_mean(m, i, k);
    }
}
