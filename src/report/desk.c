/* SPDX-License-Identifier: MIT */
/* The desk as it looks before anybody touches it. */
#include "report/desk.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "report/confusions.h"
#include "report/figure.h"
#include "report/html.h"

enum { CONFUSIONS_SHOWN = 20 };

int64_t lli_desk_start(const lli_view_series *s) {
    int64_t last = s->count - 1, i = last;
    double half = 0.5 * lli_view_risk(s, last);
    while (i >= 0 && lli_view_risk(s, i) > half)
        i--;
    return i < 0 ? last : i;
}

static void options_of(lli_text *out, const lli_view *v) {
    lli_text_add(out, "<label for=\"desk-method\">Method</label><select id=\"desk-method\">");
    for (int64_t m = 0; m < v->page->count; m++) {
        if (!v->page->methods[m].points.n)
            continue;
        lli_text_add(out, "<option value=\"%" PRId64 "\"%s>", m, m == v->best ? " selected" : "");
        lli_html_text(out, v->page->methods[m].name);
        lli_text_add(out, "</option>");
    }
    lli_text_add(out, "</select><label for=\"desk-by\">Confidence</label><select id=\"desk-by\">");
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (v->series[v->best][c].count)
            lli_text_add(out, "<option value=\"%d\"%s>%s</option>", (int)c, c == v->best_by ? " selected" : "", ll_confidence_name(c));
    lli_text_add(out, "</select>");
}

static void controls(lli_text *out, const lli_view *v, double coverage) {
    lli_text_add(out, "<div class=\"controls\">");
    options_of(out, v);
    lli_text_add(out,
                 "<label for=\"desk-coverage\">Answer this share of the points</label>"
                 "<input id=\"desk-coverage\" type=\"range\" min=\"0\" max=\"1000\" step=\"1\" value=\"%d\">"
                 "<label for=\"desk-risk\">or be wrong at most, in %%</label><input id=\"desk-risk\" type=\"number\" min=\"0\" max=\"100\" "
                 "step=\"0.1\" inputmode=\"decimal\">"
                 "<label for=\"desk-cost-wrong\">or a wrong answer costs</label><input id=\"desk-cost-wrong\" type=\"number\" min=\"0\" "
                 "step=\"any\" inputmode=\"decimal\"><label for=\"desk-cost-handed\">and a hand-over costs</label><input "
                 "id=\"desk-cost-handed\" type=\"number\" min=\"0\" step=\"any\" inputmode=\"decimal\">"
                 "<p class=\"hint\" id=\"desk-note\" role=\"status\"></p></div>\n",
                 (int)floor(1000 * coverage + 1e-9));
}

static void readout(lli_text *out, const char *id, const char *name) {
    lli_text_add(out, "<div><dt>%s</dt><dd id=\"%s\">", name, id);
}

static void end_readout(lli_text *out) {
    lli_text_add(out, "</dd></div>");
}

