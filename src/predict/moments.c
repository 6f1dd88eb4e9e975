/* SPDX-License-Identifier: MIT */
/* The sums, and the verdict made of them. */
#include "predict/moments.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { ARRAYS = 8 };

/* What rounding sets apart is still a tie: classes of one p_hat may get there by different sums. */
static const double TIE = 1 + 1e-12;

static void arrays_of(double **blocks[ARRAYS], lli_moments *m) {
    double **all[ARRAYS] = {&m->sum, &m->votes, &m->first, &m->first_r, &m->shift, &m->square, &m->low, &m->high};
    memcpy(blocks, all, sizeof all);
}

ll_status lli_moments_init(ll_context *ctx, lli_moments *m, int64_t K, bool from_one) {
    *m = (lli_moments){.K = K, .from_one = from_one};
    double **blocks[ARRAYS];
    arrays_of(blocks, m);
    ll_status status;
    for (int i = 0; i < ARRAYS; i++)
        LLI_DO(lli_memory_new(ctx, blocks[i], K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &m->workspace, K, LLI_LOGMEAN_DOUBLES * sizeof(double)));
    lli_logmean_init(&m->logs, K, m->workspace);
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
    lli_memory_free(m->workspace);
    *m = (lli_moments){0};
}

void lli_moments_clear(lli_moments *m) {
    double **blocks[ARRAYS];
    arrays_of(blocks, m);
    for (int i = 0; i < ARRAYS; i++)
        memset(*blocks[i], 0, (size_t)m->K * sizeof(double));
    lli_logmean_clear(&m->logs);
    m->members = 0;
}

void lli_moments_add(lli_moments *m, const lli_output *o) {
    if (m->members == 0) {
        memcpy(m->first, o->p, (size_t)m->K * sizeof *o->p);
        memcpy(m->first_r, o->r, (size_t)m->K * sizeof *o->r);
        m->first_top = o->top;
    }
    for (int64_t k = 0; k < m->K; k++) {
        double d = o->r[k] - m->first_r[k];
        if (m->from_one) /* the two members may carry different classes from 1 */
            d += (double)((k == o->top) - (k == m->first_top));
        m->sum[k] += o->p[k];
        m->shift[k] += d;
        m->square[k] += d * d;
        m->low[k] = fmin(m->low[k], d);
        m->high[k] = fmax(m->high[k], d);
    }
    lli_logmean_add(&m->logs, o->logp, o->logtail, 1);
    m->votes[o->top]++;
    m->members++;
}

double lli_moments_mean(const lli_moments *m, int64_t k) {
    double S = (double)m->members;
    return m->from_one ? m->first[k] + m->shift[k] / S : m->sum[k] / S;
}

/* 1 - p_hat_k, without cancellation where k is the top class of all members. */
static double tail_of(const lli_moments *m, int64_t k) {
    bool from_tail = m->from_one && k == m->first_top;
    return from_tail ? -m->first_r[k] - m->shift[k] / (double)m->members : 1 - lli_moments_mean(m, k);
}

double lli_moments_log(const lli_moments *m, int64_t k) {
    double tail = tail_of(m, k);
    return tail < 0.5 ? log1p(-tail) : lli_logmean_log(&m->logs, k);
}

static int64_t label_of(const lli_moments *m) {
    int64_t best = 0;
    for (int64_t k = 1; k < m->K; k++)
        if (lli_moments_mean(m, k) > lli_moments_mean(m, best) * (m->from_one ? TIE : 1))
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
    int64_t label = label_of(m), vote_entropy = 0;
    lli_verdict v = {.members = m->members, .label = label, .most = lli_moments_mean(m, label), .tail = tail_of(m, label)};
    for (int64_t k = 0; k < m->K; k++) {
        double q = m->votes[k] / S;
        vote_entropy += lli_verdict_vote_piece(q);
        v.vote = q > m->votes[v.vote] / S ? k : v.vote;
        v.second = k != label ? fmax(v.second, lli_moments_mean(m, k)) : v.second;
    }
    v.vote_entropy = (double)vote_entropy * LLI_VERDICT_UNIT;
    if (m->from_one && v.tail < LLI_LOGMEAN_LEAST) {
        lli_logmean_verdict(&v, &m->logs);
        return v;
    }
    v.margin = v.most > v.second * (m->from_one ? TIE : 1) ? v.most - v.second : 0;
    v.range = m->high[label] - m->low[label];
    v.spread = sqrt(fmax(m->square[label] / S - m->shift[label] / S * (m->shift[label] / S), 0));
    v.mixed = entropy_of_mean(m, label);
    v.information = lli_logmean_information(&m->logs);
    return v;
}
