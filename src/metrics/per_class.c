/* SPDX-License-Identifier: MIT */
/* One pass over the points. */
#include "metrics/per_class.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"

ll_status lli_per_class_majority(int64_t *majority, int64_t *count, ll_context *ctx, const int32_t *truth, int64_t n, int64_t K) {
    int64_t *points = NULL;
    LLI_TRY(lli_memory_new(ctx, &points, K, sizeof *points));
    for (int64_t i = 0; i < n; i++)
        points[truth[i]]++;
    *majority = 0;
    for (int64_t k = 1; k < K; k++)
        if (points[k] > points[*majority])
            *majority = k;
    *count = points[*majority];
    lli_memory_free(points);
    return LL_OK;
}

static double share(int64_t part, int64_t whole) {
    return whole ? (double)part / (double)whole : NAN;
}

void lli_per_class_measure(ll_class_score *score, int64_t K, const int32_t *decided, const ll_outcome *points, double cut) {
    const double *sr = points->confidence[LL_CONFIDENCE_SR];
    for (int64_t i = 0; i < points->n; i++) {
        ll_class_score *s = &score[points->truth[i]], *d = &score[decided[i]];
        bool right = s == d, answered = sr && sr[i] >= cut;
        s->n++;
        d->decided++;
        s->right += right;
        s->answered += answered;
        s->answered_right += answered && right;
        d->answers += answered;
    }
    for (int64_t k = 0; k < K; k++) {
        ll_class_score *s = &score[k];
        s->precision = share(s->right, s->decided);
        s->recall = share(s->right, s->n);
        s->coverage = share(s->answered, s->n);
        s->risk = share(s->answered - s->answered_right, s->answered);
    }
}

static void warn_classes(ll_context *ctx, const ll_evaluation *e) {
    enum { NAMED = 5 };
    int64_t empty = 0, silent = 0;
    for (int64_t k = 0; k < e->classes; k++)
        empty += e->by_class[k].n == 0;
    if (e->classes > 1 && empty == 1 && e->by_class[0].n == 0)
        lli_log(ctx, LL_LOG_WARNING, "class 0 has no rows; do labels start at 1? Classes are counted from 0");
    for (int64_t k = 0; k < e->classes && !isnan(e->class_cut); k++) {
        bool never = e->by_class[k].n > 0 && e->by_class[k].answers == 0;
        if (never && silent < NAMED)
            lli_log(ctx, LL_LOG_WARNING,
                    "class %" PRId64 " is never answered: of its %" PRId64 " rows %" PRId64 " are decided rightly, and none of its answers "
                    "reaches the cut of risk %g, sr >= %g",
                    k, e->by_class[k].n, e->by_class[k].right, e->rules.risk, e->class_cut);
        silent += never;
    }
    if (silent > NAMED)
        lli_log(ctx, LL_LOG_WARNING, "%" PRId64 " of %" PRId64 " classes are never answered, those above and others", silent, e->classes);
}

void lli_per_class_warn(ll_context *ctx, const ll_evaluation *e) {
    if (e->by_class)
        warn_classes(ctx, e);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (e->intervals.failure_auroc[c].hi < 0.5)
            lli_log(ctx, LL_LOG_WARNING, "%s ranks backwards here (AUROC %.2g): its surest points are wrong more often; set no cut on it",
                    ll_confidence_name(c), e->selective[c].failure_auroc);
    if (e->intervals.accuracy.hi < e->majority_accuracy)
        lli_log(ctx, LL_LOG_WARNING,
                "the accuracy %.4g is below that of always deciding class %" PRId64 ", %.4g; do the labels belong to these rows?",
                e->accuracy, e->majority, e->majority_accuracy);
}
