/* SPDX-License-Identifier: MIT */
/* One sentence, four numbers, and what each risk costs. All numbers are those of evaluate and threshold. */
#include "report/summary.h"

#include <inttypes.h>
#include <math.h>

#include "report/certificate_card.h"
#include "report/html.h"

static void card(lli_text *out, const char *name) {
    lli_text_add(out, "<div class=\"card\"><h3>%s</h3><p class=\"big\">", name);
}

static void small_print(lli_text *out) {
    lli_text_add(out, "</p><p>");
}

static void end_card(lli_text *out) {
    lli_text_add(out, "</p></div>\n");
}

static int64_t most_accurate(const lli_view *v) {
    int64_t best = v->recommended ? v->best : 0;
    for (int64_t m = 1; m < v->page->count && !v->recommended; m++)
        if (v->page->methods[m].evaluation->accuracy > v->page->methods[best].evaluation->accuracy)
            best = m;
    return best;
}

static void accuracy_card(lli_text *out, const lli_view *v) {
    const lli_page_method *m = &v->page->methods[most_accurate(v)];
    card(out, "Right, if it must always answer");
    lli_html_percent(out, m->evaluation->accuracy);
    small_print(out);
    lli_html_text(out, m->name);
    lli_text_add(out, ": ");
    lli_html_count(out, m->evaluation->errors);
    lli_text_add(out, " of ");
    lli_html_count(out, m->evaluation->n);
    lli_text_add(out, " wrong");
    end_card(out);
}

static void half_card(lli_text *out, const ll_threshold *half) {
    card(out, "To halve its error rate it answers");
    if (half->found)
        lli_html_percent(out, half->coverage);
    else
        lli_text_add(out, "\xe2\x80\x93");
    small_print(out);
    if (half->found) {
        lli_html_count(out, half->n - half->accepted);
        lli_text_add(out, " points go to a human");
    } else {
        lli_text_add(out, "no cut does it");
    }
    end_card(out);
}

static void ranking_card(lli_text *out, const lli_view *v) {
    const lli_page_method *m = &v->page->methods[v->best];
    card(out, "Knows its errors");
    double auroc = m->evaluation->selective[v->best_by].failure_auroc;
    if (isnan(auroc))
        lli_text_add(out, "\xe2\x80\x93");
    else
        lli_html_percent(out, auroc);
    small_print(out);
    lli_text_add(out, isnan(auroc) ? "needs both right and wrong answers" : "chance that a right answer is surer than a wrong one (");
    if (!isnan(auroc)) {
        lli_html_text(out, m->name);
        lli_text_add(out, ", %s)", ll_confidence_name(v->best_by));
    }
    end_card(out);
}

static void calibration_card(lli_text *out, const lli_view *v) {
    const lli_page_method *m = &v->page->methods[v->best];
    card(out, "Confidence is off by");
    lli_html_percent(out, m->evaluation->ece);
    small_print(out);
    lli_text_add(out, "on average (ECE of ");
    lli_html_text(out, m->name);
    lli_text_add(out, ")");
    end_card(out);
}

/* What lastlayer compare recommended, in its words: the page has no rule of its own. */
static void recommendation_card(lli_text *out, const lli_view *v) {
    if (!v->recommended)
        return;
    lli_text_add(out,
                 "<div class=\"card recommendation\" id=\"recommendation\"><h3>Recommended by lastlayer compare</h3><p class=\"big\">");
    lli_html_text(out, v->recommended);
    lli_text_add(out, "</p><p>");
    lli_html_text(out, v->recommendation);
    lli_text_add(out, "</p></div>\n");
}

