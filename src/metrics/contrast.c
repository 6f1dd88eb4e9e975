/* SPDX-License-Identifier: MIT */
/* Contributions of rows are subtracted; what jumps from cut to cut is resampled, with the same weights for both. */
#include "metrics/contrast.h"

#include <math.h>

#include "base/memory.h"
#include "metrics/influence.h"
#include "metrics/interval.h"
#include "metrics/ood.h"
#include "metrics/outcome.h"
#include "metrics/proper_scores.h"
#include "metrics/resample.h"
#include "metrics/selective.h"
#include "metrics/special.h"
#include "metrics/statistic.h"

typedef struct side {
    const ll_outcome *points, *out_points; /* out_points NULL where there are none */
    uint8_t *mark, *code;                  /* [m] */
    double *x;                             /* [m] what ranks, more = surer */
    double *rows;                          /* [2,m] */
    int64_t *place;                        /* [m] of the second: where in the first's list its i-th point stands */
    lli_curve curve;
} side;

typedef struct work {
    ll_context *ctx;
    ll_difference *out;
    side side[2];
    int64_t n, m; /* points, and with the out points */
    double z;
    const lli_contrast_plan *plan;
} work;

static void differ(work *w, ll_metric metric, double first, double second, double error, bool less_is_better) {
    double d = second - first;
    w->out[metric] = (ll_difference){
        .value = d, .interval = lli_interval_normal(d, error, w->z), .p = lli_interval_p(d, error), .less_is_better = less_is_better};
}

static void differ_accuracy(work *w) {
    int64_t won = 0, lost = 0;
    for (int64_t i = 0; i < w->n; i++) {
        won += w->side[0].mark[i] && !w->side[1].mark[i];
        lost += !w->side[0].mark[i] && w->side[1].mark[i];
    }
    w->out[LL_METRIC_ACCURACY] = (ll_difference){.value = (double)(won - lost) / (double)w->n,
                                                 .interval = lli_interval_agresti_min(won, lost, w->n, w->z),
                                                 .p = lli_interval_mcnemar(won, lost)};
}

/* sqrt(sum (b - a - mean)^2 / scale): of contributions, whose mean is 0, scale is 1; of scores it is n (n - 1). */
static double distance(const double *a, const double *b, int64_t n, double mean, double scale) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
    return sqrt(sum / scale);
}

static ll_status differ_scores(work *w) {
    lli_proper_scores s[2];
    double n = (double)w->n;
    for (int k = 0; k < 2; k++) {
        const ll_outcome *p = w->side[k].points;
        if (!p->probs.data)
            return LL_OK;
        LLI_TRY(lli_proper_scores_measure(&s[k], w->ctx, &p->probs, p->truth, p->log_true, w->side[k].rows));
    }
    const double *a = w->side[0].rows, *b = w->side[1].rows;
    differ(w, LL_METRIC_NLL, s[0].nll, s[1].nll, distance(a, b, w->n, s[1].nll - s[0].nll, n * (n - 1)), true);
    differ(w, LL_METRIC_BRIER, s[0].brier, s[1].brier, distance(a + w->n, b + w->n, w->n, s[1].brier - s[0].brier, n * (n - 1)), true);
    return LL_OK;
}

/* x and mark of all m points, for one of the two questions: are the errors, or the out points, less sure than the others? `cuts`: by the
 * confidence itself, to which a cut is applied, instead of its tail. */
static void rank_errors(work *w, ll_confidence by, bool cuts) {
    for (int k = 0; k < 2; k++) {
        side *s = &w->side[k];
        bool falling;
        const double *tail = lli_outcome_ranking(&falling, s->points, by, NULL);
        for (int64_t i = 0; i < w->n; i++)
            s->x[i] = cuts ? s->points->confidence[by][i] : falling ? -tail[i] : tail[i];
        lli_outcome_mark_errors(s->mark, s->points->label, s->points);
    }
}

static void rank_out_points(work *w, ll_confidence by) {
    for (int k = 0; k < 2; k++) {
        side *s = &w->side[k];
        bool falling;
        const double *in = lli_outcome_ranking(&falling, s->points, by, s->out_points);
        const double *out = lli_outcome_ranking(&falling, s->out_points, by, s->points);
        for (int64_t i = 0; i < w->m; i++) {
            double x = i < w->n ? in[i] : out[i - w->n];
            s->x[i] = falling ? -x : x;
            s->mark[i] = i >= w->n;
        }
    }
}

static ll_status close_curve(work *w, side *s, const double *x, int64_t n, const uint8_t *mark) {
    lli_curve_clear(&s->curve);
    lli_curve_add(&s->curve, x, n, false, mark, false);
    return lli_curve_close(w->ctx, &s->curve);
}

static double rows_error(work *w, int64_t n, lli_ranking ranking) {
    for (int k = 0; k < 2; k++)
        lli_influence_rows(w->side[k].rows, &w->side[k].curve, ranking);
    return distance(w->side[0].rows, w->side[1].rows, n, 0, 1);
}

