/* SPDX-License-Identifier: MIT */
/* How chains went: what each member says, in the order in which they were made, and how soon they forget. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "report/figure.h"
#include "report/html.h"
#include "report/table.h"

enum { CHAINS_MAX = 8, POINTS_MAX = 400, LAGS_MAX = 40, COLOURS = 10 };

/* Of one diagnosis: what is drawn of it. */
typedef struct drawing {
    const lli_page_diagnosis *of;
    int64_t number;       /* on the page */
    int64_t n, every;     /* members of a chain; one of so many is drawn */
    int64_t chains, lags; /* that are drawn */
    double x[POINTS_MAX + 1], y[POINTS_MAX + 1];
    double correlation[LAGS_MAX + 1];
} drawing;

static void start(drawing *d, const lli_page_diagnosis *of, int64_t number) {
    const ll_diagnosis_info *i = &of->traces->info;
    d->of = of;
    d->number = number;
    d->n = i->members / i->chains;
    d->every = (d->n + POINTS_MAX - 1) / POINTS_MAX;
    d->chains = LLI_MIN(i->chains, CHAINS_MAX);
    d->lags = LLI_MIN(d->n / 2, LAGS_MAX);
}

static const double *draws_of(const drawing *d, int64_t trace, int64_t chain) {
    return d->of->traces->draws + trace * d->of->traces->info.members + chain * d->n;
}

/* "svg-trace-0-2" */
static void open(lli_svg *svg, const drawing *d, int64_t trace, const char *what, const char *description) {
    lli_text id, title;
    lli_text_init(&id, svg->out->ctx);
    lli_text_init(&title, svg->out->ctx);
    lli_text_add(&id, "svg-%s-%" PRId64 "-%" PRId64, what, d->number, trace);
    lli_text_add(&title, "%s, row %" PRId64, what, d->of->traces->row[trace]);
    if (lli_html_use(svg->out, &id) && lli_html_use(svg->out, &title))
        lli_svg_open(svg, id.data, title.data, description);
    lli_text_release(&id);
    lli_text_release(&title);
}

static void label(lli_text *out, const char *what, int64_t row) {
    lli_text_add(out, "%s, row %" PRId64, what, row);
}

static void draw_trace(lli_text *out, drawing *d, int64_t trace) {
    static const char *const colours[COLOURS] = {"s k0", "s k1", "s k2", "s k3", "s k4", "s k5", "s k6", "s k7", "s k8", "s k9"};
    lli_svg svg = lli_figure_panel(out, 400, 260);
    double lo = 1, hi = 0;
    for (int64_t s = 0; s < d->chains * d->n; s++) {
        lo = fmin(lo, draws_of(d, trace, 0)[s]);
        hi = fmax(hi, draws_of(d, trace, 0)[s]);
    }
    double air = fmax(0.06 * (hi - lo), 1e-6);
    svg.x0 = 1;
    svg.x1 = (double)d->n;
    svg.y0 = fmax(0, lo - air);
    svg.y1 = fmin(1, hi + air);
    lli_svg_fit(&svg, LLI_SVG_PLAIN, LLI_SVG_FONT_PANEL);
    open(&svg, d, trace, "trace",
         "One line per chain: the probability that each member gives to the label of all, one member after the other.");
    lli_text y;
    lli_text_init(&y, out->ctx);
    label(&y, "p(label)", d->of->traces->row[trace]);
    lli_svg_x_axis(&svg, "member of its chain", LLI_SVG_COUNT);
    if (lli_html_use(out, &y))
        lli_svg_y_axis(&svg, y.data, LLI_SVG_PLAIN);
    lli_text_release(&y);
    for (int64_t c = 0; c < d->chains; c++) {
        int64_t count = 0;
        for (int64_t s = 0; s < d->n; s += d->every) {
            d->x[count] = (double)(s + 1);
            d->y[count++] = draws_of(d, trace, c)[s];
        }
        lli_svg_line(&svg, colours[c % COLOURS], NULL, d->x, d->y, count);
    }
    lli_svg_close(&svg);
}

