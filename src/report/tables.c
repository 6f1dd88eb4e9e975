/* SPDX-License-Identifier: MIT */
/* The numbers of all methods as tables. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/summary.h"

void lli_tables_open(lli_text *out, const char *id, const char *caption, const char *const *columns) {
    lli_text_add(out, "<div class=\"table\"><table id=\"%s\" class=\"sortable\"><caption>%s</caption><thead><tr>", id, caption);
    for (int i = 0; columns[i]; i++) {
        bool text = strcmp(columns[i], "method") == 0 || strcmp(columns[i], "by") == 0 || strcmp(columns[i], "confidence") == 0;
        lli_text_add(out, "<th scope=\"col\"%s><button type=\"button\">%s</button></th>", text ? "" : " class=\"n\"", columns[i]);
    }
    lli_text_add(out, "</tr></thead><tbody>\n");
}

void lli_tables_close(lli_text *out) {
    lli_text_add(
        out, "</tbody></table><div class=\"tools\"><button type=\"button\" class=\"copy\" data-table=\"\">Copy CSV</button></div></div>\n");
}

static void scores(lli_text *out, const lli_view *v) {
    static const char *const columns[] = {"method", "members", "points", "errors",   "accuracy", "NLL",
                                          "Brier",  "ECE",     "MCE",    "min AURC", "by",       NULL};
    lli_tables_open(out, "table-scores", "Scores", columns);
    for (int64_t m = 0; m < v->page->count; m++) {
        const lli_page_method *method = &v->page->methods[m];
        const ll_evaluation *e = method->evaluation;
        int by = lli_view_best_by(e);
        lli_text_add(out, "<tr>");
        lli_html_cell_text(out, method->name);
        lli_text_add(out, "<td class=\"n\" data-v=\"%" PRId64 "\">", method->S);
        if (method->S > 0)
            lli_html_count(out, method->S);
        lli_text_add(out, "</td><td class=\"n\" data-v=\"%" PRId64 "\">", e->n);
        lli_html_count(out, e->n);
        lli_text_add(out, "</td><td class=\"n\" data-v=\"%" PRId64 "\">", e->errors);
        lli_html_count(out, e->errors);
        lli_text_add(out, "</td>");
        const double values[] = {e->accuracy, e->nll, e->brier, e->ece, e->mce, e->min_aurc};
        for (size_t i = 0; i < LLI_COUNT(values); i++)
            lli_html_cell(out, values[i]);
        lli_html_cell_text(out, by >= 0 ? ll_confidence_name((ll_confidence)by) : "");
        lli_text_add(out, "</tr>\n");
    }
    lli_tables_close(out);
}

static void selective(lli_text *out, const lli_view *v) {
    static const char *const columns[] = {"method", "confidence", "AURC", "E-AURC", "AUGRC", "failure AUROC", "ties: best", "worst", NULL};
    lli_tables_open(out, "table-selective", "Selective classification, by confidence", columns);
    for (int64_t m = 0; m < v->page->count; m++)
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            const ll_selective *s = &v->page->methods[m].evaluation->selective[c];
            if (isnan(s->aurc))
                continue;
            lli_text_add(out, "<tr>");
            lli_html_cell_text(out, v->page->methods[m].name);
            lli_html_cell_text(out, ll_confidence_name(c));
            const double values[] = {s->aurc, s->eaurc, s->augrc, s->failure_auroc, s->ties ? s->best : NAN, s->ties ? s->worst : NAN};
            for (size_t i = 0; i < LLI_COUNT(values); i++)
                lli_html_cell(out, values[i]);
            lli_text_add(out, "</tr>\n");
        }
    lli_tables_close(out);
}

static void ood(lli_text *out, const lli_view *v) {
    static const char *const columns[] = {"method", "confidence", "AUROC", "AUPR-in", "AUPR-out", "FPR at 95 % TPR", "base rate", NULL};
    bool any = false;
    for (int64_t m = 0; m < v->page->count; m++)
        any = any || v->page->methods[m].evaluation->has_ood;
    if (!any)
        return;
    lli_tables_open(out, "table-ood", "Out-of-distribution detection, in-distribution positive unless said", columns);
    for (int64_t m = 0; m < v->page->count; m++)
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            const ll_evaluation *e = v->page->methods[m].evaluation;
            if (!e->has_ood || isnan(e->ood[c].auroc))
                continue;
            lli_text_add(out, "<tr>");
            lli_html_cell_text(out, v->page->methods[m].name);
            lli_html_cell_text(out, ll_confidence_name(c));
            const double values[] = {e->ood[c].auroc, e->ood[c].aupr_in, e->ood[c].aupr_out, e->ood[c].fpr95, e->base_rate};
            for (size_t i = 0; i < LLI_COUNT(values); i++)
                lli_html_cell(out, values[i]);
            lli_text_add(out, "</tr>\n");
        }
    lli_tables_close(out);
}

void lli_tables_html(lli_text *out, const lli_view *v) {
    lli_text_add(out,
                 "<section id=\"tables\"><h2>All numbers</h2><p class=\"lead\">A click on a heading sorts. Copies hold every digit.</p>\n");
    scores(out, v);
    selective(out, v);
    ood(out, v);
    lli_text_add(out, "</section>\n");
}
