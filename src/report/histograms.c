/* SPDX-License-Identifier: MIT */
/* Where the confidences of right and of wrong answers lie: histograms of sr and std, one row per method. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "metrics/outcome.h"
#include "report/figure.h"
#include "report/html.h"

enum { BINS = 40 };

static double largest(const double *x, int64_t n, double sign) {
    double top = 0;
    for (int64_t i = 0; i < n; i++)
        top = fmax(top, sign * x[i]);
    return top;
}

/* `kinds`: 0 = right, 1 = wrong. */
static void panel(lli_text *out, lli_text *csv, const lli_view *v, int64_t m, ll_confidence c, const uint8_t *wrong) {
    const lli_page_method *method = &v->page->methods[m];
    const ll_outcome *points = &method->points;
    const double *x = points->confidence[c];
    double sign = c == LL_CONFIDENCE_STD ? -1 : 1, share[2][BINS], top = 0;
    lli_svg svg = lli_figure_panel(out, 520, 260);
    svg.x1 = c == LL_CONFIDENCE_SR ? 1 : fmax(1e-12, largest(x, points->n, sign));
    for (uint8_t kind = 0; kind < 2; kind++) {
        lli_figure_shares(share[kind], BINS, 0, svg.x1, x, sign, points->n, wrong, kind);
        for (int j = 0; j < BINS; j++)
            top = fmax(top, share[kind][j]);
    }
    svg.y1 = fmax(1.05 * top, 1e-9);
    lli_svg_fit(&svg, LLI_SVG_PERCENT, LLI_SVG_FONT_PANEL);
    for (int j = 0; j < BINS; j++) {
        lli_figure_csv_text(csv, method->name);
        lli_figure_csv_text(csv, ll_confidence_name(c));
        lli_figure_csv_number(csv, svg.x1 * j / BINS);
        lli_figure_csv_number(csv, svg.x1 * (j + 1) / BINS);
        lli_figure_csv_number(csv, share[0][j]);
        lli_figure_csv_number(csv, share[1][j]);
        lli_figure_csv_end(csv);
    }
    lli_text id, title;
    lli_text_init(&id, out->ctx);
    lli_text_init(&title, out->ctx);
    lli_text_add(&id, "svg-histogram-%" PRId64 "-%s", m, ll_confidence_name(c));
    lli_text_add(&title, "%s: %s of right and wrong answers", method->name, ll_confidence_name(c));
    if (lli_html_use(out, &id) && lli_html_use(out, &title)) {
        lli_svg_open(&svg, id.data, title.data,
                     "Two histograms, each with its own total: right answers filled, wrong answers as an outline.");
        lli_svg_x_axis(&svg, ll_confidence_name(c), LLI_SVG_PLAIN);
        lli_svg_y_axis(&svg, method->name, LLI_SVG_PERCENT);
        lli_svg_stairs(&svg, "right", "right answers", share[0], BINS, 0, svg.x1 / BINS);
        lli_svg_stairs(&svg, "wrong", "wrong answers", share[1], BINS, 0, svg.x1 / BINS);
        lli_svg_close(&svg);
    }
    lli_text_release(&id);
    lli_text_release(&title);
}

ll_status lli_figure_histograms(lli_text *out, const lli_view *v) {
    if (!lli_view_has(v, LL_CONFIDENCE_SR) && !lli_view_has(v, LL_CONFIDENCE_STD))
        return LL_OK;
    lli_figure_section(out, "histograms", "Right and wrong answers",
                       "Each panel shows what share of the right answers, and of the wrong ones, has a confidence in each of 40 bins. The "
                       "further apart, the "
                       "better a cut works. A method with one member has no std.");
    lli_figure_open(out, "fig-histograms", 0);
    lli_text_add(out, "<div class=\"legend\"><span class=\"key\"><svg class=\"swatch\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path "
                      "class=\"right\" d=\"M1 1h24v8H1z\"/></svg>"
                      "right</span><span class=\"key\"><svg class=\"swatch\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path "
                      "class=\"wrong\" d=\"M1 1h24v8H1z\"/></svg>wrong</span></div>\n");
    lli_text_add(out, "<div class=\"panels two\">\n");
    ll_status status = LL_OK;
    lli_text csv;
    lli_text_init(&csv, out->ctx);
    for (int64_t m = 0; m < v->page->count && status == LL_OK; m++) {
        const ll_outcome *points = &v->page->methods[m].points;
        uint8_t *wrong = NULL;
        if (!points->n)
            continue;
        status = lli_memory_new(out->ctx, &wrong, points->n, 1);
        if (status != LL_OK)
            break;
        lli_outcome_mark_errors(wrong, points->label, points);
        for (ll_confidence c = LL_CONFIDENCE_SR; c <= LL_CONFIDENCE_STD; c++)
            if (v->series[m][c].count)
                panel(out, &csv, v, m, c, wrong);
            else
                lli_text_add(out, "<div class=\"absent\">one member: no %s</div>\n", ll_confidence_name(c));
        lli_memory_free(wrong);
    }
    lli_text_add(out, "</div>\n");
    lli_figure_csv(out, "method,confidence,from,to,share_of_right,share_of_wrong", &csv);
    lli_text_release(&csv);
    lli_figure_close(out);
    lli_figure_section_end(out);
    return status;
}
