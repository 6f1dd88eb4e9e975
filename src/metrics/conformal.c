/* SPDX-License-Identifier: MIT */
/* A class is in the set of a row when its score there is at most the quantile of the scores that true classes had on calibration rows. */
#include "metrics/conformal.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/rng.h"
#include "metrics/sort.h"
#include "metrics/special.h"

static const double PENALTY = 0.01;
enum { FREE_CLASSES = 5, BLOCK = 256, CALIBRATION = 0, NEW = 1 };

int64_t lli_conformal_rank(int64_t n, double alpha, double delta) {
    if (isnan(delta)) /* ceil((n+1)(1-alpha)); alpha is a decimal that rounds up or down, and the product is whole where that is meant */
        return n + 1 - (int64_t)floor((double)(n + 1) * alpha * (1 + 1e-14));
    int64_t low = 1, high = n + 1; /* the least rank with P[Bin(n, 1-alpha) >= rank] <= delta */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (lli_special_log_binomial_tail(middle, n, 1 - alpha) <= log(delta))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int64_t lli_conformal_needed(double alpha, double delta) {
    int64_t low = 1, high = 1;
    while (lli_conformal_rank(high, alpha, delta) > high) {
        low = high + 1;
        high *= 2;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (lli_conformal_rank(middle, alpha, delta) <= middle)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* What scoring a row needs. */
typedef struct bench {
    double *p, *score;              /* [K] */
    lli_sort_item *items, *scratch; /* [K] */
} bench;

static void bench_free(bench *b, int count) {
    for (int i = 0; b && i < count; i++) {
        lli_memory_free(b[i].p);
        lli_memory_free(b[i].score);
        lli_memory_free(b[i].items);
        lli_memory_free(b[i].scratch);
    }
    lli_memory_free(b);
}

static ll_status bench_new(ll_context *ctx, bench **out, int count, int64_t K) {
    LLI_TRY(lli_memory_new(ctx, out, count, sizeof **out));
    for (int i = 0; i < count; i++) {
        LLI_TRY(lli_memory_new(ctx, &(*out)[i].p, K, sizeof(double)));
        LLI_TRY(lli_memory_new(ctx, &(*out)[i].score, K, sizeof(double)));
        LLI_TRY(lli_memory_new(ctx, &(*out)[i].items, K, sizeof(lli_sort_item)));
        LLI_TRY(lli_memory_new(ctx, &(*out)[i].scratch, K, sizeof(lli_sort_item)));
    }
    return LL_OK;
}

/* b->score [K] of every class of a row; returns the first class. LAC is -p, which has the order of 1 - p and all its digits. */
static int64_t score_row(bench *b, const lli_conformal_rule *rule, int64_t K, int step, int64_t row) {
    int64_t first = 0;
    if (rule->score == LLI_CONFORMAL_LAC) {
        for (int64_t k = 0; k < K; k++) {
            b->score[k] = -b->p[k];
            first = b->p[k] > b->p[first] ? k : first;
        }
        return first;
    }
    double u = (double)(lli_rng_draw(lli_rng_stream(rule->seed, LLI_PURPOSE_SETS, 0, step), (uint64_t)row) >> 11) * 0x1p-53, before = 0;
    for (int64_t k = 0; k < K; k++)
        b->items[k] = (lli_sort_item){.key = b->p[k], .tag = k};
    lli_sort_descending(b->items, b->scratch, K);
    for (int64_t r = 0; r < K; r++) {
        double p = b->items[r].key, penalty = rule->score == LLI_CONFORMAL_RAPS ? PENALTY * (double)LLI_MAX(0, r + 1 - FREE_CLASSES) : 0;
        b->score[b->items[r].tag] = before + (1 - u) * p + penalty;
        before += p;
    }
    return b->items[0].tag;
}

/* Rows in parallel blocks: scores of true classes, or sets. */
typedef struct work {
    const lli_conformal *c;
    const ll_array *probs;
    int64_t n, row;
    const int32_t *truth; /* calibration: scores of these */
    double *score;        /* [n] */
    uint8_t *set;         /* else sets */
    int32_t *size;
    bench *benches;
} work;

static void decide(uint8_t *set, int32_t *size, const lli_conformal *c, const double *score, int64_t first) {
    memset(set, 0, (size_t)lli_conformal_bytes(c->K));
    *size = 0;
    for (int64_t k = 0; k < c->K; k++)
        if (score[k] <= c->quantile[k] || (k == first && !c->rule.allow_empty)) {
            set[k / 8] = (uint8_t)(set[k / 8] | 1u << (k % 8));
            ++*size;
        }
}

static ll_status run_block(ll_context *ctx, void *arg, int64_t task, int worker) {
    const work *w = arg;
    int64_t K = w->c->K;
    bench *b = &w->benches[worker];
    LLI_TRY(lli_cancel_check(ctx));
    for (int64_t i = task * BLOCK; i < LLI_MIN(w->n, (task + 1) * BLOCK); i++) {
        lli_array_to_f64(b->p, w->probs, i * K, K);
        int64_t first = score_row(b, &w->c->rule, K, w->truth ? CALIBRATION : NEW, w->row + i);
        if (w->truth)
            w->score[i] = b->score[w->truth[i]];
        else
            decide(w->set + i * lli_conformal_bytes(K), &w->size[i], w->c, b->score, first);
    }
    return LL_OK;
}

static ll_status run(ll_context *ctx, work *w) {
    int workers = lli_pool_workers(ctx);
    ll_status status = bench_new(ctx, &w->benches, workers, w->c->K);
    if (status == LL_OK)
        status = lli_pool_run(ctx, run_block, w, (w->n + BLOCK - 1) / BLOCK);
    bench_free(w->benches, workers);
    return status;
}

/* The rank-th smallest of n keys that fall. */
static double quantile_of(const lli_sort_item *items, int64_t n, int64_t rank) {
    return rank <= n ? items[n - rank].key : INFINITY;
}

/* items: scores by falling value with their class as a tag; those of one class keep that order in `own`. */
static void fit_classes(lli_conformal *c, const lli_sort_item *items, lli_sort_item *own, int64_t *start) {
    for (int64_t k = 0, at = 0; k < c->K; at += c->class_n[k++])
        start[k] = at;
    for (int64_t i = 0; i < c->n; i++)
        own[start[items[i].tag]++] = items[i];
    for (int64_t k = 0; k < c->K; k++) {
        int64_t n = c->class_n[k], rank = lli_conformal_rank(n, c->rule.alpha, c->rule.delta);
        c->few[k] = rank > n;
        if (!c->few[k])
            c->quantile[k] = quantile_of(own + start[k] - n, n, rank);
    }
}

static ll_status fit(ll_context *ctx, lli_conformal *c, const double *score, const int32_t *truth) {
    lli_sort_item *items = NULL, *scratch = NULL;
    int64_t *start = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &items, c->n, sizeof *items));
    LLI_DO(lli_memory_new(ctx, &scratch, c->n, sizeof *scratch));
    LLI_DO(lli_memory_new(ctx, &start, c->K, sizeof *start));
    for (int64_t i = 0; i < c->n; i++) {
        items[i] = (lli_sort_item){.key = score[i], .tag = truth[i]};
        c->class_n[truth[i]]++;
    }
    lli_sort_descending(items, scratch, c->n);
    c->rank = lli_conformal_rank(c->n, c->rule.alpha, c->rule.delta);
    c->pooled = quantile_of(items, c->n, c->rank);
    for (int64_t k = 0; k < c->K; k++)
        c->quantile[k] = c->pooled;
    if (c->rule.by_class)
        fit_classes(c, items, scratch, start);
done:
    lli_memory_free(items);
    lli_memory_free(scratch);
    lli_memory_free(start);
    return status;
}

ll_status lli_conformal_fit(ll_context *ctx, lli_conformal *out, const ll_array *probs, const int32_t *truth,
                            const lli_conformal_rule *rule) {
    *out = (lli_conformal){.rule = *rule, .n = probs->shape[0], .K = probs->shape[1]};
    work w = {.c = out, .probs = probs, .n = out->n, .truth = truth};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &out->quantile, out->K, sizeof *out->quantile));
    LLI_DO(lli_memory_new(ctx, &out->class_n, out->K, sizeof *out->class_n));
    LLI_DO(lli_memory_new(ctx, &out->few, out->K, sizeof *out->few));
    LLI_DO(lli_memory_new(ctx, &w.score, out->n, sizeof *w.score));
    LLI_DO(run(ctx, &w));
    LLI_DO(fit(ctx, out, w.score, truth));
done:
    lli_memory_free(w.score);
    if (status != LL_OK)
        lli_conformal_release(out);
    return status;
}

void lli_conformal_release(lli_conformal *c) {
    lli_memory_free(c->quantile);
    lli_memory_free(c->class_n);
    lli_memory_free(c->few);
    *c = (lli_conformal){0};
}

ll_status lli_conformal_sets(ll_context *ctx, const lli_conformal *c, const ll_array *probs, int64_t row, uint8_t *set, int32_t *size) {
    work w = {.c = c, .probs = probs, .n = probs->shape[0], .row = row, .set = set, .size = size};
    return run(ctx, &w);
}
