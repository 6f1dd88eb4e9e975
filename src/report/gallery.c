/* SPDX-License-Identifier: MIT */
/* Picks and describes single points. */
#include "report/gallery.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/memory.h"
#include "metrics/outcome.h"
#include "report/html.h"

ll_status lli_gallery_init(lli_gallery *g, ll_context *ctx, const lli_view *v, int64_t method, ll_confidence by) {
    *g = (lli_gallery){0};
    const ll_outcome *p = &v->page->methods[method].points;
    lli_sort_item *items = NULL, *scratch = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &items, p->n, sizeof *items));
    LLI_DO(lli_memory_new(ctx, &scratch, p->n, sizeof *scratch));
    bool falling;
    const double *x = lli_outcome_ranking(&falling, p, by, NULL);
    for (int64_t i = 0; i < p->n; i++)
        items[i] = (lli_sort_item){.key = falling ? -x[i] : x[i], .tag = i};
    lli_sort_descending(items, scratch, p->n);
    for (int64_t i = 0; i < p->n && g->count[LLI_GALLERY_ERRORS] < LLI_GALLERY_POINTS; i++)
        if (p->label[items[i].tag] != p->truth[items[i].tag])
            g->row[LLI_GALLERY_ERRORS][g->count[LLI_GALLERY_ERRORS]++] = items[i].tag;
    for (int64_t i = p->n; i-- > 0 && g->count[LLI_GALLERY_REJECTED] < LLI_GALLERY_POINTS;)
        g->row[LLI_GALLERY_REJECTED][g->count[LLI_GALLERY_REJECTED]++] = items[i].tag;
done:
    lli_memory_free(items);
    lli_memory_free(scratch);
    return status;
}

int64_t lli_gallery_top(int64_t top[LLI_GALLERY_TOP], double p[LLI_GALLERY_TOP], const ll_outcome *points, int64_t row) {
    int64_t count = 0, K = points->probs.data ? points->probs.shape[1] : 0;
    for (int64_t k = 0; k < K; k++) {
        double here = lli_array_real(&points->probs, row * K + k);
        int64_t at = count < LLI_GALLERY_TOP ? count++ : LLI_GALLERY_TOP;
        for (; at > 0 && p[at - 1] < here; at--)
            if (at < LLI_GALLERY_TOP) {
                top[at] = top[at - 1];
                p[at] = p[at - 1];
            }
        if (at < LLI_GALLERY_TOP) {
            top[at] = k;
            p[at] = here;
        }
    }
    return count;
}

void lli_gallery_item(lli_text *out, const lli_view *v, lli_thumbs *thumbs, int64_t method, ll_confidence by, int64_t row,
                      int64_t kept_from) {
    const ll_outcome *p = &v->page->methods[method].points;
    int64_t thumb = lli_thumbs_want(thumbs, row), top[LLI_GALLERY_TOP];
    double share[LLI_GALLERY_TOP];
    int64_t cut = lli_view_find(&v->series[method][by], p->confidence[by][row]), count = lli_gallery_top(top, share, p, row);
    lli_text_add(out, "<li class=\"point%s\" data-row=\"%" PRId64 "\">", cut > kept_from ? " handed" : "", row);
    if (thumb >= 0)
        lli_thumbs_show(out, thumbs, thumb);
    lli_text_add(out, "<div><b>");
    lli_view_class(out, v, p->label[row]);
    lli_text_add(out, "</b><span>truth ");
    lli_view_class(out, v, p->truth[row]);
    lli_text_add(out, "</span><span class=\"top\">");
    for (int64_t i = 0; i < count; i++) {
        lli_text_add(out, "%s", i ? " \xc2\xb7 " : "");
        lli_view_class(out, v, top[i]);
        lli_text_add(out, " ");
        lli_html_fixed(out, 100 * share[i], 1);
        lli_text_add(out, "\xe2\x80\xaf%%");
    }
    lli_text_add(out, "</span><span class=\"row\">row %" PRId64 "</span></div></li>\n", row);
}
