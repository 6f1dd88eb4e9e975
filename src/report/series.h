/* SPDX-License-Identifier: MIT */
/* What the figures of a page are drawn from: for every method and confidence the exact cuts, and the names of things. */
#ifndef LLI_REPORT_SERIES_H
#define LLI_REPORT_SERIES_H

#include "metrics/curve.h"
#include "report/page.h"

enum { LLI_CUTS_MAX = 1001 };

/* The thresholds of one confidence of one method. With more distinct confidences than LLI_CUTS_MAX: for each of the coverages 0, 0.001,
 * ..., 1 the smallest attainable one that is not below. */
typedef struct lli_series {
    int64_t count;       /* of cuts; 0 = this confidence does not exist */
    lli_curve_step *cut; /* [count], by rising coverage; marked = errors */
} lli_series;

typedef struct lli_view {
    const lli_page *page;
    lli_series (*series)[LL_CONFIDENCE_COUNT]; /* [page->count] */
    int64_t best;                              /* method of the least AURC; 0 if there is none */
    ll_confidence best_by;                     /* and its confidence */
} lli_view;

ll_status lli_view_init(lli_view *view, ll_context *ctx, const lli_page *page) LL_CHECK_RESULT;
void lli_view_release(lli_view *view);

/* The first cut that accepts this confidence. */
int64_t lli_series_find(const lli_series *series, double confidence);
double lli_series_risk(const lli_series *series, int64_t i);
/* The confidence of least AURC among sr, std, hq; -1 if none is defined. */
int lli_view_best_by(const ll_evaluation *evaluation);
bool lli_view_has(const lli_view *view, ll_confidence c); /* any method has it */
bool lli_view_any(const lli_view *view);                  /* there is a series at all */

void lli_view_class(lli_text *out, const lli_view *view, int64_t k); /* name of class k, escaped */

#endif
