/* SPDX-License-Identifier: MIT */
/* Draws the boxes, axes and marks of all figures. Knows nothing of what they mean. */
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>

#include "report/html.h"

double lli_svg_px(const lli_svg *s, double x) {
    return s->left + (x - s->x0) / (s->x1 - s->x0) * (s->right - s->left);
}

double lli_svg_py(const lli_svg *s, double y) {
    return s->bottom - (y - s->y0) / (s->y1 - s->y0) * (s->bottom - s->top);
}

void lli_svg_coordinate(lli_text *out, double pixels) {
    int64_t tenths = isfinite(pixels) ? llround(10 * fmin(fmax(pixels, -1e6), 1e6)) : 0;
    int64_t size = tenths < 0 ? -tenths : tenths;
    lli_text_add(out, "%s%" PRId64, tenths < 0 ? "-" : "", size / 10);
    if (size % 10)
        lli_text_add(out, ".%" PRId64, size % 10);
}

static void attribute(lli_text *out, const char *name, double pixels) {
    lli_text_add(out, " %s=\"", name);
    lli_svg_coordinate(out, pixels);
    lli_text_add(out, "\"");
}

static void title_of(lli_text *out, const char *title) {
    if (!title)
        return;
    lli_text_add(out, "<title>");
    lli_html_text(out, title);
    lli_text_add(out, "</title>");
}

void lli_svg_open(lli_svg *s, const char *id, const char *title, const char *description) {
    lli_text *out = s->out;
    lli_text_add(out, "<svg id=\"%s\" role=\"img\" aria-labelledby=\"%s-t %s-d\" viewBox=\"0 0 ", id, id, id);
    lli_svg_coordinate(out, s->width);
    lli_text_add(out, " ");
    lli_svg_coordinate(out, s->height);
    lli_text_add(out, "\"><title id=\"%s-t\">", id);
    lli_html_text(out, title);
    lli_text_add(out, "</title><desc id=\"%s-d\">", id);
    lli_html_text(out, description);
    lli_text_add(out, "</desc>\n");
}

void lli_svg_close(const lli_svg *s) {
    lli_text_add(s->out, "</svg>\n");
}