static void readouts(lli_text *out, const lli_view *v, const lli_curve_step *cut) {
    const ll_outcome *p = &v->page->methods[v->best].points;
    const lli_view_series *s = &v->series[v->best][v->best_by];
    int64_t errors = s->cut[s->count - 1].marked;
    lli_text_add(out, "<dl class=\"readouts\">");
    readout(out, "desk-answered", "answered");
    lli_html_percent(out, (double)cut->accepted / (double)p->n);
    end_readout(out);
    readout(out, "desk-error", "wrong among them");
    lli_html_percent(out, (double)cut->marked / (double)cut->accepted);
    end_readout(out);
    readout(out, "desk-handed", "handed to a human");
    lli_html_count(out, p->n - cut->accepted);
    end_readout(out);
    readout(out, "desk-avoided", "errors avoided");
    lli_html_count(out, errors - cut->marked);
    lli_text_add(out, " of ");
    lli_html_count(out, errors);
    end_readout(out);
    readout(out, "desk-accuracy", "accuracy kept");
    lli_html_percent(out, 1 - (double)cut->marked / (double)cut->accepted);
    end_readout(out);
    readout(out, "desk-kept", "errors that stay");
    lli_html_count(out, cut->marked);
    end_readout(out);
    lli_text_add(out, "</dl>\n<p class=\"rule\">answer when <code><span id=\"desk-name\">%s</span> &ge; <span id=\"desk-threshold\">",
                 ll_confidence_name(v->best_by));
    lli_text_number(out, cut->cut);
    lli_text_add(out, "</span></code><button type=\"button\" class=\"copy\" data-copy=\"desk-threshold\">Copy</button></p>\n");
    const lli_page_certificate *c = v->page->certificate;
    if (!c || isnan(c->cut) || !v->series[0][c->by].count)
        return;
    lli_text_add(out, "<p class=\"rule certified\">certified for ");
    lli_html_text(out, v->page->methods[0].name);
    lli_text_add(out, ": <code>%s &ge; ", ll_confidence_name(c->by));
    lli_text_number(out, c->cut);
    lli_text_add(out, "</code><button type=\"button\" id=\"desk-certified\">Show</button></p>\n");
}

/* The curve of the chosen series and the place on it. The script draws both anew, in the box that the attribute names. */
static ll_status chart(lli_text *out, const lli_view *v, int64_t at) {
    const lli_view_series *s = &v->series[v->best][v->best_by];
    double n = (double)v->page->methods[v->best].points.n, *x = NULL, *y = NULL, top = 0;
    ll_status status;
    LLI_DO(lli_memory_new(out->ctx, &x, s->count, sizeof *x));
    LLI_DO(lli_memory_new(out->ctx, &y, s->count, sizeof *y));
    for (int64_t m = 0; m < v->page->count; m++) {
        const ll_evaluation *e = v->page->methods[m].evaluation;
        top = fmax(top, 1.3 * (double)e->errors / (double)e->n);
    }
    lli_svg svg = lli_figure_panel(out, 560, 300);
    svg.y1 = top > 0 ? fmin(top, 1) : 0.01;
    lli_svg_fit(&svg, LLI_SVG_PERCENT, LLI_SVG_FONT_ALONE);
    for (int64_t i = 0; i < s->count; i++) {
        x[i] = (double)s->cut[i].accepted / n;
        y[i] = fmin(lli_view_risk(s, i), svg.y1);
    }
    lli_text_add(out, "<figure class=\"fig\" id=\"fig-desk\" data-top=\"");
    lli_text_number(out, svg.y1);
    lli_text_add(out, "\" data-box=\"%d %d %d %d\">\n", (int)svg.left, (int)svg.top, (int)svg.right, (int)svg.bottom);
    lli_svg_open(&svg, "svg-desk", "Risk against coverage of the chosen method and confidence", "The dot is the chosen cut.");
    lli_svg_x_axis(&svg, "coverage", LLI_SVG_PERCENT);
    lli_svg_y_axis(&svg, "risk", LLI_SVG_PERCENT);
    lli_text_add(out, "<g id=\"desk-line\">");
    lli_svg_line(&svg, "s k0", NULL, x, y, s->count);
    lli_text_add(out, "</g><g id=\"desk-mark\">");
    lli_svg_line(&svg, "mark", NULL, (double[]){x[at], x[at]}, (double[]){0, svg.y1}, 2);
    lli_svg_dot(&svg, "dot", NULL, x[at], y[at]);
    lli_text_add(out, "</g>");
    lli_svg_close(&svg);
    lli_figure_close(out);
done:
    lli_memory_free(x);
    lli_memory_free(y);
    return status;
}

