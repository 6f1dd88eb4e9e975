/* SPDX-License-Identifier: MIT */
/* Telling out-of-distribution points from the others: ROC, precision-recall, and where the scores lie. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "metrics/outcome.h"
#include "report/figure.h"
#include "report/html.h"

enum { BINS = 40, KINDS = 3, ROC = 0 };

/* The curves of one method and confidence. ROC: false against true positives, in-distribution positive; then precision against recall
 * with in, and with out, as the positive class. */
typedef struct points {
    double *x, *y; /* [2 (steps + 1)]: room for the corners */
    int64_t n;
} points;

static void roc(points *p, const lli_curve *curve) {
    double out = (double)curve->marked, in = (double)(curve->n - curve->marked);
    p->x[0] = p->y[0] = 0;
    p->n = 1;
    for (int64_t i = 0; i < curve->steps; i++, p->n++) {
        p->x[p->n] = (double)curve->step[i].marked / out;
        p->y[p->n] = (double)(curve->step[i].accepted - curve->step[i].marked) / in;
    }
}

static void precision_in(points *p, const lli_curve *curve) {
    double in = (double)(curve->n - curve->marked);
    p->n = 0;
    for (int64_t i = 0; i < curve->steps; i++, p->n++) {
        double found = (double)(curve->step[i].accepted - curve->step[i].marked);
        p->x[p->n] = found / in;
        p->y[p->n] = found / (double)curve->step[i].accepted;
    }
}

static void precision_out(points *p, const lli_curve *curve) {
    p->n = 0;
    for (int64_t i = curve->steps - 1; i >= 0; i--, p->n++) {
        int64_t above = i ? curve->step[i - 1].accepted : 0, above_out = i ? curve->step[i - 1].marked : 0;
        double found = (double)(curve->marked - above_out);
        p->x[p->n] = found / (double)curve->marked;
        p->y[p->n] = found / (double)(curve->n - above);
    }
}

static void (*const trace[KINDS])(points *, const lli_curve *) = {roc, precision_in, precision_out};

/* Leaves out points that the eye could not tell from the last one. */
static void thin(points *p) {
    const double near = 1.0 / 250;
    int64_t kept = LLI_MIN(p->n, 1);
    for (int64_t i = 1; i < p->n; i++) {
        double step = fabs(p->x[i] - p->x[kept - 1]) + fabs(p->y[i] - p->y[kept - 1]);
        if (step < near && i + 1 < p->n)
            continue;
        p->x[kept] = p->x[i];
        p->y[kept++] = p->y[i];
    }
    p->n = kept;
}

/* Average precision holds the precision of a cut for all the recall that it adds: each point becomes the end of a level line. */
static void level(points *p) {
    for (int64_t i = p->n; i-- > 0;) {
        p->x[2 * i + 1] = p->x[i];
        p->y[2 * i + 1] = p->y[2 * i] = p->y[i];
        p->x[2 * i] = i ? p->x[i - 1] : 0;
    }
    p->n *= 2;
}

/* As the metric ranks. */
static ll_status rank(ll_context *ctx, lli_curve *curve, const lli_page_method *m, ll_confidence c) {
    bool falling;
    lli_curve_clear(curve);
    const double *in = lli_outcome_ranking(&falling, &m->points, c, m->out_points);
    const double *out = lli_outcome_ranking(&falling, m->out_points, c, &m->points);
    lli_curve_add(curve, in, m->points.n, falling, NULL, false);
    lli_curve_add(curve, out, m->out_points->n, falling, NULL, true);
    return lli_curve_close(ctx, curve);
}

static double value_of(const ll_ood *o, int kind) {
    return kind == 0 ? o->auroc : kind == 1 ? o->aupr_in : o->aupr_out;
}

enum { CSV_POINTS = 50 };

/* Some points of the curve, the last one among them. */
static void add_csv(lli_text *csv, const char *method, ll_confidence c, int kind, const points *p) {
    static const char *const names[KINDS] = {"roc", "precision_recall_in", "precision_recall_out"};
    int64_t step = p->n / CSV_POINTS + 1;
    for (int64_t i = 0; i < p->n; i++) {
        if (i % step != 0 && i + 1 != p->n)
            continue;
        lli_figure_csv_text(csv, names[kind]);
        lli_figure_csv_text(csv, method);
        lli_figure_csv_text(csv, ll_confidence_name(c));
        lli_figure_csv_number(csv, p->x[i]);
        lli_figure_csv_number(csv, p->y[i]);
        lli_figure_csv_end(csv);
    }
}