double lli_svg_round_up(double x) {
    if (!(x > 0) || !isfinite(x))
        return 1;
    double power = pow(10, floor(log10(x)));
    const double steps[] = {1, 2, 2.5, 5, 10};
    for (size_t i = 0; i < LLI_COUNT(steps); i++)
        if (steps[i] * power >= x * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

static void segment(const lli_svg *s, const char *classes, double px0, double py0, double px1, double py1) {
    lli_text_add(s->out, "<path class=\"%s\" d=\"M", classes);
    lli_svg_coordinate(s->out, px0);
    lli_text_add(s->out, " ");
    lli_svg_coordinate(s->out, py0);
    lli_text_add(s->out, "L");
    lli_svg_coordinate(s->out, px1);
    lli_text_add(s->out, " ");
    lli_svg_coordinate(s->out, py1);
    lli_text_add(s->out, "\"/>");
}

void lli_svg_text(const lli_svg *s, const char *classes, double px, double py, const char *anchor, const char *text) {
    lli_text_add(s->out, "<text class=\"%s\"", classes);
    attribute(s->out, "x", px);
    attribute(s->out, "y", py);
    lli_text_add(s->out, " text-anchor=\"%s\">", anchor);
    lli_html_text(s->out, text);
    lli_text_add(s->out, "</text>");
}

static void tick_text(lli_text *out, double value, double step, lli_svg_unit unit) {
    double shown = unit == LLI_SVG_PERCENT ? 100 * value : value, by = unit == LLI_SVG_PERCENT ? 100 * step : step;
    int decimals = 0;
    while (decimals < 8 && fabs(by - nearbyint(by)) > 1e-6 * by) {
        by *= 10;
        decimals++;
    }
    lli_html_fixed(out, shown, decimals);
    if (unit == LLI_SVG_PERCENT)
        lli_text_add(out, "\xe2\x80\xaf%%");
}

/* Ticks about `apart` pixels from each other; the first at or above the start of the axis. */
static double tick_step(double lo, double hi, double pixels, double apart, lli_svg_unit unit) {
    double step = lli_svg_round_up((hi - lo) * apart / pixels);
    return unit == LLI_SVG_COUNT ? fmax(1, ceil(step)) : step;
}

/* Widths in a wide font without serifs, in shares of its size. */
static double width_of(const char *text) {
    double width = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        width += *p == '.' ? 0.33 : *p == '%' ? 0.96 : (*p & 0xc0) == 0x80 ? 0 : *p >= 0xc0 ? 0.4 : 0.65;
    return width;
}

enum { TICK_GAP = 8 };

void lli_svg_fit(lli_svg *s, lli_svg_unit unit, double font) {
    s->right = fmin(s->right, s->width - 1.8 * font); /* half of "100 %" below the end of the x axis */
    double step = tick_step(s->y0, s->y1, s->bottom - s->top, 44, unit);
    const double ends[] = {ceil(s->y0 / step - 1e-9), floor(s->y1 / step + 1e-9)};
    for (size_t i = 0; i < LLI_COUNT(ends); i++) {
        lli_text text;
        lli_text_init(&text, s->out->ctx);
        tick_text(&text, ends[i] * step, step, unit);
        if (lli_html_use(s->out, &text))
            s->left = fmax(s->left, ceil(TICK_GAP + font * width_of(text.data)));
        lli_text_release(&text);
    }
}

void lli_svg_x_axis(const lli_svg *s, const char *label, lli_svg_unit unit) {
    double step = tick_step(s->x0, s->x1, s->right - s->left, 76, unit), first = ceil(s->x0 / step - 1e-9);
    for (double i = first; i * step <= s->x1 + 1e-9 * step; i++) {
        double px = lli_svg_px(s, i * step);
        segment(s, "grid", px, s->top, px, s->bottom);
        lli_text_add(s->out, "<text class=\"tick\"");
        attribute(s->out, "x", px);
        attribute(s->out, "y", s->bottom + 18);
        lli_text_add(s->out, " text-anchor=\"middle\">");
        tick_text(s->out, i * step, step, unit);
        lli_text_add(s->out, "</text>");
    }
    segment(s, "axis", s->left, s->bottom, s->right, s->bottom);
    lli_svg_text(s, "label", (s->left + s->right) / 2, s->bottom + 38, "middle", label);
    lli_text_add(s->out, "\n");
}

void lli_svg_y_axis(const lli_svg *s, const char *label, lli_svg_unit unit) {
    double step = tick_step(s->y0, s->y1, s->bottom - s->top, 44, unit), first = ceil(s->y0 / step - 1e-9);
    for (double i = first; i * step <= s->y1 + 1e-9 * step; i++) {
        double py = lli_svg_py(s, i * step);
        segment(s, "grid", s->left, py, s->right, py);
        lli_text_add(s->out, "<text class=\"tick\"");
        attribute(s->out, "x", s->left - TICK_GAP);
        attribute(s->out, "y", py + 4);
        lli_text_add(s->out, " text-anchor=\"end\">");
        tick_text(s->out, i * step, step, unit);
        lli_text_add(s->out, "</text>");
    }
    lli_svg_text(s, "label", s->left, s->top - 10, "start", label);
    lli_text_add(s->out, "\n");
}

/* The pen of a path: absolute start, then relative tenths of a pixel, which are short. */
typedef struct pen {
    lli_text *out;
    int64_t x, y;
    bool down;
} pen;

static void number(pen *p, int64_t value) {
    lli_text_add(p->out, "%s%" PRId64, value < 0 ? "" : " ", value);
}

static void pen_to(pen *p, double px, double py) {
    int64_t x = llround(10 * px), y = llround(10 * py);
    if (!p->down)
        lli_text_add(p->out, "M%" PRId64 " %" PRId64 "l", x, y);
    else {
        number(p, x - p->x);
        number(p, y - p->y);
    }
    *p = (pen){p->out, x, y, true};
}

static pen open_path(const lli_svg *s, const char *classes) {
    lli_text_add(s->out, "<path class=\"%s\" transform=\"scale(.1)\" d=\"", classes);
    return (pen){.out = s->out};
}

static void close_path(const lli_svg *s, const pen *p, const char *title) {
    lli_text_add(s->out, "%s\"", p->down ? " 0 0" : "M0 0");
    if (title) {
        lli_text_add(s->out, ">");
        title_of(s->out, title);
        lli_text_add(s->out, "</path>\n");
    } else {
        lli_text_add(s->out, "/>\n");
    }
}

void lli_svg_line(const lli_svg *s, const char *classes, const char *title, const double *x, const double *y, int64_t n) {
    const double slack = 1.0 / 3;
    pen p = open_path(s, classes);
    double ax = 0, ay = 0, lo = -INFINITY, hi = INFINITY; /* the anchor, and the slopes that pass all points since */
    for (int64_t i = 0; i < n; i++) {
        double px = lli_svg_px(s, x[i]), py = lli_svg_py(s, y[i]), dx = px - ax;
        if (i == 0) {
            pen_to(&p, ax = px, ay = py);
            continue;
        }
        double slope = dx > 0 ? (py - ay) / dx : INFINITY;
        if (!(dx > 0.05 && slope >= lo && slope <= hi)) { /* this point cannot be reached in one go: the one before is a corner */
            double cx = lli_svg_px(s, x[i - 1]), cy = lli_svg_py(s, y[i - 1]);
            if (fabs(cx - ax) > 0.05 || fabs(cy - ay) > 0.05)
                pen_to(&p, ax = cx, ay = cy);
            lo = -INFINITY;
            hi = INFINITY;
            dx = px - ax;
            if (dx <= 0.05) {
                if (fabs(py - ay) > 0.05)
                    pen_to(&p, ax = px, ay = py);
                continue;
            }
        }
        lo = fmax(lo, (py - slack - ay) / dx);
        hi = fmin(hi, (py + slack - ay) / dx);
        if (i == n - 1)
            pen_to(&p, px, py);
    }
    close_path(s, &p, title);
}

void lli_svg_band(const lli_svg *s, const char *classes, const double *x, const double *lo, const double *hi, int64_t n) {
    const double apart = 6;
    pen p = open_path(s, classes);
    double last = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (lli_svg_px(s, x[i]) - last >= apart || i == n - 1)
            pen_to(&p, last = lli_svg_px(s, x[i]), lli_svg_py(s, hi[i]));
    last = INFINITY;
    for (int64_t i = n; i-- > 0;)
        if (last - lli_svg_px(s, x[i]) >= apart || i == 0)
            pen_to(&p, last = lli_svg_px(s, x[i]), lli_svg_py(s, lo[i]));
    close_path(s, &p, NULL);
}

void lli_svg_stairs(const lli_svg *s, const char *classes, const char *title, const double *height, int64_t n, double lo, double w) {
    pen p = open_path(s, classes);
    pen_to(&p, lli_svg_px(s, lo), lli_svg_py(s, 0));
    for (int64_t j = 0; j < n; j++) {
        double py = lli_svg_py(s, height[j]);
        pen_to(&p, lli_svg_px(s, lo + (double)j * w), py);
        pen_to(&p, lli_svg_px(s, lo + (double)(j + 1) * w), py);
    }
    pen_to(&p, lli_svg_px(s, lo + (double)n * w), lli_svg_py(s, 0));
    close_path(s, &p, title);
}

void lli_svg_bar(const lli_svg *s, const char *classes, const char *title, double x0, double x1, double y0, double y1) {
    double px0 = lli_svg_px(s, x0), px1 = lli_svg_px(s, x1), py0 = lli_svg_py(s, y0), py1 = lli_svg_py(s, y1);
    lli_text_add(s->out, "<rect class=\"%s\"", classes);
    attribute(s->out, "x", fmin(px0, px1));
    attribute(s->out, "y", fmin(py0, py1));
    attribute(s->out, "width", fabs(px1 - px0));
    attribute(s->out, "height", fabs(py1 - py0));
    lli_text_add(s->out, title ? ">" : "/>\n");
    if (!title)
        return;
    title_of(s->out, title);
    lli_text_add(s->out, "</rect>\n");
}

void lli_svg_dot(const lli_svg *s, const char *classes, const char *title, double x, double y) {
    lli_text_add(s->out, "<circle class=\"%s\"", classes);
    attribute(s->out, "cx", lli_svg_px(s, x));
    attribute(s->out, "cy", lli_svg_py(s, y));
    lli_text_add(s->out, " r=\"4\">");
    title_of(s->out, title);
    lli_text_add(s->out, "</circle>\n");
}
