/* SPDX-License-Identifier: MIT */
/* Cuts for all methods and confidences. */
#include "report/series.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "metrics/outcome.h"
#include "report/html.h"

static double coverage_of(const lli_curve *curve, int64_t i) {
    return (double)curve->step[i].accepted / (double)curve->n;
}

static ll_status pick(lli_series *series, ll_context *ctx, const lli_curve *curve) {
    LLI_TRY(lli_memory_new(ctx, &series->cut, LLI_MIN(curve->steps, LLI_CUTS_MAX), sizeof *series->cut));
    if (curve->steps <= LLI_CUTS_MAX) {
        for (int64_t i = 0; i < curve->steps; i++)
            series->cut[series->count++] = curve->step[i];
        return LL_OK;
    }
    int64_t at = 0, last = -1;
    for (int g = 0; g < LLI_CUTS_MAX; g++) {
        while (at + 1 < curve->steps && coverage_of(curve, at) < (double)g / (LLI_CUTS_MAX - 1))
            at++;
        if (at != last)
            series->cut[series->count++] = curve->step[at];
        last = at;
    }
    return LL_OK;
}

/* A cut is applied to the confidence itself, so points are grouped by it and not by its tail. */
static ll_status fill(lli_series *series, ll_context *ctx, lli_curve *curve, const ll_outcome *points, ll_confidence c,
                      const uint8_t *wrong) {
    if (!lli_outcome_has(points, c))
        return LL_OK;
    lli_curve_clear(curve);
    lli_curve_add(curve, points->confidence[c], points->n, false, wrong, false);
    LLI_TRY(lli_curve_close(ctx, curve));
    return pick(series, ctx, curve);
}

static ll_status fill_method(lli_series series[LL_CONFIDENCE_COUNT], ll_context *ctx, const ll_outcome *points) {
    lli_curve curve = {0};
    uint8_t *wrong = NULL;
    ll_status status;
    LLI_DO(lli_curve_init(&curve, ctx, points->n));
    LLI_DO(lli_memory_new(ctx, &wrong, points->n, 1));
    lli_outcome_mark_errors(wrong, points->label, points);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        LLI_DO(fill(&series[c], ctx, &curve, points, c, wrong));
done:
    lli_curve_release(&curve);
    lli_memory_free(wrong);
    return status;
}

int lli_view_best_by(const ll_evaluation *e) {
    int best = -1;
    for (int c = LL_CONFIDENCE_SR; c <= LL_CONFIDENCE_HQ; c++)
        if (!isnan(e->selective[c].aurc) && (best < 0 || e->selective[c].aurc < e->selective[best].aurc))
            best = c;
    return best;
}

static void choose_best(lli_view *v) {
    double least = INFINITY;
    for (int64_t m = v->page->count; m-- > 0;) /* whatever there is, where no AURC is defined */
        for (ll_confidence c = LL_CONFIDENCE_COUNT; c-- > 0;)
            if (v->series[m][c].count) {
                v->best = m;
                v->best_by = c;
            }
    for (int64_t m = 0; m < v->page->count; m++) {
        const ll_evaluation *e = v->page->methods[m].evaluation;
        int c = lli_view_best_by(e);
        if (c >= 0 && e->selective[c].aurc < least && v->series[m][c].count) {
            least = e->selective[c].aurc;
            v->best = m;
            v->best_by = (ll_confidence)c;
        }
    }
}

ll_status lli_view_init(lli_view *v, ll_context *ctx, const lli_page *page) {
    *v = (lli_view){.page = page};
    LLI_TRY(lli_memory_new(ctx, &v->series, page->count, sizeof *v->series));
    for (int64_t m = 0; m < page->count; m++) {
        if (!page->methods[m].points.n)
            continue;
        LLI_TRY(lli_outcome_check_truth(ctx, page->methods[m].name, &page->methods[m].points));
        LLI_TRY(fill_method(v->series[m], ctx, &page->methods[m].points));
    }
    choose_best(v);
    return LL_OK;
}

void lli_view_release(lli_view *v) {
    for (int64_t m = 0; v->series && m < v->page->count; m++)
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
            lli_memory_free(v->series[m][c].cut);
    lli_memory_free(v->series);
    *v = (lli_view){0};
}

int64_t lli_series_find(const lli_series *s, double confidence) {
    int64_t lo = 0, hi = s->count - 1; /* the last cut accepts everything */
    while (lo < hi) {
        int64_t middle = (lo + hi) / 2;
        if (s->cut[middle].cut <= confidence)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

double lli_series_risk(const lli_series *s, int64_t i) {
    return (double)s->cut[i].marked / (double)s->cut[i].accepted;
}

bool lli_view_has(const lli_view *v, ll_confidence c) {
    for (int64_t m = 0; m < v->page->count; m++)
        if (v->series[m][c].count)
            return true;
    return false;
}

bool lli_view_any(const lli_view *v) {
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (lli_view_has(v, c))
            return true;
    return false;
}

void lli_view_class(lli_text *out, const lli_view *v, int64_t k) {
    if (k < v->page->class_count)
        lli_html_text(out, v->page->class_names[k]);
    else
        lli_text_add(out, "%" PRId64, k);
}
