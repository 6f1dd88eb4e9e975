/* SPDX-License-Identifier: MIT */
/* What is promised, how it was tested, what the cut does on the points of the page, and when the promise is void. */
#include "report/certificate_card.h"

#include <inttypes.h>
#include <math.h>

#include "report/html.h"
#include "report/summary.h"

enum { CLASSES_MAX = 50 };

static void promise(lli_text *out, const lli_page_certificate *c) {
    lli_text_add(out, "<p class=\"big\">answer when <code>%s &ge; <span id=\"certified-cut\">", ll_confidence_name(c->by));
    if (c->classes)
        lli_text_add(out, "the cut of the decided class");
    else
        lli_text_number(out, c->cut);
    lli_text_add(out, "</span></code></p><p class=\"promise\">The promise: ");
    lli_html_text(out, c->statement);
    lli_text_add(out, ".</p><p>Tested on ");
    lli_html_count(out, c->n);
    lli_text_add(out, c->classes ? " rows that did not propose the cuts: " : " rows that did not propose the cut: ");
    lli_html_count(out, c->accepted);
    lli_text_add(out, " were answered, ");
    lli_html_count(out, c->errors);
    lli_text_add(out, " of them wrong.</p>");
}

static void refusal(lli_text *out, const lli_page_certificate *c) {
    lli_text_add(out, "<p class=\"big\">none certified</p><p class=\"promise\">No cut of %s keeps ", ll_confidence_name(c->by));
    if (isnan(c->risk))
        lli_text_add(out, "what was asked");
    else if (c->costs)
        lli_text_add(out, "a mean cost of %g", c->risk);
    else {
        lli_text_add(out, "a risk of ");
        lli_html_percent(out, c->risk);
    }
    lli_text_add(out, " with confidence ");
    lli_html_percent(out, c->confidence);
    lli_text_add(out, " on these rows.");
    if (c->needed) {
        lli_text_add(out, " Without an error it needs at least ");
        lli_html_count(out, c->needed);
        lli_text_add(out, " answered testing rows.");
    }
    lli_text_add(out, "</p>");
}

/* The cuts of the classes, as many as a page has room for. */
static void classes(lli_text *out, const lli_view *v, const lli_page_certificate *c) {
    static const char *const columns[] = {"class", "cut", "testing rows", "answered", "wrong", NULL};
    lli_tables_open(out, "table-certified", c->classes > CLASSES_MAX ? "The cuts of the first 50 classes" : "The cuts of the classes",
                    columns);
    for (int64_t k = 0; k < LLI_MIN(c->classes, (int64_t)CLASSES_MAX); k++) {
        const lli_page_class_cut *cut = &c->class_cut[k];
        lli_text_add(out, "<tr><td>");
        lli_view_class(out, v, k);
        lli_text_add(out, "</td><td class=\"n\">");
        if (cut->certified)
            lli_text_number(out, cut->cut);
        else
            lli_text_add(out, "never answered");
        const int64_t counts[] = {cut->n, cut->accepted, cut->errors};
        for (size_t i = 0; i < LLI_COUNT(counts); i++) {
            lli_text_add(out, "</td><td class=\"n\" data-v=\"%" PRId64 "\">", counts[i]);
            lli_html_count(out, counts[i]);
        }
        lli_text_add(out, "</td></tr>\n");
    }
    lli_tables_close(out);
}

/* What the cut does here, beside what it did where it was tested. */
static void here(lli_text *out, const lli_view *v, const lli_page_certificate *c) {
    const lli_view_series *s = &v->series[0][c->by];
    if (!s->count || s->cut[0].cut < c->cut)
        return;
    int64_t at = 0;
    while (at + 1 < s->count && s->cut[at + 1].cut >= c->cut)
        at++;
    lli_text_add(out, "<p id=\"certified-here\">On the points of this page it answers ");
    lli_html_percent(out, (double)s->cut[at].accepted / (double)v->page->methods[0].points.n);
    lli_text_add(out, ", ");
    lli_html_percent(out, lli_view_risk(s, at));
    lli_text_add(out, " of them wrong.</p>");
}

void lli_certificate_card_html(lli_text *out, const lli_view *v) {
    const lli_page_certificate *c = v->page->certificate;
    if (!c)
        return;
    lli_text_add(out, "<div class=\"card certificate\" id=\"certificate\"><h3>Certificate for ");
    lli_html_text(out, v->page->methods[0].name);
    lli_text_add(out, "</h3>");
    (c->certified ? promise : refusal)(out, c);
    if (c->certified && c->classes)
        classes(out, v, c);
    else if (c->certified && !c->costs) /* costs decide other labels than those of the page */
        here(out, v, c);
    lli_text_add(out, "<p>Conditions: ");
    lli_html_text(out, c->conditions);
    lli_text_add(out, ".</p></div>\n");
}

void lli_certificate_card_data(lli_text *out, const lli_view *v) {
    const lli_page_certificate *c = v->page->certificate;
    if (!c)
        return;
    lli_text_add(out, "\"certificate\":{\"c\":%d,\"cut\":", (int)c->by);
    lli_text_json_number(out, c->cut);
    lli_text_add(out, ",\"text\":");
    lli_html_json(out, c->text);
    lli_text_add(out, "},");
}