static ll_status draw(const lli_svg *svg, lli_text *csv, const lli_view *v, int64_t m, ll_confidence c, int kind) {
    static const char *const names[KINDS] = {"AUROC", "AUPR-in", "AUPR-out"};
    const lli_page_method *method = &v->page->methods[m];
    lli_curve curve = {0};
    points p = {0};
    lli_text title;
    char classes[LLI_FIGURE_CLASSES];
    ll_status status;
    int64_t total = method->points.n + method->out_points->n;
    lli_text_init(&title, svg->out->ctx);
    LLI_DO(lli_curve_init(&curve, svg->out->ctx, total));
    LLI_DO(lli_memory_new(svg->out->ctx, &p.x, 2 * (total + 1), sizeof(double)));
    LLI_DO(lli_memory_new(svg->out->ctx, &p.y, 2 * (total + 1), sizeof(double)));
    LLI_DO(rank(svg->out->ctx, &curve, method, c));
    trace[kind](&p, &curve);
    thin(&p);
    if (c <= LL_CONFIDENCE_HQ)
        add_csv(csv, method->name, c, kind, &p);
    if (kind != ROC)
        level(&p);
    lli_text_add(&title, "%s, %s: %s ", method->name, ll_confidence_name(c), names[kind]);
    lli_text_number(&title, value_of(&method->evaluation->ood[c], kind));
    LLI_DO(title.status);
    lli_svg_line(svg, lli_figure_classes(classes, m, (int)c), title.data, p.x, p.y, p.n);
done:
    lli_text_release(&title);
    lli_curve_release(&curve);
    lli_memory_free(p.x);
    lli_memory_free(p.y);
    return status;
}

static bool exists(const lli_view *v, int64_t m, ll_confidence c) {
    return v->page->methods[m].out_points && !isnan(v->page->methods[m].evaluation->ood[c].auroc);
}

static ll_status curves(lli_text *out, lli_text *csv, const lli_view *v, int kind) {
    static const char *const ids[KINDS] = {"svg-ood-roc", "svg-ood-in", "svg-ood-out"};
    static const char *const titles[KINDS] = {"ROC, in-distribution positive", "Precision-recall, in-distribution positive",
                                              "Precision-recall, out-of-distribution positive"};
    static const char *const axes[KINDS][2] = {
        {"false positive rate", "true positive rate"}, {"recall", "precision (in)"}, {"recall", "precision (out)"}};
    lli_svg svg = lli_figure_panel(out, 400, 330);
    lli_svg_open(&svg, ids[kind], titles[kind], "One line per method and confidence.");
    lli_svg_x_axis(&svg, axes[kind][0], LLI_SVG_PERCENT);
    lli_svg_y_axis(&svg, axes[kind][1], LLI_SVG_PERCENT);
    for (ll_confidence c = LL_CONFIDENCE_COUNT; c-- > 0;)
        for (int64_t m = v->page->count; m-- > 0;)
            if (exists(v, m, c))
                LLI_TRY(draw(&svg, csv, v, m, c, kind));
    lli_svg_close(&svg);
    return LL_OK;
}

