/* SPDX-License-Identifier: MIT */
/* Plots as SVG: a box with axes, and lines, bars and text in the units of the data. Colours are classes that the style sheet of the page
 * defines, so that dark mode and print need no second drawing. Titles and labels are escaped here. */
#ifndef LLI_REPORT_SVG_H
#define LLI_REPORT_SVG_H

#include "base/text.h"

typedef struct lli_svg {
    lli_text *out;
    double width, height;            /* of the picture */
    double left, top, right, bottom; /* of the box inside it */
    double x0, x1, y0, y1;           /* data at the edges of the box */
} lli_svg;

typedef enum lli_svg_unit { LLI_SVG_PLAIN, LLI_SVG_PERCENT, LLI_SVG_COUNT } lli_svg_unit;

/* Opens <svg>, with a title and a description that screen readers find. `id` is unique on the page. Set the ranges of `svg` first. */
void lli_svg_open(lli_svg *svg, const char *id, const char *title, const char *description);
void lli_svg_close(const lli_svg *svg);

/* Widens the margins where the ticks need it. Set the range of y first. `font`: the largest size of ticks that the style
 * sheet gives such a picture; it enlarges those of figures that stand alone on narrow screens. */
enum { LLI_SVG_FONT_PANEL = 13, LLI_SVG_FONT_ALONE = 20 };
void lli_svg_fit(lli_svg *svg, lli_svg_unit unit, double font);

/* Grid, ticks at round numbers, and what the axes are called. */
void lli_svg_x_axis(const lli_svg *svg, const char *label, lli_svg_unit unit);
void lli_svg_y_axis(const lli_svg *svg, const char *label, lli_svg_unit unit);

/* A line through n points with rising x. Points that a straight line misses by less than a third of a pixel are left out. */
void lli_svg_line(const lli_svg *svg, const char *classes, const char *title /* or NULL */, const double *x, const double *y, int64_t n);
/* What lies between two lines over the same rising x, about every sixth pixel. */
void lli_svg_band(const lli_svg *svg, const char *classes, const double *x, const double *lo, const double *hi, int64_t n);
/* The same as a staircase: bar j reaches from lo + j w to lo + (j+1) w, closed at the bottom. */
void lli_svg_stairs(const lli_svg *svg, const char *classes, const char *title, const double *height /* [n] */, int64_t n, double lo,
                    double w);
void lli_svg_bar(const lli_svg *svg, const char *classes, const char *title, double x0, double x1, double y0, double y1);
void lli_svg_dot(const lli_svg *svg, const char *classes, const char *title, double x, double y);
/* Text at a place in the picture. `anchor`: start, middle or end. */
void lli_svg_text(const lli_svg *svg, const char *classes, double px, double py, const char *anchor, const char *text);

double lli_svg_px(const lli_svg *svg, double x); /* data to picture */
double lli_svg_py(const lli_svg *svg, double y);
void lli_svg_coordinate(lli_text *out, double pixels); /* one decimal at most */

/* A round number of at least x: 1, 2, 2.5 or 5 times a power of ten. */
double lli_svg_round_up(double x);

#endif
