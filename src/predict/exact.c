/* SPDX-License-Identifier: MIT */
/* Which rows these are is seen from the sums after each chunk of members. Their logits are then made a second time, since the kernel has
 * turned them into odds, and added member by member. A row that leaves does not come back: later members can lower its mean no more than by
 * the ratio of the weights, and the sums hold probabilities down to 1e-60. */
#include "predict/exact.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

ll_status lli_exact_init(ll_context *ctx, lli_exact *x, int64_t rows, int64_t K) {
    *x = (lli_exact){.K = K};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &x->mean, rows, sizeof *x->mean));
    LLI_DO(lli_memory_new(ctx, &x->truth, rows, sizeof *x->truth));
    LLI_DO(lli_memory_new(ctx, &x->saturated, rows, sizeof *x->saturated));
    LLI_DO(lli_memory_new(ctx, &x->low, rows, sizeof *x->low));
    LLI_DO(lli_memory_new(ctx, &x->deep, rows, sizeof *x->deep));
    LLI_DO(lli_memory_new(ctx, &x->workspace, rows * K, LLI_LOGMEAN_DOUBLES * sizeof *x->workspace));
    LLI_DO(lli_memory_new(ctx, &x->logp, K, sizeof *x->logp));
    for (int64_t i = 0; i < rows; i++)
        lli_logmean_init(&x->mean[i], K, x->workspace + i * LLI_LOGMEAN_DOUBLES * K);
done:
    if (status != LL_OK)
        lli_exact_release(x);
    return status;
}

void lli_exact_release(lli_exact *x) {
    void *blocks[] = {x->mean, x->truth, x->saturated, x->low, x->deep, x->workspace, x->logp};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    *x = (lli_exact){0};
}

void lli_exact_clear(lli_exact *x, int64_t n, bool every) {
    x->every = every;
    memset(x->deep, every, (size_t)n * sizeof *x->deep);
    memset(x->saturated, true, (size_t)n * sizeof *x->saturated);
    memset(x->low, true, (size_t)n * sizeof *x->low);
    x->weight = 0;
}

/* Whether the true class of row i is still low: at the first member of the chunk where scores tell, else after the chunk. */
static bool is_low(const lli_tally *t, const lli_members *m, int64_t i, int32_t truth) {
    return m->truth ? t->nll[i] > -LLI_LOGMEAN_LEAST_LOG : lli_tally_mean(t, i, truth) < LLI_LOGMEAN_LEAST;
}

static bool is_deep(const lli_tally *t, int64_t i) {
    for (int64_t k = 0; k < t->K; k++)
        if (!(lli_tally_mean(t, i, k) >= LLI_LOGMEAN_LEAST))
            return true;
    return false;
}

/* Updates saturated, low and deep; false: no row is any of them. */
static bool look(lli_exact *x, const lli_tally *t, const lli_members *m, const int32_t *truth) {
    bool first = t->members == m->count, any = false;
    for (int64_t i = 0; i < t->n; i++) {
        x->saturated[i] = x->saturated[i] && -lli_tally_rest(t, i, t->first_top[i]) < LLI_LOGMEAN_LEAST;
        x->low[i] = x->low[i] && truth && is_low(t, m, i, truth[i]);
        x->deep[i] = x->deep[i] && is_deep(t, i);
        any |= x->saturated[i] || x->low[i] || x->deep[i];
        if (first && (x->saturated[i] || x->deep[i]))
            lli_logmean_clear(&x->mean[i]);
        if (first && x->low[i])
            x->truth[i] = (lli_logsum){0};
    }
    return any;
}

/* Member `a` of the chunk, of weight m->weight[a], the last of members that weigh `weight` together. */
static void add_member(lli_exact *x, lli_tally *t, const lli_members *m, int64_t a, double weight, const int32_t *truth) {
    int64_t rows = lli_tally_padded(t->n);
    const float *logits = t->odds + a * rows * t->K;
    for (int64_t i = 0; i < t->n; i++) {
        double logtail, *nll = &t->nll[a * rows + i];
        if (x->low[i] && m->truth && !(*nll > -LLI_LOGMEAN_LEAST_LOG))
            x->low[i] = false;
        if (!x->saturated[i] && !x->low[i] && !x->deep[i])
            continue;
        for (int64_t k = 0; k < t->K; k++)
            x->logp[k] = (double)logits[lli_tally_place(i, k, t->K)];
        lli_logmean_softmax(x->logp, &logtail, x->logp, t->K);
        if (x->saturated[i] || x->deep[i])
            lli_logmean_add(&x->mean[i], x->logp, logtail, m->weight[a]);
        if (!x->low[i])
            continue;
        lli_logmean_add_term(&x->truth[i], x->logp[truth[i]], m->weight[a]);
        if (m->truth)
            *nll = -lli_logmean_log_sum(&x->truth[i], weight);
    }
}

void lli_exact_add(lli_exact *x, lli_tally *t, const lli_kernels *kernels, const lli_members *m, const int32_t *truth) {
    bool any = look(x, t, m, truth);
    if (any && m->draw)
        m->draw(t, m);
    else if (any)
        kernels->member_logits(t, m);
    for (int64_t a = 0; a < m->count; a++) {
        x->weight += m->weight[a];
        if (any)
            add_member(x, t, m, a, x->weight, truth);
    }
}

lli_verdict lli_exact_verdict(const lli_exact *x, const lli_tally *t, int64_t i) {
    lli_verdict v = lli_sums_verdict(t, i);
    if (x->saturated[i])
        lli_logmean_verdict(&v, &x->mean[i]);
    return v;
}

void lli_exact_logs(const lli_exact *x, const lli_tally *t, int64_t i, double *logp) {
    for (int64_t k = 0; k < t->K; k++)
        logp[k] = x->deep[i]             ? lli_logmean_log(&x->mean[i], k)
                  : k == t->first_top[i] ? log1p(lli_tally_rest(t, i, k))
                                         : log(lli_tally_mean(t, i, k));
}

double lli_exact_log_true(const lli_exact *x, const lli_tally *t, int64_t i, int32_t truth) {
    if (x->low[i])
        return lli_logmean_log_sum(&x->truth[i], x->weight);
    return truth == t->first_top[i] ? log1p(lli_tally_rest(t, i, truth)) : log(lli_tally_mean(t, i, truth));
}
