/* SPDX-License-Identifier: MIT */
/* Accuracy, NLL and Brier of the first s members, for s = 1..S. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "report/figure.h"

static const char *const scores[] = {"accuracy", "NLL", "Brier"};

/* The range of one score over all methods, with some air. False if there is nothing to draw. */
static bool range(const lli_view *v, int score, lli_svg *svg) {
    double lo = INFINITY, hi = -INFINITY;
    int64_t most = 1;
    for (int64_t m = 0; m < v->page->count; m++) {
        const lli_page_method *method = &v->page->methods[m];
        if (!method->running)
            continue;
        most = LLI_MAX(most, method->S);
        for (int64_t s = 0; s < method->S; s++) {
            double y = method->running[3 * s + score];
            if (isfinite(y)) {
                lo = fmin(lo, y);
                hi = fmax(hi, y);
            }
        }
    }
    double air = fmax(0.08 * (hi - lo), 1e-4 * fmax(fabs(hi), 1e-3));
    svg->x0 = 1;
    svg->x1 = (double)most;
    svg->y0 = lo - air;
    svg->y1 = hi + air;
    return isfinite(lo) && most > 1;
}

static void draw(const lli_svg *svg, const lli_view *v, int64_t m, int score, double *x, double *y) {
    const lli_page_method *method = &v->page->methods[m];
    char classes[LLI_FIGURE_CLASSES];
    int64_t n = 0;
    for (int64_t s = 0; s < method->S; s++) {
        double here = method->running[3 * s + score];
        if (!isfinite(here))
            continue;
        x[n] = (double)(s + 1);
        y[n++] = here;
    }
    if (n == 1) { /* one member: the same line for any number */
        x[0] = svg->x0;
        x[1] = svg->x1;
        y[1] = y[0];
        n = 2;
    }
    lli_svg_line(svg, lli_figure_classes(classes, m, -1), method->name, x, y, n);
}

enum { CSV_POINTS = 100 };

/* The first members, then about CSV_POINTS more, and the last. */
static void add_csv(lli_text *out, const lli_view *v) {
    lli_text csv;
    lli_text_init(&csv, out->ctx);
    for (int64_t m = 0; m < v->page->count; m++) {
        const lli_page_method *method = &v->page->methods[m];
        int64_t step = method->S / CSV_POINTS + 1;
        for (int64_t s = 1; method->running && s <= method->S; s++) {
            if (s > 20 && s % step != 0 && s != method->S)
                continue;
            lli_figure_csv_text(&csv, method->name);
            lli_figure_csv_number(&csv, (double)s);
            for (int score = 0; score < 3; score++)
                lli_figure_csv_number(&csv, method->running[3 * (s - 1) + score]);
            lli_figure_csv_end(&csv);
        }
    }
    lli_figure_csv(out, "method,members,accuracy,nll,brier", &csv);
    lli_text_release(&csv);
}

ll_status lli_figure_running(lli_text *out, const lli_view *v) {
    lli_svg svg = lli_figure_panel(out, 400, 280);
    int64_t most = 2;
    bool any = false;
    for (int score = 0; score < 3; score++)
        any = range(v, score, &svg) || any;
    if (!any)
        return LL_OK;
    for (int64_t m = 0; m < v->page->count; m++)
        most = LLI_MAX(most, v->page->methods[m].S);
    double *x = NULL, *y = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(out->ctx, &x, most, sizeof *x));
    LLI_DO(lli_memory_new(out->ctx, &y, most, sizeof *y));
    lli_figure_section(out, "running", "How many members are enough?",
                       "Scores of the mean of the first s members. Where a line is flat, more members change nothing but the cost.");
    lli_figure_open(out, "fig-running", 0);
    lli_figure_legend(out, v, false, false, 0);
    lli_text_add(out, "<div class=\"panels three\">\n");
    for (int score = 0; score < 3; score++) {
        static const char *const ids[] = {"svg-running-accuracy", "svg-running-nll", "svg-running-brier"};
        if (!range(v, score, &svg))
            continue;
        lli_svg_unit unit = score == 0 ? LLI_SVG_PERCENT : LLI_SVG_PLAIN;
        lli_svg_fit(&svg, unit, LLI_SVG_FONT_PANEL);
        lli_svg_open(&svg, ids[score], scores[score], "One line per method, against the number of members.");
        lli_svg_x_axis(&svg, "members", LLI_SVG_COUNT);
        lli_svg_y_axis(&svg, scores[score], unit);
        for (int64_t m = 0; m < v->page->count; m++)
            if (v->page->methods[m].running)
                draw(&svg, v, m, score, x, y);
        lli_svg_close(&svg);
    }
    lli_text_add(out, "</div>\n");
    add_csv(out, v);
    lli_figure_close(out);
    lli_figure_section_end(out);
done:
    lli_memory_free(x);
    lli_memory_free(y);
    return status;
}
