/* SPDX-License-Identifier: MIT */
/* The argmin over finished trials, and their order. */
#include "metrics/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "metrics/sort.h"
#include "metrics/trial_score.h"

const char *ll_split_name(ll_split split) {
    static const char *const names[] = {"val", "test", "all"};
    return (unsigned)split < LL_SPLIT_COUNT ? names[split] : "";
}

ll_status lli_selection_parse(lli_selection *out, ll_context *ctx, const char *protocol, const char *by) {
    bool paper = protocol && strcmp(protocol, "paper") == 0;
    if (protocol && !paper && strcmp(protocol, "honest") != 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`protocol` is %.100s; expected honest or paper", protocol);
    static const char *const words[] = {"aurc", "aurc-hq", "auroc"};
    size_t rule = 0;
    while (by && rule < LLI_COUNT(words) && strcmp(by, words[rule]) != 0)
        rule++;
    if (rule == LLI_COUNT(words))
        return lli_fail(ctx, LL_ERR_USAGE, "`by` is %.100s; expected aurc, aurc-hq or auroc", by);
    if (rule == LLI_SELECTION_AUROC && !paper)
        return lli_fail(ctx, LL_ERR_USAGE, "`by auroc` chooses with the out-of-distribution rows, which only `protocol paper` allows");
    *out = (lli_selection){(lli_selection_rule)rule, paper ? LL_SPLIT_ALL : LL_SPLIT_VAL, paper ? LL_SPLIT_ALL : LL_SPLIT_TEST};
    return LL_OK;
}

double lli_selection_aurc(const ll_score *score, bool hq) {
    double least = fmin(score->aurc[LL_CONFIDENCE_SR], score->aurc[LL_CONFIDENCE_STD]); /* fmin and fmax pass over NaN */
    return hq ? fmin(least, score->aurc[LL_CONFIDENCE_HQ]) : least;
}

double lli_selection_largest(const double values[LL_CONFIDENCE_COUNT], bool hq) {
    double largest = fmax(values[LL_CONFIDENCE_SR], values[LL_CONFIDENCE_STD]);
    return hq ? fmax(largest, values[LL_CONFIDENCE_HQ]) : largest;
}

double lli_selection_value(const lli_selection *s, const ll_trial *trial) {
    if (trial->diverged)
        return INFINITY;
    const ll_score *score = &trial->score[s->chooses];
    bool auroc = s->rule == LLI_SELECTION_AUROC || s->rule == LLI_SELECTION_AUROC_HQ;
    double value = auroc ? -lli_selection_largest(score->auroc, s->rule == LLI_SELECTION_AUROC_HQ)
                         : lli_selection_aurc(score, s->rule == LLI_SELECTION_AURC_HQ);
    return isnan(value) ? INFINITY : value;
}

int64_t lli_selection_best(const lli_selection *s, const ll_trial *trials, int64_t count, const char *method) {
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (method && strcmp(method, trials[i].method) != 0)
            continue;
        double value = lli_selection_value(s, &trials[i]);
        if (value < least) {
            best = i;
            least = value;
        }
    }
    return best;
}

/* Of one method in the order of their places, which are those in memory. */
static int by_method(const void *a, const void *b) {
    const ll_trial *one = *(const ll_trial *const *)a, *other = *(const ll_trial *const *)b;
    int order = strcmp(one->method, other->method);
    return order ? order : one < other ? -1 : one > other;
}

ll_status lli_selection_group(lli_selection_peers *out, ll_context *ctx, const lli_selection *s, const ll_trial *trials, int64_t count) {
    const ll_trial **sorted;
    LLI_TRY(lli_memory_new(ctx, &sorted, count, sizeof *sorted));
    for (int64_t i = 0; i < count; i++)
        sorted[i] = &trials[i];
    if (count > 0)
        qsort(sorted, (size_t)count, sizeof *sorted, by_method);
    for (int64_t begin = 0, end; begin < count; begin = end) {
        lli_selection_peers peers = {sorted[begin] - trials, -1};
        double least = INFINITY;
        for (end = begin; end < count && strcmp(sorted[end]->method, sorted[begin]->method) == 0; end++) {
            double value = lli_selection_value(s, sorted[end]);
            if (value < least) {
                peers.best = sorted[end] - trials;
                least = value;
            }
        }
        for (int64_t i = begin; i < end; i++)
            out[sorted[i] - trials] = peers;
    }
    lli_memory_free(sorted);
    return LL_OK;
}

ll_status lli_selection_order(int64_t *out, ll_context *ctx, const lli_selection *s, const ll_trial *trials, int64_t count) {
    lli_sort_item *items;
    LLI_TRY(lli_memory_new(ctx, &items, 2 * count, sizeof *items));
    for (int64_t i = 0; i < count; i++)
        items[i] = (lli_sort_item){-lli_selection_value(s, &trials[i]), i};
    lli_sort_descending(items, items + count, count);
    for (int64_t i = 0; i < count; i++)
        out[i] = items[i].tag;
    lli_memory_free(items);
    return LL_OK;
}

/* The numbers of a kind by confidence, or NULL. */
static const double *find_kind(const ll_score *score, const char *name, size_t length) {
    for (size_t f = 0; f < lli_trial_score_field_count; f++)
        if (lli_trial_score_fields[f].by_confidence && strlen(lli_trial_score_fields[f].key) == length &&
            memcmp(lli_trial_score_fields[f].key, name, length) == 0)
            return (const double *)(const void *)((const char *)score + lli_trial_score_fields[f].offset);
    return NULL;
}

static double extreme(const char *kind, const ll_score *score, bool auroc_hq) {
    const double *values = find_kind(score, kind, strlen(kind));
    if (!values)
        return NAN;
    return values == score->aurc ? lli_selection_aurc(score, false) : lli_selection_largest(values, values != score->auroc || auroc_hq);
}

double lli_selection_metric(const char *name, const ll_score *score, const ll_score *point, bool auroc_hq) {
    if (strcmp(name, "accuracy") == 0)
        return score->accuracy;
    if (strcmp(name, "nll") == 0)
        return score->nll;
    if (strcmp(name, "ece") == 0)
        return score->ece;
    if (strncmp(name, "min_", 4) == 0 || strncmp(name, "max_", 4) == 0)
        return extreme(name + 4, score, auroc_hq);
    if (strncmp(name, "ratio_", 6) == 0) {
        const double *reference = point ? find_kind(point, name + 6, strlen(name + 6)) : NULL;
        return reference ? extreme(name + 6, score, auroc_hq) / reference[LL_CONFIDENCE_SR] : NAN;
    }
    const char *last = strrchr(name, '_');
    const double *values = last ? find_kind(score, name, (size_t)(last - name)) : NULL;
    for (ll_confidence c = 0; values && c < LL_CONFIDENCE_COUNT; c++)
        if (strcmp(last + 1, ll_confidence_name(c)) == 0)
            return values[c];
    return NAN;
}

void lli_selection_spread(double *mean, double *spread, const double *values, int64_t n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) /* from the first on, so that equal values have no spread at all */
        sum += values[i] - values[0];
    *mean = n > 0 ? values[0] + sum / (double)n : NAN;
    for (int64_t i = 0; i < n; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *spread = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}