/* The sentence. `half` is NULL where no confidence exists. */
static void headline(lli_text *out, const lli_view *v, const ll_threshold *half) {
    const lli_page_method *m = &v->page->methods[v->best];
    const ll_evaluation *e = m->evaluation;
    lli_text_add(out, "<p class=\"headline\">");
    if (e->errors == 0) {
        lli_html_text(out, m->name);
        lli_text_add(out, " makes no error on these ");
        lli_html_count(out, e->n);
        lli_text_add(out, " points: there is nothing to abstain from here.");
    } else if (half && half->found && half->accepted < half->n) {
        lli_text_add(out, "Hand the <strong>");
        lli_html_percent(out, 1 - half->coverage);
        lli_text_add(out, "</strong> of the points that ");
        lli_html_text(out, m->name);
        lli_text_add(out, " is least sure of to a human, and the error rate of the rest falls from <strong>");
        lli_html_percent(out, (double)e->errors / (double)e->n);
        lli_text_add(out, "</strong> to <strong>");
        lli_html_percent(out, half->risk);
        lli_text_add(out, "</strong>.");
    } else {
        lli_html_text(out, m->name);
        lli_text_add(out, " is wrong on <strong>");
        lli_html_percent(out, (double)e->errors / (double)e->n);
        lli_text_add(out, half ? "</strong> of the points, and no cut of its confidence halves that." : "</strong> of the points.");
    }
    lli_text_add(out, "</p>\n");
}

/* Coverage at a few risks, for each method by its best confidence. */
static ll_status risks(lli_text *out, const lli_view *v) {
    static const char *const names[LLI_VIEW_RISKS] = {"20 %", "10 %", "5 %", "2 %", "1 %", "0.5 %", "0.1 %"};
    const char *columns[LLI_VIEW_RISKS + 3] = {"method", "by"};
    size_t count = 2, first = LLI_VIEW_RISKS;
    for (int64_t m = 0; m < v->page->count; m++) {
        const ll_evaluation *e = v->page->methods[m].evaluation;
        for (size_t t = 0; t < LLI_VIEW_RISKS; t++)
            if (lli_view_risk_targets[t] * (double)e->n < (double)e->errors)
                first = LLI_MIN(first, t);
    }
    if (first == LLI_VIEW_RISKS)
        return LL_OK;
    size_t last = LLI_MIN(first + 5, LLI_VIEW_RISKS);
    for (size_t t = first; t < last; t++)
        columns[count++] = names[t];
    lli_tables_open(out, "table-risks", "Points answered when at most this share of the answers may be wrong", columns);
    for (int64_t m = 0; m < v->page->count; m++) {
        int by = lli_view_best_by(v->page->methods[m].evaluation);
        if (by < 0 || !v->series[m][by].count)
            continue;
        lli_text_add(out, "<tr>");
        lli_html_cell_text(out, v->page->methods[m].name);
        lli_html_cell_text(out, ll_confidence_name((ll_confidence)by));
        for (size_t t = first; t < last; t++) {
            ll_threshold at;
            LLI_TRY(ll_threshold_at_risk(&at, out->ctx, &v->page->methods[m].points, (ll_confidence)by, lli_view_risk_targets[t]));
            lli_html_cell_percent(out, at.found ? at.coverage : 0);
        }
        lli_text_add(out, "</tr>\n");
    }
    lli_tables_close(out);
    return LL_OK;
}

ll_status lli_summary_html(lli_text *out, const lli_view *v) {
    const lli_page_method *m = &v->page->methods[v->best];
    ll_threshold half = {.found = false};
    bool any = lli_view_any(v);
    if (any)
        LLI_TRY(
            ll_threshold_at_risk(&half, out->ctx, &m->points, v->best_by, 0.5 * (double)m->evaluation->errors / (double)m->evaluation->n));
    lli_text_add(out, "<section id=\"summary\" class=\"summary\">\n");
    headline(out, v, any ? &half : NULL);
    lli_text_add(out, "<div class=\"cards\">\n");
    accuracy_card(out, v);
    if (any) {
        half_card(out, &half);
        ranking_card(out, v);
    }
    if (!isnan(m->evaluation->ece))
        calibration_card(out, v);
    lli_text_add(out, "</div>\n");
    recommendation_card(out, v);
    lli_certificate_card_html(out, v);
    LLI_TRY(risks(out, v));
    lli_text_add(out, "</section>\n");
    return LL_OK;
}
