/* SPDX-License-Identifier: MIT */
/* Normalised AURC: the least AURC of each method over that of the point estimate's sr, so that 1 is "no better than one network". */
#include <inttypes.h>
#include <math.h>

#include "report/figure.h"
#include "report/html.h"

/* The method to divide by: the first of one member, else the first that has sr; -1 without one. */
static int64_t reference(const lli_view *v) {
    int64_t first = -1, one = -1;
    for (int64_t m = v->page->count; m-- > 0;) {
        const lli_page_method *method = &v->page->methods[m];
        if (!(method->evaluation->selective[LL_CONFIDENCE_SR].aurc > 0))
            continue;
        first = m;
        if (method->S == 1)
            one = m;
    }
    return one >= 0 ? one : first;
}

static void bar(lli_svg *svg, const lli_view *v, int64_t m, double base) {
    const lli_page_method *method = &v->page->methods[m];
    int by = lli_view_best_by(method->evaluation);
    if (by < 0)
        return;
    double aurc = method->evaluation->selective[by].aurc, share = aurc / base, py = svg->top + 34 * (double)m;
    char classes[LLI_FIGURE_CLASSES];
    lli_text title, value;
    lli_text_init(&title, svg->out->ctx);
    lli_text_init(&value, svg->out->ctx);
    lli_text_add(&title, "%s: AURC ", method->name);
    lli_text_number(&title, aurc);
    lli_text_add(&title, " by %s", ll_confidence_name((ll_confidence)by));
    lli_html_fixed(&value, share, 3);
    lli_text_add(&value, "  (%s)", ll_confidence_name((ll_confidence)by));
    lli_svg row = *svg;
    row.top = py;
    row.bottom = py + 22;
    lli_text all;
    lli_text_init(&all, svg->out->ctx);
    lli_text_add(&all, "bar fill %s", lli_figure_classes(classes, m, -1));
    if (lli_html_use(svg->out, &title) && lli_html_use(svg->out, &value) && lli_html_use(svg->out, &all)) {
        lli_svg_bar(&row, all.data, title.data, 0, fmin(share, svg->x1), 0, 1);
        lli_svg_text(svg, "value", lli_svg_px(svg, fmin(share, svg->x1)) + 8, py + 16, "start", value.data);
    }
    lli_svg_text(svg, "name", svg->left - 10, py + 16, "end", method->name);
    lli_text_release(&all);
    lli_text_release(&title);
    lli_text_release(&value);
}

ll_status lli_figure_bars(lli_text *out, const lli_view *v) {
    int64_t base = reference(v);
    if (base < 0 || v->page->count < 2)
        return LL_OK;
    double aurc = v->page->methods[base].evaluation->selective[LL_CONFIDENCE_SR].aurc, most = 1;
    for (int64_t m = 0; m < v->page->count; m++) {
        int by = lli_view_best_by(v->page->methods[m].evaluation);
        if (by >= 0)
            most = fmax(most, v->page->methods[m].evaluation->selective[by].aurc / aurc);
    }
    lli_figure_open(out, "fig-bars", 0);
    lli_text caption;
    lli_text_init(&caption, out->ctx);
    lli_text_add(&caption,
                 "Normalised AURC: the least AURC over sr, std and hq, divided by the AURC of sr of %s. Shorter is better; the line is 1.",
                 v->page->methods[base].name);
    if (lli_html_use(out, &caption))
        lli_figure_caption(out, caption.data);
    lli_text_release(&caption);
    double rows = 34 * (double)v->page->count;
    lli_svg svg = {.out = out,
                   .width = 760,
                   .height = 20 + rows + 46,
                   .left = 170,
                   .top = 16,
                   .right = 650,
                   .bottom = 16 + rows,
                   .x1 = fmin(1.05 * most, 3),
                   .y1 = 1};
    lli_svg_open(&svg, "svg-bars", "Normalised AURC",
                 "One bar per method. A bar shorter than 1 ranks its errors better than the reference.");
    lli_svg_x_axis(&svg, "AURC / AURC of the reference", LLI_SVG_PLAIN);
    for (int64_t m = 0; m < v->page->count; m++)
        bar(&svg, v, m, aurc);
    lli_svg_line(&svg, "mark", NULL, (double[]){1, 1}, (double[]){0, 1}, 2);
    lli_svg_close(&svg);
    lli_figure_close(out);
    return LL_OK;
}
