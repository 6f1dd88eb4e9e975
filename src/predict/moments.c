/* SPDX-License-Identifier: MIT */
/* The sums, and the verdict made of them. */
#include "predict/moments.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { ARRAYS = 7 };

static void arrays_of(double **blocks[ARRAYS], lli_moments *m) {
    double **all[ARRAYS] = {&m->sum, &m->votes, &m->first, &m->shift, &m->square, &m->low, &m->high};
    memcpy(blocks, all, sizeof all);
}

ll_status lli_moments_init(ll_context *ctx, lli_moments *m, int64_t K, bool from_one) {
    *m = (lli_moments){.K = K, .from_one = from_one};
    double **blocks[ARRAYS];
    arrays_of(blocks, m);
    ll_status status;
    for (int i = 0; i < ARRAYS; i++)
        LLI_DO(lli_memory_new(ctx, blocks[i], K, sizeof(double)));
done:
    if (status != LL_OK)
        lli_moments_release(m);
    return status;
}

void lli_moments_release(lli_moments *m) {
    double **blocks[ARRAYS];
    arrays_of(blocks, m);
    for (int i = 0; i < ARRAYS; i++)
        lli_memory_free(*blocks[i]);
    *m = (lli_moments){0};
}

void lli_moments_clear(lli_moments *m) {
    double **blocks[ARRAYS];
    arrays_of(blocks, m);
    for (int i = 0; i < ARRAYS; i++)
        memset(*blocks[i], 0, (size_t)m->K * sizeof(double));
    m->entropy = 0;
    m->members = 0;
}

void lli_moments_add(lli_moments *m, const double *r, int64_t top, double entropy) {
    if (m->members == 0) {
        memcpy(m->first, r, (size_t)m->K * sizeof *r);
        m->first_top = top;
    }
    for (int64_t k = 0; k < m->K; k++) {
        double d = r[k] - m->first[k];
        if (m->from_one) /* the two members may carry different classes from 1 */
            d += (double)((k == top) - (k == m->first_top));
        m->sum[k] += r[k];
        m->shift[k] += d;
        m->square[k] += d * d;
        m->low[k] = fmin(m->low[k], d);
        m->high[k] = fmax(m->high[k], d);
    }
    m->votes[top]++;
    m->entropy += entropy;
    m->members++;
}

double lli_moments_mean(const lli_moments *m, int64_t k) {
    return ((m->from_one ? m->votes[k] : 0) + m->sum[k]) / (double)m->members;
}

/* 1 - p_hat_k without cancellation. */
static double tail_of(const lli_moments *m, int64_t k) {
    double S = (double)m->members;
    return m->from_one ? ((S - m->votes[k]) - m->sum[k]) / S : 1 - m->sum[k] / S;
}

/* Classes whose p_hat are one number get there on two ways, through 1 - tail and through p: what rounding sets apart is still a tie. */
static int64_t label_of(const lli_moments *m) {
    int64_t best = 0;
    for (int64_t k = 1; k < m->K; k++)
        if (lli_moments_mean(m, k) > lli_moments_mean(m, best) * (m->from_one ? 1 + 1e-12 : 1))
            best = k;
    return best;
}

static double entropy_of_mean(const lli_moments *m, int64_t label) {
    double tail = tail_of(m, label), h = tail < 1 ? -(1 - tail) * log1p(-tail) : 0;
    for (int64_t k = 0; k < m->K; k++) {
        double p = lli_moments_mean(m, k);
        if (k != label && p > 0)
            h -= p * log(p);
    }
    return h;
}

lli_verdict lli_moments_verdict(const lli_moments *m) {
    double S = (double)m->members;
    int64_t label = label_of(m);
    lli_verdict v = {.members = m->members, .label = label, .most = lli_moments_mean(m, label), .tail = tail_of(m, label)};
    v.range = m->high[label] - m->low[label];
    v.spread = sqrt(fmax(m->square[label] / S - m->shift[label] / S * (m->shift[label] / S), 0));
    v.mixed = entropy_of_mean(m, label);
    v.information = fmax(v.mixed - m->entropy / S, 0);
    int64_t vote_entropy = 0;
    for (int64_t k = 0; k < m->K; k++) {
        double q = m->votes[k] / S;
        vote_entropy += lli_verdict_vote_piece(q);
        v.vote = q > m->votes[v.vote] / S ? k : v.vote;
        v.second = k != label ? fmax(v.second, lli_moments_mean(m, k)) : v.second;
    }
    v.vote_entropy = (double)vote_entropy * LLI_VERDICT_UNIT;
    return v;
}
