/* SPDX-License-Identifier: MIT */
/* For chosen points: how the members' largest probabilities spread, and which classes they chose. */
#include <inttypes.h>
#include <math.h>

#include "report/figure.h"
#include "report/html.h"
#include "report/members.h"

enum { BINS = 20, POINTS_MAX = 8 };

static void describe(lli_text *out, const lli_view *v, const lli_page_method *method, int64_t r) {
    int64_t row = method->member_row[r], agree = 0;
    const ll_outcome *p = &method->points;
    for (int64_t s = 0; method->member_label && s < method->S; s++)
        agree += method->member_label[r * method->S + s] == p->label[row];
    lli_text_add(out, "<figcaption><b>");
    lli_html_text(out, method->name);
    lli_text_add(out, "</b>, row %" PRId64 ": answer ", row);
    lli_view_class(out, v, p->label[row]);
    lli_text_add(out, ", truth ");
    lli_view_class(out, v, p->truth[row]);
    if (method->member_label)
        lli_text_add(out, "; %" PRId64 " of %" PRId64 " members say so", agree, method->S);
    lli_text_add(out, "</figcaption>");
}

static void panel(lli_text *out, const lli_view *v, lli_thumbs *thumbs, int64_t m, int64_t r) {
    const lli_page_method *method = &v->page->methods[m];
    int64_t S = method->S, thumb = lli_thumbs_want(thumbs, method->member_row[r]);
    double count[BINS] = {0}, top = 1;
    for (int64_t s = 0; s < S; s++) {
        double at = (double)method->member_pmax[r * S + s] * BINS;
        double *bin = &count[(int)fmin(fmax(at, 0), BINS - 1)];
        top = fmax(top, ++*bin);
    }
    lli_svg svg = lli_figure_panel(out, 400, 230);
    svg.y1 = 1.05 * top;
    lli_svg_fit(&svg, LLI_SVG_COUNT, LLI_SVG_FONT_PANEL);
    char classes[LLI_FIGURE_CLASSES];
    lli_text id, fill;
    lli_text_init(&id, out->ctx);
    lli_text_init(&fill, out->ctx);
    lli_text_add(&id, "svg-members-%" PRId64 "-%" PRId64, m, r);
    lli_text_add(&fill, "fill %s", lli_figure_classes(classes, m, -1));
    lli_text_add(out, "<div class=\"member\">");
    if (thumb >= 0)
        lli_thumbs_show(out, thumbs, thumb);
    describe(out, v, method, r);
    if (lli_html_use(out, &id) && lli_html_use(out, &fill)) {
        lli_svg_open(&svg, id.data, "Largest probability of each member", "A histogram over members.");
        lli_svg_x_axis(&svg, "largest probability of a member", LLI_SVG_PLAIN);
        lli_svg_y_axis(&svg, "members", LLI_SVG_COUNT);
        lli_svg_stairs(&svg, fill.data, NULL, count, BINS, 0, 1.0 / BINS);
        lli_svg_close(&svg);
    }
    lli_text_add(out, "</div>\n");
    lli_text_release(&id);
    lli_text_release(&fill);
}

void lli_members_figure(lli_text *out, const lli_view *v, lli_thumbs *thumbs) {
    int64_t most = 0; /* points; one member has no spread to show */
    for (int64_t m = 0; m < v->page->count; m++)
        most = LLI_MAX(most, v->page->methods[m].S > 1 ? LLI_MIN(v->page->methods[m].R, POINTS_MAX) : 0);
    if (!most)
        return;
    lli_figure_section(out, "members", "One point, all members",
                       "The largest probability that each member gives. A narrow peak is agreement; a wide one is doubt that a single "
                       "network does not show.");
    lli_figure_open(out, "fig-members", 0);
    lli_text_add(out, "<div class=\"panels three\">\n");
    for (int64_t r = 0; r < most; r++)
        for (int64_t m = 0; m < v->page->count; m++)
            if (v->page->methods[m].S > 1 && r < v->page->methods[m].R)
                panel(out, v, thumbs, m, r);
    lli_text_add(out, "</div>\n");
    lli_figure_close(out);
    lli_figure_section_end(out);
}