/* A bar for each lag. Nothing where a chain's draws are all equal. */
static bool draw_correlation(lli_text *out, drawing *d, int64_t trace) {
    lli_mixing_correlation(d->correlation, draws_of(d, trace, 0), d->of->traces->info.chains, d->n, d->lags);
    if (isnan(d->correlation[0]))
        return false;
    lli_svg svg = lli_figure_panel(out, 400, 260);
    double lo = 0;
    for (int64_t lag = 0; lag <= d->lags; lag++)
        lo = fmin(lo, d->correlation[lag]);
    svg.x0 = -0.5;
    svg.x1 = (double)d->lags + 0.5;
    svg.y0 = lo < 0 ? lo - 0.05 : 0;
    svg.y1 = 1;
    lli_svg_fit(&svg, LLI_SVG_PLAIN, LLI_SVG_FONT_PANEL);
    open(&svg, d, trace, "correlation", "A bar for each lag: how alike members of a chain are that stand so far apart.");
    lli_text y;
    lli_text_init(&y, out->ctx);
    label(&y, "autocorrelation", d->of->traces->row[trace]);
    lli_svg_x_axis(&svg, "members apart", LLI_SVG_COUNT);
    if (lli_html_use(out, &y))
        lli_svg_y_axis(&svg, y.data, LLI_SVG_PLAIN);
    lli_text_release(&y);
    for (int64_t lag = 0; lag <= d->lags; lag++)
        lli_svg_bar(&svg, "bar fill s k0", NULL, (double)lag - 0.4, (double)lag + 0.4, 0, d->correlation[lag]);
    lli_svg_close(&svg);
    return true;
}

static void add_caption(lli_text *out, const drawing *d) {
    const ll_diagnosis_info *i = &d->of->traces->info;
    lli_text text;
    lli_text_init(&text, out->ctx);
    lli_text_add(&text, "%s: %" PRId64 " members of %" PRId64 " chain%s. ", d->of->name, i->members, i->chains, i->chains == 1 ? "" : "s");
    if (i->chains > 1 && !isnan(i->rhat_median))
        lli_text_add(&text, "R-hat has the median %.4g and is above %.4g on %" PRId64 " of %" PRId64 " rows: %s. ", i->rhat_median,
                     i->rhat_limit, i->above, i->rows, i->apart ? "the chains have not met" : "no sign that the chains differ");
    if (!isnan(i->bulk_median))
        lli_text_add(&text, "The members are worth about %.3g independent ones (tails: %.3g)%s. ", i->bulk_median, i->tail_median,
                     i->repeating ? ": they repeat each other" : "");
    if (d->chains < i->chains || d->every > 1)
        lli_text_add(&text, "Drawn are %" PRId64 " of the chains, and one of %" PRId64 " members. ", d->chains, d->every);
    if (lli_html_use(out, &text))
        lli_figure_caption(out, text.data);
    lli_text_release(&text);
}

static void add_csv(lli_text *out, const drawing *d) {
    lli_text csv;
    lli_text_init(&csv, out->ctx);
    for (int64_t t = 0; t < d->of->traces->count; t++)
        for (int64_t c = 0; c < d->chains; c++)
            for (int64_t s = 0; s < d->n; s += d->every) {
                lli_figure_csv_text(&csv, d->of->name);
                lli_figure_csv_number(&csv, (double)d->of->traces->row[t]);
                lli_figure_csv_number(&csv, (double)c);
                lli_figure_csv_number(&csv, (double)(s + 1));
                lli_figure_csv_number(&csv, draws_of(d, t, c)[s]);
                lli_figure_csv_end(&csv);
            }
    lli_figure_csv(out, "method,row,chain,member,p_label", &csv);
    lli_text_release(&csv);
}

static void add_figure(lli_text *out, drawing *d) {
    lli_text id;
    lli_text_init(&id, out->ctx);
    lli_text_add(&id, "fig-chains-%" PRId64, d->number);
    if (lli_html_use(out, &id))
        lli_figure_open(out, id.data, 0);
    lli_text_release(&id);
    add_caption(out, d);
    lli_text_add(out, "<div class=\"panels two\">\n");
    for (int64_t t = 0; t < d->of->traces->count; t++) {
        draw_trace(out, d, t);
        if (!draw_correlation(out, d, t))
            lli_text_add(out, "<p class=\"absent\">All members of a chain say the same.</p>\n");
    }
    lli_text_add(out, "</div>\n");
    add_csv(out, d);
    lli_figure_close(out);
}

ll_status lli_figure_traces(lli_text *out, const lli_view *v) {
    if (!v->page->diagnosis_count)
        return LL_OK;
    drawing *d;
    LLI_TRY(lli_memory_new(out->ctx, &d, 1, sizeof *d));
    lli_figure_section(
        out, "chains", "Have the chains mixed?",
        "On the rows that look worst, the probability that each member gives to the label of all. Chains that have mixed lie in "
        "the same band, and members a few steps apart have nothing in common any more.");
    for (int64_t i = 0; i < v->page->diagnosis_count; i++) {
        start(d, &v->page->diagnoses[i], i);
        add_figure(out, d);
    }
    lli_figure_section_end(out);
    lli_memory_free(d);
    return LL_OK;
}