static ll_status differ_rankings(work *w, ll_confidence by) {
    static const struct {
        ll_metric metric;
        lli_ranking ranking;
        size_t offset;
    } metrics[] = {{LL_METRIC_AURC, LLI_RANKING_AURC, offsetof(ll_selective, aurc)},
                   {LL_METRIC_EAURC, LLI_RANKING_EAURC, offsetof(ll_selective, eaurc)},
                   {LL_METRIC_AUGRC, LLI_RANKING_AUGRC, offsetof(ll_selective, augrc)},
                   {LL_METRIC_FAILURE_AUROC, LLI_RANKING_AUROC, offsetof(ll_selective, failure_auroc)}};
    ll_selective s[2];
    rank_errors(w, by, false);
    for (int k = 0; k < 2; k++) {
        LLI_TRY(close_curve(w, &w->side[k], w->side[k].x, w->n, w->side[k].mark));
        lli_selective_measure(&s[k], &w->side[k].curve, false);
    }
    for (size_t m = 0; m < LLI_COUNT(metrics); m++) {
        double value[2];
        for (int k = 0; k < 2; k++)
            value[k] = *(const double *)((const char *)&s[k] + metrics[m].offset);
        differ(w, metrics[m].metric, value[0], value[1], rows_error(w, w->n, metrics[m].ranking), metrics[m].ranking != LLI_RANKING_AUROC);
    }
    return LL_OK;
}

/* One list for both: by the first's confidence, ties by the second's, so that no tie is left to the order of the rows unless the rows are
 * equal. Weights belong to its places, with `kinds` those of marked points to places among the marked; the second's own list looks them
 * up. */
static ll_status join_lists(work *w, int64_t n, bool kinds) {
    side *a = &w->side[0], *b = &w->side[1];
    int64_t next[2][2] = {{0, 0}, {0, 0}}, *number = a->place; /* of the i-th of the second's list, in its kind */
    LLI_TRY(close_curve(w, b, b->x, n, b->mark));
    next[0][1] = n - b->curve.marked; /* marked ones behind all others */
    for (int64_t i = 0; i < n; i++) {
        int64_t row = lli_curve_row(&b->curve, i);
        a->rows[i] = a->x[row];
        a->code[i] = a->mark[row];
        number[i] = next[0][kinds && lli_curve_is_marked(&b->curve, i)]++;
    }
    LLI_TRY(close_curve(w, a, a->rows, n, a->code));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = lli_curve_row(&a->curve, i);
        b->place[number[at]] = next[1][kinds && lli_curve_is_marked(&a->curve, i)]++;
    }
    lli_statistic_code(a->code, &a->curve);
    lli_statistic_code(b->code, &b->curve);
    return LL_OK;
}

/* The statistic of both, 2000 times with the same weights. */
static ll_status differ_resampled(work *w, ll_metric metric, lli_statistic *statistic, const void *const args[2], int64_t n_out,
                                  double difference, bool less_is_better) {
    lli_statistic *const functions[] = {statistic, statistic};
    lli_resample plan = {.n = w->n, .n_out = n_out, .seed = w->plan->seed, .count = 2, .statistic = functions, .arg = args};
    double *values;
    LLI_TRY(lli_memory_new(w->ctx, &values, 2 * LLI_RESAMPLE_DRAWS, sizeof *values));
    ll_status status = lli_resample_run(values, w->ctx, &plan);
    int64_t above = 1, below = 1;
    for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++) {
        values[d] = values[LLI_RESAMPLE_DRAWS + d] - values[d];
        above += values[d] >= 0;
        below += values[d] <= 0;
    }
    if (status == LL_OK)
        w->out[metric] = (ll_difference){.value = difference,
                                         .interval = lli_resample_middle(values, w->plan->level),
                                         .p = fmin(1, 2 * (double)LLI_MIN(above, below) / (LLI_RESAMPLE_DRAWS + 1)),
                                         .less_is_better = less_is_better};
    lli_memory_free(values);
    return status;
}

static ll_status differ_cuts(work *w, ll_confidence by) {
    rank_errors(w, by, true);
    LLI_TRY(join_lists(w, w->n, false));
    lli_statistic_cut cut[2];
    ll_threshold at[2];
    for (int k = 0; k < 2; k++) {
        cut[k] = (lli_statistic_cut){.code = w->side[k].code, .place = k ? w->side[1].place : NULL, .n = w->n, .risk = w->plan->risk};
        lli_selective_at_risk(&at[k], &w->side[k].curve, w->plan->risk);
    }
    return differ_resampled(w, LL_METRIC_COVERAGE_AT_RISK, lli_statistic_coverage, (const void *const[]){&cut[0], &cut[1]}, 0,
                            at[1].coverage - at[0].coverage, false);
}

