/* SPDX-License-Identifier: MIT */
/* What the figures of a page are drawn from: for every method and confidence the exact cuts, and the names of things. */
#ifndef LLI_REPORT_VIEW_H
#define LLI_REPORT_VIEW_H

#include "metrics/curve.h"
#include "report/page.h"

/* Risks that the page knows the exact cut of. */
enum { LLI_VIEW_RISKS = 7 };
extern const double lli_view_risk_targets[LLI_VIEW_RISKS];

enum { LLI_CUTS_GRID = 1001, LLI_CUTS_MAX = LLI_CUTS_GRID + LLI_VIEW_RISKS + 2 };

/* The thresholds of one confidence of one method. With more distinct confidences than LLI_CUTS_MAX: for each of the coverages 0, 0.001,
 * ..., 1 the smallest attainable one that is not below; the largest coverages that halve the error rate and that keep to each of the
 * targets; the certified one. */
typedef struct lli_view_series {
    int64_t count;       /* of cuts; 0 = this confidence does not exist */
    lli_curve_step *cut; /* [count], by rising coverage; marked = errors */
} lli_view_series;

typedef struct lli_view {
    const lli_page *page;
    lli_view_series (*series)[LL_CONFIDENCE_COUNT]; /* [page->count] */
    const char *recommended, *recommendation;       /* by a comparison that all methods are of: a name, and why; NULL = none */
    int64_t best;                                   /* the recommended method, else that of the least AURC; 0 if there is none */
    ll_confidence best_by;                          /* and its confidence; of the recommended one sr */
} lli_view;

ll_status lli_view_init(lli_view *view, ll_context *ctx, const lli_page *page) LL_CHECK_RESULT;
void lli_view_release(lli_view *view);

/* The first cut that accepts this confidence. */
int64_t lli_view_find(const lli_view_series *series, double confidence);
double lli_view_risk(const lli_view_series *series, int64_t i);
/* The confidence of least AURC among sr, std, hq; -1 if none is defined. */
int lli_view_best_by(const ll_evaluation *evaluation);
bool lli_view_has(const lli_view *view, ll_confidence c); /* any method has it */
bool lli_view_any(const lli_view *view);                  /* there is a series at all */

const char *lli_view_entry(const lli_page_method *method, const char *key); /* of its metadata; NULL if there is none */
void lli_view_class(lli_text *out, const lli_view *view, int64_t k);        /* name of class k, escaped */

#endif
