/* SPDX-License-Identifier: MIT */
/* Captions, legends and panels of figures. */
#include "report/figure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/html.h"

enum { COLOURS = 10 };

void lli_figure_section(lli_text *out, const char *id, const char *title, const char *sentence) {
    lli_text_add(out, "<section id=\"%s\"><h2>%s</h2><p class=\"lead\">%s</p>\n", id, title, sentence);
}

void lli_figure_section_end(lli_text *out) {
    lli_text_add(out, "</section>\n");
}

void lli_figure_open(lli_text *out, const char *id, unsigned hide) {
    lli_text_add(out, "<figure id=\"%s\" class=\"fig", id);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (hide >> c & 1)
            lli_text_add(out, " off-c%d", c);
    lli_text_add(out, "\">\n");
}

void lli_figure_close(lli_text *out) {
    lli_text_add(out, "</figure>\n");
}

void lli_figure_caption(lli_text *out, const char *text) {
    lli_text_add(out, "<figcaption>");
    lli_html_text(out, text);
    lli_text_add(out, "</figcaption>\n");
}

const char *lli_figure_classes(char classes[LLI_FIGURE_CLASSES], int64_t method, int confidence) {
    static const char digits[] = "0123456789";
    int at = 0;
    for (const char *p = "s m"; *p; p++)
        classes[at++] = *p;
    if (method > 9)
        classes[at++] = digits[method / 10 % 10];
    classes[at++] = digits[method % 10];
    for (const char *p = " k"; *p; p++)
        classes[at++] = *p;
    classes[at++] = digits[method % COLOURS];
    for (const char *p = " c"; confidence >= 0 && *p; p++)
        classes[at++] = *p;
    if (confidence > 9)
        classes[at++] = digits[confidence / 10 % 10];
    if (confidence >= 0)
        classes[at++] = digits[confidence % 10];
    classes[at] = 0;
    return classes;
}

unsigned lli_figure_hidden(const lli_view *v) {
    unsigned hide = 0;
    int last = v->page->count > 1 ? LL_CONFIDENCE_SR : LL_CONFIDENCE_HQ;
    if (!lli_view_has(v, LL_CONFIDENCE_SR))
        return 0;
    for (int c = last + 1; c < LL_CONFIDENCE_COUNT; c++)
        hide |= 1u << c;
    return hide;
}

static void swatch(lli_text *out, const char *classes) {
    lli_text_add(out, "<svg class=\"swatch\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"%s\" d=\"M1 5h24\"/></svg>", classes);
}

void lli_figure_legend(lli_text *out, const lli_view *v, bool confidences, bool oracle, unsigned hide) {
    char classes[LLI_FIGURE_CLASSES];
    lli_text_add(out, "<div class=\"legend\" role=\"group\" aria-label=\"Methods shown\">");
    for (int64_t m = 0; m < v->page->count; m++) {
        lli_text_add(out, "<button type=\"button\" class=\"key\" data-toggle=\"m%" PRId64 "\" aria-pressed=\"true\">", m);
        swatch(out, lli_figure_classes(classes, m, -1));
        lli_html_text(out, v->page->methods[m].name);
        lli_text_add(out, "</button>");
    }
    lli_text_add(out, "</div>");
    if (confidences) {
        lli_text_add(out, "<div class=\"legend\" role=\"group\" aria-label=\"Confidences shown\">");
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            if (!lli_view_has(v, c))
                continue;
            lli_text_add(out, "<button type=\"button\" class=\"key\" data-toggle=\"c%d\" aria-pressed=\"%s\">", (int)c,
                         hide >> c & 1 ? "false" : "true");
            lli_text_add(out,
                         "<svg class=\"swatch\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"s plain c%d\" d=\"M1 "
                         "5h24\"/></svg>%s</button>",
                         (int)c, ll_confidence_name(c));
        }
        if (oracle)
            lli_text_add(out, "<button type=\"button\" class=\"key\" data-toggle=\"band\" aria-pressed=\"true\"><svg class=\"swatch\" "
                              "viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"band plain\" d=\"M1 "
                              "1h24v8H1z\"/></svg>intervals</button>"
                              "<button type=\"button\" class=\"key\" data-toggle=\"oracle\" aria-pressed=\"true\"><svg class=\"swatch\" "
                              "viewBox=\"0 0 26 10\" "
                              "aria-hidden=\"true\"><path class=\"s plain oracle\" d=\"M1 5h24\"/></svg>oracle</button>");
        lli_text_add(out, "</div>");
    }
    lli_text_add(out, "\n");
}

lli_svg lli_figure_panel(lli_text *out, double width, double height) {
    return (lli_svg){
        .out = out, .width = width, .height = height, .left = 56, .top = 30, .right = width - 24, .bottom = height - 46, .x1 = 1, .y1 = 1};
}

void lli_figure_shares(double *share, int64_t bins, double lo, double hi, const double *x, double sign, int64_t n, const uint8_t *kind,
                       uint8_t wanted) {
    int64_t total = 0;
    for (int64_t j = 0; j < bins; j++)
        share[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (kind && kind[i] != wanted)
            continue;
        double at = (sign * x[i] - lo) / (hi - lo) * (double)bins;
        share[(int64_t)fmin(fmax(at, 0), (double)(bins - 1))]++;
        total++;
    }
    for (int64_t j = 0; j < bins && total; j++)
        share[j] /= (double)total;
}

static void csv_comma(lli_text *csv) {
    if (csv->length && csv->data[csv->length - 1] != '\n')
        lli_text_append(csv, ",", 1);
}

void lli_figure_csv_text(lli_text *csv, const char *cell) {
    csv_comma(csv);
    if (!strpbrk(cell, ",\"\r\n")) {
        lli_html_text(csv, cell);
        return;
    }
    lli_text quoted;
    lli_text_init(&quoted, csv->ctx);
    for (; *cell; cell++) {
        lli_text_append(&quoted, *cell == '\n' || *cell == '\r' ? " " : cell, 1);
        if (*cell == '"')
            lli_text_append(&quoted, "\"", 1);
    }
    lli_text_append(csv, "\"", 1);
    if (lli_html_use(csv, &quoted))
        lli_html_text(csv, quoted.data ? quoted.data : "");
    lli_text_append(csv, "\"", 1);
    lli_text_release(&quoted);
}

void lli_figure_csv_number(lli_text *csv, double x) {
    csv_comma(csv);
    if (isfinite(x))
        lli_text_number(csv, x);
    else /* so that an empty cell at the start of a line is one */
        lli_text_append(csv, " ", 1);
}

void lli_figure_csv_end(lli_text *csv) {
    lli_text_append(csv, "\n", 1);
}

void lli_figure_csv(lli_text *out, const char *heading, const lli_text *csv) {
    if (!lli_html_use(out, csv))
        return;
    lli_text_add(out,
                 "<div class=\"tools\"><button type=\"button\" class=\"copy\" data-csv=\"all\">Copy CSV</button></div><pre class=\"csv\" "
                 "hidden>\n%s\n",
                 heading);
    lli_text_append(out, csv->data ? csv->data : "", csv->length);
    lli_text_add(out, "</pre>\n");
}
