/* SPDX-License-Identifier: MIT */
/* Risk against coverage for every method and confidence, with the best curve that the same errors allow. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "metrics/interval.h"
#include "metrics/special.h"
#include "report/figure.h"
#include "report/html.h"

/* The height of the picture: the risk at full coverage, and any peak above it that is not one of the few surest points. */
static double highest(const lli_view *v) {
    double top = 0;
    for (int64_t m = 0; m < v->page->count; m++) {
        const ll_evaluation *e = v->page->methods[m].evaluation;
        double base = (double)e->errors / (double)e->n;
        top = fmax(top, 1.15 * base);
        for (int c = LL_CONFIDENCE_SR; c <= LL_CONFIDENCE_HQ; c++)
            for (int64_t i = 0; i < v->series[m][c].count; i++)
                if (v->series[m][c].cut[i].accepted * 20 >= e->n)
                    top = fmax(top, fmin(lli_view_risk(&v->series[m][c], i), 2 * base));
    }
    return top > 0 ? top : 0.01;
}

/* Of one series. */
typedef struct lines {
    double x[LLI_CUTS_MAX], y[LLI_CUTS_MAX], lo[LLI_CUTS_MAX], hi[LLI_CUTS_MAX];
} lines;

/* Wilson's interval of the risk at each cut by itself. */
static void draw_band(const lli_svg *svg, const lli_view *v, int64_t m, ll_confidence c, lines *l) {
    const lli_view_series *s = &v->series[m][c];
    const lli_page_method *method = &v->page->methods[m];
    double z = lli_special_normal_quantile(0.5 + 0.5 * method->evaluation->rules.interval);
    char classes[LLI_FIGURE_CLASSES];
    for (int64_t i = 0; i < s->count; i++) {
        ll_interval risk = lli_interval_wilson(s->cut[i].marked, s->cut[i].accepted, z);
        l->x[i] = (double)s->cut[i].accepted / (double)method->points.n;
        l->lo[i] = fmin(risk.lo, svg->y1);
        l->hi[i] = fmin(risk.hi, svg->y1);
    }
    lli_text all;
    lli_text_init(&all, svg->out->ctx);
    lli_text_add(&all, "band %s", lli_figure_classes(classes, m, (int)c) + strlen("s "));
    if (lli_html_use(svg->out, &all))
        lli_svg_band(svg, all.data, l->x, l->lo, l->hi, s->count);
    lli_text_release(&all);
}

static void draw_series(const lli_svg *svg, const lli_view *v, int64_t m, ll_confidence c, lines *l) {
    const lli_view_series *s = &v->series[m][c];
    const lli_page_method *method = &v->page->methods[m];
    char classes[LLI_FIGURE_CLASSES];
    lli_text title;
    if (!s->count)
        return;
    for (int64_t i = 0; i < s->count; i++) {
        l->x[i] = (double)s->cut[i].accepted / (double)method->points.n;
        l->y[i] = fmin(lli_view_risk(s, i), svg->y1);
    }
    lli_text_init(&title, svg->out->ctx);
    lli_text_add(&title, "%s, %s: AURC ", method->name, ll_confidence_name(c));
    lli_text_number(&title, method->evaluation->selective[c].aurc);
    if (lli_html_use(svg->out, &title))
        lli_svg_line(svg, lli_figure_classes(classes, m, (int)c), title.data, l->x, l->y, s->count);
    lli_text_release(&title);
}

/* All errors come last: risk 0 up to coverage 1 - rho, then (t - (1 - rho))/t. */
static void draw_oracle(const lli_svg *svg, const lli_view *v, int64_t m) {
    enum { POINTS = 64 };
    const ll_evaluation *e = v->page->methods[m].evaluation;
    double x[POINTS + 1], y[POINTS + 1], rho = (double)e->errors / (double)e->n;
    char classes[LLI_FIGURE_CLASSES];
    lli_text all;
    x[0] = y[0] = 0;
    for (int i = 0; i < POINTS; i++) {
        double t = 1 - rho + rho * i / (POINTS - 1);
        x[i + 1] = t;
        y[i + 1] = t > 0 ? fmax(0, (t - (1 - rho)) / t) : 0;
    }
    lli_text_init(&all, svg->out->ctx);
    lli_text_add(&all, "%s oracle", lli_figure_classes(classes, m, -1));
    if (lli_html_use(svg->out, &all))
        lli_svg_line(svg, all.data, NULL, x, y, POINTS + 1);
    lli_text_release(&all);
}

ll_status lli_figure_risk_coverage(lli_text *out, const lli_view *v) {
    if (!lli_view_any(v))
        return LL_OK;
    lines *l = NULL;
    unsigned hide = lli_figure_hidden(v);
    ll_status status;
    LLI_DO(lli_memory_new(out->ctx, &l, 1, sizeof *l));
    lli_figure_section(
        out, "selective", "Risk against coverage",
        "Answer only the points whose confidence is above a cut: coverage is the share that is answered, risk the share of errors among "
        "those. Lower is better. The dotted oracle knows which answers are wrong. Bands around sr, std and hq are intervals "
        "(Wilson) of the risk at each cut by itself: a cut that is chosen after looking at all of them deserves a wider one.");
    lli_figure_open(out, "fig-risk-coverage", hide);
    lli_figure_legend(out, v, true, true, hide);
    lli_svg svg = lli_figure_panel(out, 760, 400);
    svg.y1 = highest(v);
    lli_svg_fit(&svg, LLI_SVG_PERCENT, LLI_SVG_FONT_ALONE);
    lli_svg_open(&svg, "svg-risk-coverage", "Risk-coverage curves",
                 "One line per method and confidence: the error rate among the answered points against the share of points answered.");
    lli_svg_x_axis(&svg, "coverage", LLI_SVG_PERCENT);
    lli_svg_y_axis(&svg, "risk", LLI_SVG_PERCENT);
    for (ll_confidence c = LL_CONFIDENCE_SR; c <= LL_CONFIDENCE_HQ; c++)
        for (int64_t m = 0; m < v->page->count; m++)
            if (v->series[m][c].count)
                draw_band(&svg, v, m, c, l);
    for (int64_t m = 0; m < v->page->count; m++)
        draw_oracle(&svg, v, m);
    for (ll_confidence c = LL_CONFIDENCE_COUNT; c-- > 0;)
        for (int64_t m = v->page->count; m-- > 0;)
            draw_series(&svg, v, m, c, l);
    lli_svg_close(&svg);
    lli_text_add(out,
                 "<div class=\"tools\"><span class=\"hint\" id=\"risk-coverage-hint\" data-sides=\"%d %d\"></span><button type=\"button\" "
                 "class=\"copy\" data-cuts=\"all\">Copy CSV</button></div>\n",
                 (int)svg.left, (int)svg.right);
    lli_figure_close(out);
    LLI_DO(lli_figure_bars(out, v));
    lli_figure_section_end(out);
done:
    lli_memory_free(l);
    return status;
}
