/* SPDX-License-Identifier: MIT */
/* Cuts for all methods and confidences. */
#include "report/view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "metrics/outcome.h"
#include "metrics/selective.h"
#include "report/html.h"

const double lli_view_risk_targets[LLI_VIEW_RISKS] = {0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001};

static double coverage_of(const lli_curve *curve, int64_t i) {
    return (double)curve->step[i].accepted / (double)curve->n;
}

/* Steps are known by the points they accept. */
typedef struct exact_cuts {
    int64_t accepted[LLI_VIEW_RISKS + 2];
    int count;
} exact_cuts;

static void add_exact(exact_cuts *exact, const lli_curve *curve, double risk) {
    ll_threshold at;
    lli_selective_at_risk(&at, curve, risk);
    if (at.found)
        exact->accepted[exact->count++] = at.accepted;
}

static bool is_exact(const exact_cuts *exact, int64_t accepted) {
    for (int i = 0; i < exact->count; i++)
        if (exact->accepted[i] == accepted)
            return true;
    return false;
}

/* What a cut that need not be the confidence of any point accepts. */
static int64_t accepted_at(const lli_curve *curve, double cut) {
    int64_t accepted = 0;
    for (int64_t i = 0; i < curve->steps && curve->step[i].cut >= cut; i++)
        accepted = curve->step[i].accepted;
    return accepted;
}

static ll_status pick(lli_view_series *series, ll_context *ctx, const lli_curve *curve, double certified) {
    exact_cuts exact = {.count = 0};
    int64_t next = 0; /* place on the grid that has no cut yet */
    LLI_TRY(lli_memory_new(ctx, &series->cut, LLI_MIN(curve->steps, LLI_CUTS_MAX), sizeof *series->cut));
    add_exact(&exact, curve, 0.5 * (double)curve->marked / (double)curve->n);
    for (int t = 0; t < LLI_VIEW_RISKS; t++)
        add_exact(&exact, curve, lli_view_risk_targets[t]);
    exact.accepted[exact.count++] = accepted_at(curve, certified);
    for (int64_t i = 0; i < curve->steps; i++) {
        bool keep = curve->steps <= LLI_CUTS_MAX || is_exact(&exact, curve->step[i].accepted);
        for (; next < LLI_CUTS_GRID && coverage_of(curve, i) >= (double)next / (LLI_CUTS_GRID - 1); next++)
            keep = true;
        if (keep)
            series->cut[series->count++] = curve->step[i];
    }
    return LL_OK;
}

/* A cut is applied to the confidence itself, so points are grouped by it and not by its tail. */
static ll_status fill(lli_view_series *series, ll_context *ctx, lli_curve *curve, const ll_outcome *points, ll_confidence c,
                      const uint8_t *wrong, double certified) {
    if (!lli_outcome_has(points, c))
        return LL_OK;
    lli_curve_clear(curve);
    lli_curve_add(curve, points->confidence[c], points->n, false, wrong, false);
    LLI_TRY(lli_curve_close(ctx, curve));
    return pick(series, ctx, curve, certified);
}

static ll_status fill_method(lli_view_series series[LL_CONFIDENCE_COUNT], ll_context *ctx, const ll_outcome *points,
                             const lli_page_certificate *certificate) {
    lli_curve curve = {0};
    uint8_t *wrong = NULL;
    ll_status status;
    LLI_DO(lli_curve_init(&curve, ctx, points->n));
    LLI_DO(lli_memory_new(ctx, &wrong, points->n, 1));
    lli_outcome_mark_errors(wrong, points->label, points);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        LLI_DO(fill(&series[c], ctx, &curve, points, c, wrong,
                    certificate && certificate->by == c && !isnan(certificate->cut) ? certificate->cut : INFINITY));
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

const char *lli_view_entry(const lli_page_method *m, const char *key) {
    for (int64_t i = 0; i < m->meta_count; i++)
        if (strcmp(m->meta[i].key, key) == 0)
            return m->meta[i].value;
    return NULL;
}

/* The entry that all methods have; NULL where one has none, or another. */
static const char *common(const lli_page *page, const char *key) {
    const char *first = lli_view_entry(&page->methods[0], key);
    for (int64_t m = 1; first && m < page->count; m++) {
        const char *other = lli_view_entry(&page->methods[m], key);
        if (!other || strcmp(first, other) != 0)
            first = NULL;
    }
    return first;
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

/* The words of a comparison, and its method where that is on the page and has cuts of sr. */
static void take_recommendation(lli_view *v) {
    const char *name = common(v->page, LLI_RECOMMENDED_KEY), *why = common(v->page, LLI_RECOMMENDATION_KEY);
    if (!name || !why)
        return;
    v->recommended = name;
    v->recommendation = why;
    for (int64_t m = 0; m < v->page->count; m++)
        if (strcmp(v->page->methods[m].name, name) == 0 && v->series[m][LL_CONFIDENCE_SR].count) {
            v->best = m;
            v->best_by = LL_CONFIDENCE_SR;
        }
}

ll_status lli_view_init(lli_view *v, ll_context *ctx, const lli_page *page) {
    *v = (lli_view){.page = page};
    LLI_TRY(lli_memory_new(ctx, &v->series, page->count, sizeof *v->series));
    for (int64_t m = 0; m < page->count; m++) {
        if (!page->methods[m].points.n)
            continue;
        LLI_TRY(lli_outcome_check_truth(ctx, page->methods[m].name, &page->methods[m].points));
        LLI_TRY(fill_method(v->series[m], ctx, &page->methods[m].points, m == 0 ? page->certificate : NULL));
    }
    choose_best(v);
    take_recommendation(v);
    return LL_OK;
}

void lli_view_release(lli_view *v) {
    for (int64_t m = 0; v->series && m < v->page->count; m++)
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
            lli_memory_free(v->series[m][c].cut);
    lli_memory_free(v->series);
    *v = (lli_view){0};
}

int64_t lli_view_find(const lli_view_series *s, double confidence) {
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

double lli_view_risk(const lli_view_series *s, int64_t i) {
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
