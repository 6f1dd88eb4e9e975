/* SPDX-License-Identifier: MIT */
/* Takes the drawings out of the figures of the page and lays them out again: wide ones one below the other, small ones two in a row. */
#include "report/figure_file.h"

#include <string.h>

#include "report/asset.h"
#include "report/figure.h"
#include "report/html.h"

enum { GAP = 16, LEGEND = 30, WIDE = 700, WIDTH_MAX = 1056 };

typedef struct drawing {
    const char *start, *body, *end; /* "<svg", what follows the viewBox, behind "</svg>" */
    double width, height;
} drawing;

/* Of digits and one point, as lli_svg_coordinate writes it. */
static double read_coordinate(const char **p) {
    double x = 0, place = 0;
    for (; (**p >= '0' && **p <= '9') || **p == '.'; ++*p)
        if (**p == '.')
            place = 1;
        else if (place > 0)
            x += (**p - '0') * (place /= 10);
        else
            x = 10 * x + (**p - '0');
    return x;
}

/* The next drawing behind `from`; false if there is none. Swatches of legends have no role. */
static bool next_drawing(drawing *d, const char *from) {
    static const char open[] = "<svg id=\"", box[] = "viewBox=\"0 0 ", close[] = "</svg>";
    d->start = strstr(from, open);
    const char *p = d->start ? strstr(d->start, box) : NULL;
    d->end = p ? strstr(p, close) : NULL;
    if (!d->end)
        return false;
    d->end += strlen(close);
    p += strlen(box);
    d->width = read_coordinate(&p);
    p += *p == ' ';
    d->height = read_coordinate(&p);
    d->body = p;
    return true;
}

/* Adds the drawings at their places; the size of all in *width and *height. */
static void lay_out(lli_text *out, const char *html, double *width, double *height) {
    double x = 0, y = *height, row = 0;
    drawing d;
    *width = 0;
    for (const char *from = html; next_drawing(&d, from); from = d.end) {
        if (x > 0 && (d.width >= WIDE || x + d.width > WIDTH_MAX)) {
            y += row + GAP;
            x = row = 0;
        }
        lli_text_add(out, "<svg x=\"");
        lli_svg_coordinate(out, x);
        lli_text_add(out, "\" y=\"");
        lli_svg_coordinate(out, y);
        lli_text_add(out, "\" width=\"");
        lli_svg_coordinate(out, d.width);
        lli_text_add(out, "\" height=\"");
        lli_svg_coordinate(out, d.height);
        lli_text_add(out, "\" ");
        lli_text_append(out, d.start + strlen("<svg "), d.end - d.start - (int64_t)strlen("<svg "));
        lli_text_add(out, "\n");
        row = row > d.height ? row : d.height;
        x += d.width + GAP;
        *width = *width > x - GAP ? *width : x - GAP;
    }
    *height = y + row;
}

/* What the style sheet of the page says from `from` to `to`. */
static void add_style(lli_text *out, const char *from, const char *to) {
    const char *start = strstr(lli_asset_style, from), *end = start ? strstr(start, to) : NULL;
    if (end)
        lli_text_append(out, start, end - start);
}

static void add_head(lli_text *out, const lli_view *v, double width, double height) {
    lli_text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n<style>\n",
                 width, height, width, height);
    add_style(out, ":root {", ":root[data-theme");
    add_style(out, "/* figures,", "/* end of figures");
    lli_text_add(out, "text { font-family: system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif; }\n");
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (lli_figure_hidden(v) >> c & 1)
            lli_text_add(out, ".c%d { display: none; }\n", c);
    lli_text_add(out, "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
}

/* A key for each method, as wide as its name may be. */
static void add_legend(lli_text *out, const lli_view *v) {
    double x = GAP;
    char classes[LLI_FIGURE_CLASSES];
    for (int64_t m = 0; m < v->page->count; m++) {
        lli_text_add(out, "<path class=\"%s\" d=\"M%.0f 15h24\"/><text class=\"name\" x=\"%.0f\" y=\"19\">",
                     lli_figure_classes(classes, m, -1), x, x + 30);
        lli_html_text(out, v->page->methods[m].name);
        lli_text_add(out, "</text>\n");
        x += 50 + 8 * (double)strlen(v->page->methods[m].name);
    }
}

static ll_status take_figure(ll_context *ctx, const lli_view *v, const char *name, const char *html, lli_figure_file_take *take,
                             void *state) {
    lli_text all, drawings;
    double width, height = LEGEND;
    ll_status status;
    lli_text_init(&all, ctx);
    lli_text_init(&drawings, ctx);
    lay_out(&drawings, html, &width, &height);
    LLI_DO(drawings.status);
    if (width > 0) {
        add_head(&all, v, width, height + GAP);
        add_legend(&all, v);
        lli_text_append(&all, drawings.data, drawings.length);
        lli_text_add(&all, "</svg>\n");
        LLI_DO(all.status);
        LLI_DO(take(ctx, state, name, &all));
    }
done:
    lli_text_release(&all);
    lli_text_release(&drawings);
    return status;
}

ll_status lli_figure_file_each(ll_context *ctx, const lli_page *page, lli_figure_file_take *take, void *state) {
    static const struct {
        const char *name;
        ll_status (*draw)(lli_text *out, const lli_view *view);
    } figures[] = {{"risk-coverage", lli_figure_risk_coverage}, {"bars", lli_figure_bars}, {"histograms", lli_figure_histograms},
                   {"reliability", lli_figure_reliability},     {"ood", lli_figure_ood},   {"running", lli_figure_running}};
    lli_view view = {0};
    ll_status status = lli_view_init(&view, ctx, page);
    for (size_t i = 0; i < LLI_COUNT(figures) && status == LL_OK; i++) {
        lli_text html;
        lli_text_init(&html, ctx);
        status = figures[i].draw(&html, &view);
        if (status == LL_OK)
            status = html.status;
        char *end = html.data && strcmp(figures[i].name, "risk-coverage") == 0 ? strstr(html.data, "<svg id=\"svg-bars\"") : NULL;
        if (end)
            *end = 0; /* the bars follow it on the page, and have a file of their own */
        if (status == LL_OK && html.data)
            status = take_figure(ctx, &view, figures[i].name, html.data, take, state);
        lli_text_release(&html);
    }
    lli_view_release(&view);
    return status;
}