static ll_status differ_detection(work *w, ll_confidence by) {
    lli_statistic_out far[2];
    ll_ood s[2];
    rank_out_points(w, by);
    for (int k = 0; k < 2; k++) {
        LLI_TRY(close_curve(w, &w->side[k], w->side[k].x, w->m, w->side[k].mark));
        lli_ood_measure(&s[k], &w->side[k].curve, LLI_OOD_STEP);
    }
    differ(w, LL_METRIC_OOD_AUROC, s[0].auroc, s[1].auroc, rows_error(w, w->m, LLI_RANKING_AUROC), false);
    LLI_TRY(join_lists(w, w->m, true));
    for (int k = 0; k < 2; k++) {
        int64_t *place = k ? w->side[1].place : NULL;
        far[k] = (lli_statistic_out){
            .code = w->side[k].code, .place = place, .out_place = place ? place + w->n : NULL, .n = w->n, .n_out = w->m - w->n};
    }
    return differ_resampled(w, LL_METRIC_OOD_FPR95, lli_statistic_fpr95, (const void *const[]){&far[0], &far[1]}, w->m - w->n,
                            s[1].fpr95 - s[0].fpr95, true);
}

static ll_status side_init(work *w, side *s, const ll_outcome *points, const ll_outcome *out_points) {
    s->points = points;
    s->out_points = out_points;
    LLI_TRY(lli_memory_new(w->ctx, &s->mark, w->m, 1));
    LLI_TRY(lli_memory_new(w->ctx, &s->code, w->m, 1));
    LLI_TRY(lli_memory_new(w->ctx, &s->x, w->m, sizeof *s->x));
    LLI_TRY(lli_memory_new(w->ctx, &s->rows, 2 * w->m, sizeof *s->rows));
    LLI_TRY(lli_memory_new(w->ctx, &s->place, w->m, sizeof *s->place));
    lli_outcome_mark_errors(s->mark, points->label, points);
    return lli_curve_init(&s->curve, w->ctx, w->m);
}

static void side_release(side *s) {
    lli_memory_free(s->mark);
    lli_memory_free(s->code);
    lli_memory_free(s->x);
    lli_memory_free(s->rows);
    lli_memory_free(s->place);
    lli_curve_release(&s->curve);
}

static void undefined(ll_difference out[LL_METRIC_COUNT]) {
    for (int m = 0; m < LL_METRIC_COUNT; m++)
        out[m] = (ll_difference){.value = NAN, .interval = lli_interval_none, .p = NAN, .p_adjusted = NAN};
}

ll_status lli_contrast_measure(ll_difference out[LL_METRIC_COUNT], ll_context *ctx, const lli_contrast_side *first,
                               const lli_contrast_side *second, const lli_contrast_plan *plan) {
    ll_confidence by = plan->by;
    bool out_points = first->out_points && second->out_points;
    work w = {.ctx = ctx, .out = out, .n = first->points->n, .plan = plan};
    ll_status status;
    w.m = w.n + (out_points ? first->out_points->n : 0);
    w.z = lli_special_normal_quantile((1 + plan->level) / 2);
    undefined(out);
    LLI_DO(side_init(&w, &w.side[0], first->points, first->out_points));
    LLI_DO(side_init(&w, &w.side[1], second->points, second->out_points));
    differ_accuracy(&w);
    LLI_DO(differ_scores(&w));
    if (lli_outcome_has(first->points, by) && lli_outcome_has(second->points, by)) {
        LLI_DO(differ_rankings(&w, by));
        LLI_DO(differ_cuts(&w, by));
        if (out_points && lli_outcome_has(first->out_points, by) && lli_outcome_has(second->out_points, by))
            LLI_DO(differ_detection(&w, by));
    }
done:
    side_release(&w.side[0]);
    side_release(&w.side[1]);
    return status;
}

const char *lli_contrast_word(const ll_difference *difference, double level) {
    if (isnan(difference->p_adjusted))
        return NULL;
    if (!(difference->p_adjusted < 1 - level))
        return "within noise";
    return (difference->value < 0) == difference->less_is_better ? "better" : "worse";
}

ll_status lli_contrast_rows(ll_difference *out, ll_context *ctx, const lli_contrast_side *sides, int64_t count,
                            const lli_contrast_plan *plan) {
    double *p;
    ll_status status = LL_OK;
    LLI_TRY(lli_memory_new(ctx, &p, 2 * count, sizeof *p));
    undefined(out);
    for (int64_t i = 1; i < count; i++)
        if (sides[0].points && sides[i].points)
            LLI_DO(lli_contrast_measure(out + i * LL_METRIC_COUNT, ctx, &sides[0], &sides[i], plan));
        else
            undefined(out + i * LL_METRIC_COUNT);
    for (int m = 0; m < LL_METRIC_COUNT; m++) {
        for (int64_t i = 1; i < count; i++)
            p[i] = out[i * LL_METRIC_COUNT + m].p;
        lli_interval_holm(p + count, p + 1, count - 1);
        for (int64_t i = 1; i < count; i++) {
            ll_difference *d = &out[i * LL_METRIC_COUNT + m];
            d->p_adjusted = p[count + i - 1];
            d->word = lli_contrast_word(d, plan->level);
        }
    }
done:
    lli_memory_free(p);
    return status;
}
