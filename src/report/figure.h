/* SPDX-License-Identifier: MIT */
/* The figures of the page, one file each, and what they share: captions, legends, panels. A figure that has nothing to show adds
 * nothing. Colour = method, dash = confidence. */
#ifndef LLI_REPORT_FIGURE_H
#define LLI_REPORT_FIGURE_H

#include "report/view.h"
#include "report/svg.h"

ll_status lli_figure_risk_coverage(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_figure_bars(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_figure_histograms(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_figure_reliability(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_figure_ood(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_figure_running(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_figure_traces(lli_text *out, const lli_view *view) LL_CHECK_RESULT;

/* <section> with a heading and a sentence (plain HTML of ours). */
void lli_figure_section(lli_text *out, const char *id, const char *title, const char *sentence);
void lli_figure_section_end(lli_text *out);
/* <figure>. `hide`: bit c = confidence c is off at first. */
void lli_figure_open(lli_text *out, const char *id, unsigned hide);
void lli_figure_close(lli_text *out);
/* <figcaption>, escaped. */
void lli_figure_caption(lli_text *out, const char *text);
/* Buttons that switch methods and, where `confidences`, confidences on and off. The same `hide` as of the figure. */
void lli_figure_legend(lli_text *out, const lli_view *view, bool confidences, bool oracle, unsigned hide);
/* Confidences that a figure with all methods hides at first: all but sr when there are several methods, else all but sr, std, hq. */
unsigned lli_figure_hidden(const lli_view *view);

/* A small panel of a row of panels. */
lli_svg lli_figure_panel(lli_text *out, double width, double height);
/* Class names of the line of a method and a confidence (-1 = none). */
enum { LLI_FIGURE_CLASSES = 48 };
const char *lli_figure_classes(char classes[LLI_FIGURE_CLASSES], int64_t method, int confidence);

/* The numbers behind a figure, as CSV: cells of a line are added one by one, escaped for the page, then the whole goes into the figure with
 * its button. */
void lli_figure_csv_text(lli_text *csv, const char *cell);
void lli_figure_csv_number(lli_text *csv, double x);
void lli_figure_csv_end(lli_text *csv); /* of a line */
void lli_figure_csv(lli_text *out, const char *heading, const lli_text *csv);

/* Shares of the points of each kind that fall in each of `bins` equal bins on [lo,hi]. x may be negated. */
void lli_figure_shares(double *share /* [bins] */, int64_t bins, double lo, double hi, const double *x, double sign, int64_t n,
                       const uint8_t *kind /* NULL = all */, uint8_t wanted);

#endif
