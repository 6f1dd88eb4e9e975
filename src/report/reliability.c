/* SPDX-License-Identifier: MIT */
/* Reliability diagrams: accuracy against mean confidence in each bin, with the number of points, ECE and MCE. */
#include <inttypes.h>
#include <math.h>

#include "metrics/interval.h"
#include "metrics/special.h"
#include "report/figure.h"
#include "report/html.h"

static ll_interval accuracy_of(const ll_bin *bin, double level) {
    return lli_interval_wilson(llround(bin->accuracy * (double)bin->n), bin->n, lli_special_normal_quantile(0.5 + 0.5 * level));
}

/* "812", "12.3k": what fits above a bar. */
static void short_count(lli_text *out, int64_t n) {
    if (n < 10000)
        lli_text_add(out, "%" PRId64, n);
    else {
        lli_html_fixed(out, (double)n / 1000, n < 100000 ? 1 : 0);
        lli_text_add(out, "k");
    }
}

/* The interval of a bar, and its points, where there is room for them. */
static void draw_doubt(const ll_evaluation *e, const ll_bin *bin, const lli_svg *top, const lli_svg *strip, double middle) {
    lli_text n;
    lli_text_init(&n, top->out->ctx);
    short_count(&n, bin->n);
    if (e->rules.interval > 0) {
        ll_interval i = accuracy_of(bin, e->rules.interval);
        lli_svg_line(top, "whisker", NULL, (double[]){middle, middle}, (double[]){i.lo, i.hi}, 2);
    }
    if ((strip->right - strip->left) / (double)e->bins >= 24 && lli_html_use(top->out, &n))
        lli_svg_text(strip, "tiny", lli_svg_px(strip, middle), lli_svg_py(strip, (double)bin->n) - 3, "middle", n.data);
    lli_text_release(&n);
}

static void bar_title(lli_text *title, const ll_bin *bin, double level) {
    lli_text_add(title, "sr ");
    lli_html_fixed(title, bin->lo, 2);
    lli_text_add(title, " to ");
    lli_html_fixed(title, bin->hi, 2);
    lli_text_add(title, ": %" PRId64 " points, accuracy ", bin->n);
    lli_html_fixed(title, bin->accuracy, 4);
    lli_text_add(title, ", mean confidence ");
    lli_html_fixed(title, bin->confidence, 4);
    if (level > 0) {
        ll_interval i = accuracy_of(bin, level);
        lli_text_add(title, ", interval of the accuracy ");
        lli_html_fixed(title, i.lo, 4);
        lli_text_add(title, " to ");
        lli_html_fixed(title, i.hi, 4);
    }
}

static void bars(lli_text *out, const ll_evaluation *e, const lli_svg *top, const lli_svg *strip) {
    for (int64_t j = 0; j < e->bins; j++) {
        const ll_bin *bin = &e->bin[j];
        if (!bin->n)
            continue;
        lli_text title;
        lli_text_init(&title, out->ctx);
        bar_title(&title, bin, e->rules.interval);
        double hi = fmin(bin->hi, 1), lo = fmin(bin->lo, hi);
        if (lli_html_use(out, &title)) {
            lli_svg_bar(top, "right", title.data, lo, hi, 0, bin->accuracy);
            lli_svg_bar(top, "gap", NULL, lo, hi, bin->accuracy, bin->confidence);
            lli_svg_bar(strip, "count", NULL, lo, hi, 0, (double)bin->n);
            draw_doubt(e, bin, top, strip, 0.5 * (lo + hi));
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
        strip.y1 = fmax(strip.y1, 1.25 * (double)e->bin[j].n); /* and room for its number */
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
                       "ECE averages over all points and MCE takes the worst of. Upright lines are intervals (Wilson) of the accuracy in "
                       "each bin; where they cross the line, the gap may be chance.");
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
