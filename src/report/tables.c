/* SPDX-License-Identifier: MIT */
/* The numbers of all methods as tables. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "metrics/interval.h"
#include "report/html.h"
#include "report/noise.h"
#include "report/summary.h"

void lli_tables_open(lli_text *out, const char *id, const char *caption, const char *const *columns) {
    lli_text_add(out,
                 "<div class=\"table\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table id=\"%s\" "
                 "class=\"sortable\"><caption>%s</caption><thead><tr>",
                 caption, id, caption);
    for (int i = 0; columns[i]; i++) {
        bool text = strcmp(columns[i], "method") == 0 || strcmp(columns[i], "by") == 0 || strcmp(columns[i], "class") == 0 ||
                    strcmp(columns[i], "confidence") == 0 || strcmp(columns[i], "group") == 0;
        lli_text_add(out, "<th scope=\"col\"%s><button type=\"button\">%s</button></th>", text ? "" : " class=\"n\"", columns[i]);
    }
    lli_text_add(out, "</tr></thead><tbody>\n");
}

void lli_tables_close(lli_text *out) {
    lli_text_add(out, "</tbody></table></div><p class=\"hint more\">More columns: move the table sideways.</p><div class=\"tools\"><button "
                      "type=\"button\" class=\"copy\" data-table=\"\">Copy CSV</button></div></div>\n");
}

/* What a comparison recorded about a method: its group, and the bytes of its ensemble. */
static void add_compared(lli_text *out, const lli_page_method *method) {
    const char *group = lli_view_entry(method, LLI_GROUP_KEY), *text = lli_view_entry(method, LLI_BYTES_KEY);
    int64_t bytes = 0;
    for (const char *p = text; p && *p >= '0' && *p <= '9' && bytes < INT64_MAX / 100; p++)
        bytes = 10 * bytes + (*p - '0');
    lli_html_cell_text(out, group ? group : "");
    lli_text_add(out, "<td class=\"n\" data-v=\"");
    if (bytes)
        lli_text_add(out, "%" PRId64, bytes);
    lli_text_add(out, "\">");
    if (bytes)
        lli_html_count(out, bytes);
    lli_text_add(out, "</td>");
}

static void scores(lli_text *out, const lli_view *v, const lli_noise *noise) {
    const char *columns[] = {"method", "members", "points",   "errors", "accuracy", "NLL",   "Brier",
                             "ECE",    "MCE",     "min AURC", "by",     "group",    "bytes", NULL};
    bool compared = false;
    for (int64_t m = 0; m < v->page->count; m++)
        compared = compared || lli_view_entry(&v->page->methods[m], LLI_GROUP_KEY);
    if (!compared)
        columns[LLI_COUNT(columns) - 3] = NULL;
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
        const bool *within = noise->within[m];
        lli_html_cell_interval(out, e->accuracy, e->intervals.accuracy, within[LL_METRIC_ACCURACY]);
        lli_html_cell_interval(out, e->nll, e->intervals.nll, within[LL_METRIC_NLL]);
        lli_html_cell_interval(out, e->brier, e->intervals.brier, within[LL_METRIC_BRIER]);
        lli_html_cell_interval(out, e->ece, e->intervals.ece, false);
        lli_html_cell(out, e->mce);
        lli_html_cell_interval(out, e->min_aurc, by >= 0 ? e->intervals.aurc[by] : lli_interval_none, false);
        lli_html_cell_text(out, by >= 0 ? ll_confidence_name((ll_confidence)by) : "");
        if (compared)
            add_compared(out, method);
        lli_text_add(out, "</tr>\n");
    }
    lli_tables_close(out);
}

static void selective(lli_text *out, const lli_view *v, const lli_noise *noise) {
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
            const ll_intervals *i = &v->page->methods[m].evaluation->intervals;
            const bool none[LL_METRIC_COUNT] = {0}, *within = c == LL_CONFIDENCE_SR ? noise->within[m] : none;
            lli_html_cell_interval(out, s->aurc, i->aurc[c], within[LL_METRIC_AURC]);
            lli_html_cell_interval(out, s->eaurc, i->eaurc[c], within[LL_METRIC_EAURC]);
            lli_html_cell_interval(out, s->augrc, i->augrc[c], within[LL_METRIC_AUGRC]);
            lli_html_cell_interval(out, s->failure_auroc, i->failure_auroc[c], within[LL_METRIC_FAILURE_AUROC]);
            lli_html_cell(out, s->ties ? s->best : NAN);
            lli_html_cell(out, s->ties ? s->worst : NAN);
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
            lli_html_cell_interval(out, e->ood[c].auroc, e->intervals.ood_auroc[c], false);
            lli_html_cell(out, e->ood[c].aupr_in);
            lli_html_cell(out, e->ood[c].aupr_out);
            lli_html_cell_interval(out, e->ood[c].fpr95, e->intervals.ood_fpr95[c], false);
            lli_html_cell(out, e->base_rate);
            lli_text_add(out, "</tr>\n");
        }
    lli_tables_close(out);
}

ll_status lli_tables_html(lli_text *out, const lli_view *v) {
    lli_noise noise;
    ll_status status;
    LLI_DO(lli_noise_init(&noise, out->ctx, v->page));
    lli_text_add(out, "<section id=\"tables\"><h2>All numbers</h2><p class=\"lead screen\">A click on a heading sorts. Copies hold every "
                      "digit.</p><p class=\"lead\">");
    if (v->page->methods[0].evaluation->rules.interval > 0) {
        lli_text_add(out, "Below a number stands its interval, of confidence %.6g\xc2\xa0%%.",
                     100 * v->page->methods[0].evaluation->rules.interval);
    }
    if (noise.tested) {
        lli_text_add(out, " Grey numbers are within noise of those of ");
        lli_html_text(out, v->page->methods[0].name);
        lli_text_add(out, ": paired tests on the same points, adjusted by Holm for the number of methods. Rankings are tested for sr.");
    }
    lli_text_add(out, "</p>\n");
    scores(out, v, &noise);
    selective(out, v, &noise);
    ood(out, v);
    LLI_DO(lli_class_table_html(out, v));
    lli_text_add(out, "</section>\n");
done:
    lli_noise_release(&noise);
    return status;
}
