/* SPDX-License-Identifier: MIT */
/* Reliability diagrams: accuracy against mean confidence in each bin, with the number of points, ECE and MCE. */
#include <inttypes.h>
#include <math.h>

#include "report/figure.h"
#include "report/html.h"

static void bar_title(lli_text *title, const ll_bin *bin) {
    lli_text_add(title, "sr ");
    lli_html_fixed(title, bin->lo, 2);
    lli_text_add(title, " to ");
    lli_html_fixed(title, bin->hi, 2);
    lli_text_add(title, ": %" PRId64 " points, accuracy ", bin->n);
    lli_html_fixed(title, bin->accuracy, 4);
    lli_text_add(title, ", mean confidence ");
    lli_html_fixed(title, bin->confidence, 4);
}

static void bars(lli_text *out, const ll_evaluation *e, const lli_svg *top, const lli_svg *strip) {
    for (int64_t j = 0; j < e->bins; j++) {
        const ll_bin *bin = &e->bin[j];
        if (!bin->n)
            continue;
        lli_text title;
        lli_text_init(&title, out->ctx);
        bar_title(&title, bin);
        double hi = fmin(bin->hi, 1), lo = fmin(bin->lo, hi);
        if (lli_html_use(out, &title)) {
            lli_svg_bar(top, "right", title.data, lo, hi, 0, bin->accuracy);
            lli_svg_bar(top, "gap", NULL, lo, hi, bin->accuracy, bin->confidence);
            lli_svg_bar(strip, "count", NULL, lo, hi, 0, (double)bin->n);
        }
        lli_text_release(&title);
    }
}

static void panel(lli_text *out, const lli_view *v, int64_t m) {
    const lli_page_method *method = &v->page->methods[m];
    const ll_evaluation *e = method->evaluation;
    lli_svg top = lli_figure_panel(out, 360, 400), strip;
    strip = top;
    top.bottom = 290;
    strip.top = 304;
    strip.y1 = 1;
    for (int64_t j = 0; j < e->bins; j++)
        strip.y1 = fmax(strip.y1, (double)e->bin[j].n);
    lli_text id, title, note;
    lli_text_init(&id, out->ctx);
    lli_text_init(&title, out->ctx);
    lli_text_init(&note, out->ctx);
    lli_text_add(&id, "svg-reliability-%" PRId64, m);
    lli_text_add(&title, "%s: reliability diagram", method->name);
    lli_text_add(&note, "ECE ");
    lli_html_fixed(&note, e->ece, 4);
    lli_text_add(&note, "   MCE ");
    lli_html_fixed(&note, e->mce, 4);
    if (lli_html_use(out, &id) && lli_html_use(out, &title) && lli_html_use(out, &note)) {
        lli_svg_open(&top, id.data, title.data,
                     "Bars: accuracy in each bin of confidence. Hatched: the gap to the mean confidence. Below: the number of points.");
        lli_svg_y_axis(&top, method->name, LLI_SVG_PERCENT);
        bars(out, e, &top, &strip);
        lli_svg_line(&top, "mark", NULL, (double[]){0, 1}, (double[]){0, 1}, 2);
        lli_svg_x_axis(&strip, "confidence sr, and points per bin", LLI_SVG_PERCENT);
        lli_svg_text(&top, "note", top.left + 10, top.top + 18, "start", note.data);
        lli_svg_close(&top);
    }
    lli_text_release(&id);
    lli_text_release(&title);
    lli_text_release(&note);
}

ll_status lli_figure_reliability(lli_text *out, const lli_view *v) {
    bool any = false;
    for (int64_t m = 0; m < v->page->count; m++)
        any = any || v->page->methods[m].evaluation->bins > 0;
    if (!any)
        return LL_OK;
    lli_figure_section(out, "reliability", "Does 80 % mean 80 %?",
                       "Bars show how often the answers of a bin are right; on the line, confidence and accuracy agree. The gap is what "
                       "ECE averages over all "
                       "points and MCE takes the worst of.");
    lli_figure_open(out, "fig-reliability", 0);
    lli_text_add(out, "<div class=\"panels three\">\n");
    for (int64_t m = 0; m < v->page->count; m++)
        if (v->page->methods[m].evaluation->bins > 0)
            panel(out, v, m);
    lli_text_add(out, "</div>\n");
    lli_figure_close(out);
    lli_figure_section_end(out);
    return LL_OK;
}