/* The largest counts at a cut; few, so that choosing them one by one is cheap. */
static ll_status confusions(lli_text *out, const lli_view *v, int64_t at) {
    lli_confusions c;
    int64_t *kept = NULL;
    ll_status status;
    LLI_DO(lli_confusions_init(&c, out->ctx, v, v->best, v->best_by));
    LLI_DO(lli_memory_new(out->ctx, &kept, c.count, sizeof *kept));
    for (int64_t i = 0; i < c.count; i++)
        kept[i] = lli_confusions_kept(&c, i, at);
    lli_text_add(out, "<div><h3>What is still confused</h3><p class=\"hint\" id=\"desk-pairs-note\"></p><table "
                      "id=\"desk-pairs\"><thead><tr><th>truth</th><th>answer</th>"
                      "<th class=\"n\">errors</th></tr></thead><tbody>\n");
    for (int shown = 0; shown < CONFUSIONS_SHOWN; shown++) {
        int64_t most = -1;
        for (int64_t i = 0; i < c.count; i++)
            if (kept[i] > 0 &&
                (most < 0 || kept[i] > kept[most] ||
                 (kept[i] == kept[most] && (c.pair[i].truth < c.pair[most].truth ||
                                            (c.pair[i].truth == c.pair[most].truth && c.pair[i].label < c.pair[most].label)))))
                most = i;
        if (most < 0)
            break;
        lli_text_add(out, "<tr><td>");
        lli_view_class(out, v, c.pair[most].truth);
        lli_text_add(out, "</td><td>");
        lli_view_class(out, v, c.pair[most].label);
        lli_text_add(out, "</td><td class=\"n\">%" PRId64 "</td></tr>\n", kept[most]);
        kept[most] = 0;
    }
    lli_text_add(out, "</tbody></table></div>\n");
done:
    lli_confusions_release(&c);
    lli_memory_free(kept);
    return status;
}

static void gallery(lli_text *out, const lli_view *v, lli_thumbs *thumbs, const lli_gallery *g, lli_gallery_kind kind, int64_t at) {
    static const char *const ids[] = {"desk-errors", "desk-rejected"};
    static const char *const titles[] = {"Most confident errors", "First to be handed over"};
    static const char *const notes[] = {"Wrong, and sure of it. Faint ones go to a human at the chosen cut.",
                                        "The least confident points. Dashed ones go to a human at the chosen cut."};
    lli_text_add(out, "<div><h3>%s</h3><p class=\"hint\">%s</p><ul class=\"gallery\" id=\"%s\">\n", titles[kind], notes[kind], ids[kind]);
    for (int64_t i = 0; i < g->count[kind]; i++)
        lli_gallery_item(out, v, thumbs, v->best, v->best_by, g->row[kind][i], at);
    lli_text_add(out, "</ul></div>\n");
}

ll_status lli_desk_html(lli_text *out, const lli_view *v, lli_thumbs *thumbs) {
    if (!lli_view_any(v))
        return LL_OK;
    const lli_view_series *s = &v->series[v->best][v->best_by];
    int64_t at = lli_desk_start(s);
    lli_gallery g;
    LLI_TRY(lli_gallery_init(&g, out->ctx, v, v->best, v->best_by));
    lli_figure_section(out, "desk", "The abstention desk",
                       "Fewer answers, fewer errors: what is not answered goes to a human.<span class=\"screen\"> Move the slider.</span>");
    lli_text_add(out, "<div class=\"desk\" data-at=\"%" PRId64 "\"><div>\n", at);
    controls(out, v, (double)s->cut[at].accepted / (double)v->page->methods[v->best].points.n);
    readouts(out, v, &s->cut[at]);
    lli_text_add(out, "</div>\n");
    LLI_TRY(chart(out, v, at));
    lli_text_add(out, "</div>\n<p class=\"hint\">The cut is chosen and measured on the same points: on new points expect somewhat "
                      "worse.</p><div class=\"desk-more\">\n");
    LLI_TRY(confusions(out, v, at));
    lli_text_add(out, "<div class=\"galleries\">\n");
    gallery(out, v, thumbs, &g, LLI_GALLERY_ERRORS, at);
    gallery(out, v, thumbs, &g, LLI_GALLERY_REJECTED, at);
    lli_text_add(out, "</div></div>\n");
    lli_figure_section_end(out);
    return LL_OK;
}