static void scores(lli_text *out, lli_text *csv, const lli_view *v, int64_t m, ll_confidence c) {
    const lli_page_method *method = &v->page->methods[m];
    const ll_outcome *kinds[2] = {&method->points, method->out_points};
    double share[2][BINS], lo = INFINITY, hi = -INFINITY, top = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < kinds[k]->n; i++) {
            lo = fmin(lo, kinds[k]->confidence[c][i]);
            hi = fmax(hi, kinds[k]->confidence[c][i]);
        }
    lli_svg svg = lli_figure_panel(out, 400, 240);
    svg.x0 = c == LL_CONFIDENCE_SR ? 0 : lo;
    svg.x1 = c == LL_CONFIDENCE_SR ? 1 : fmax(hi, lo + 1e-12);
    for (int k = 0; k < 2; k++) {
        lli_figure_shares(share[k], BINS, svg.x0, svg.x1, kinds[k]->confidence[c], 1, kinds[k]->n, NULL, 0);
        for (int j = 0; j < BINS; j++)
            top = fmax(top, share[k][j]);
    }
    svg.y1 = 1.05 * top;
    lli_svg_fit(&svg, LLI_SVG_PERCENT, LLI_SVG_FONT_PANEL);
    for (int j = 0; j < BINS; j++) {
        lli_figure_csv_text(csv, method->name);
        lli_figure_csv_text(csv, ll_confidence_name(c));
        lli_figure_csv_number(csv, svg.x0 + (svg.x1 - svg.x0) * j / BINS);
        lli_figure_csv_number(csv, svg.x0 + (svg.x1 - svg.x0) * (j + 1) / BINS);
        lli_figure_csv_number(csv, share[0][j]);
        lli_figure_csv_number(csv, share[1][j]);
        lli_figure_csv_end(csv);
    }
    lli_text id, title;
    lli_text_init(&id, out->ctx);
    lli_text_init(&title, out->ctx);
    lli_text_add(&id, "svg-ood-scores-%" PRId64, m);
    lli_text_add(&title, "%s: %s in and out of distribution", method->name, ll_confidence_name(c));
    if (lli_html_use(out, &id) && lli_html_use(out, &title)) {
        lli_svg_open(&svg, id.data, title.data,
                     "Two histograms, each with its own total: in-distribution points filled, the others as an outline.");
        lli_svg_x_axis(&svg, ll_confidence_name(c), LLI_SVG_PLAIN);
        lli_svg_y_axis(&svg, method->name, LLI_SVG_PERCENT);
        lli_svg_stairs(&svg, "right", "in-distribution", share[0], BINS, svg.x0, (svg.x1 - svg.x0) / BINS);
        lli_svg_stairs(&svg, "wrong", "out-of-distribution", share[1], BINS, svg.x0, (svg.x1 - svg.x0) / BINS);
        lli_svg_close(&svg);
    }
    lli_text_release(&id);
    lli_text_release(&title);
}

/* The confidence that tells best, for the histogram of this method. */
static int best_by(const lli_view *v, int64_t m) {
    int best = -1;
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (exists(v, m, (ll_confidence)c) &&
            (best < 0 || v->page->methods[m].evaluation->ood[c].auroc > v->page->methods[m].evaluation->ood[best].auroc))
            best = c;
    return best;
}

ll_status lli_figure_ood(lli_text *out, const lli_view *v) {
    bool any = false;
    for (int64_t m = 0; m < v->page->count; m++)
        any = any || best_by(v, m) >= 0;
    if (!any)
        return LL_OK;
    unsigned hide = lli_figure_hidden(v);
    ll_status status = LL_OK;
    lli_text lines, bins;
    lli_text_init(&lines, out->ctx);
    lli_text_init(&bins, out->ctx);
    lli_figure_section(
        out, "ood", "Points unlike the training data",
        "Can the confidence tell points of the known classes from points of none? AUROC is the chance that a known point has more of it.");
    lli_figure_open(out, "fig-ood-curves", hide);
    lli_figure_legend(out, v, true, false, hide);
    lli_text_add(out, "<div class=\"panels three\">\n");
    for (int kind = 0; kind < KINDS && status == LL_OK; kind++)
        status = curves(out, &lines, v, kind);
    lli_text_add(out, "</div>\n");
    lli_figure_csv(out, "curve,method,confidence,x,y", &lines);
    lli_figure_close(out);
    lli_figure_open(out, "fig-ood-scores", 0);
    lli_figure_caption(
        out, "The confidence of highest AUROC of each method: in-distribution points filled, out-of-distribution points as an outline.");
    lli_text_add(out, "<div class=\"panels three\">\n");
    for (int64_t m = 0; m < v->page->count; m++)
        if (best_by(v, m) >= 0)
            scores(out, &bins, v, m, (ll_confidence)best_by(v, m));
    lli_text_add(out, "</div>\n");
    lli_figure_csv(out, "method,confidence,from,to,share_of_known,share_of_unknown", &bins);
    lli_figure_close(out);
    lli_figure_section_end(out);
    lli_text_release(&lines);
    lli_text_release(&bins);
    return status;
}
