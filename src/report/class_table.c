/* SPDX-License-Identifier: MIT */
/* The classes of the best method, worst first. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "metrics/interval.h"
#include "metrics/special.h"
#include "report/html.h"
#include "report/summary.h"

enum { ROWS_MAX = 50 };

/* Worst recall first; classes without points last. */
static bool is_worse(const ll_class_score *score, int64_t a, int64_t b) {
    double x = score[a].n ? score[a].recall : 2, y = score[b].n ? score[b].recall : 2;
    return x < y || (x == y && a < b);
}

static void share(lli_text *out, int64_t count, int64_t n, double z) {
    lli_html_cell_interval(out, n ? (double)count / (double)n : NAN, n ? lli_interval_wilson(count, n, z) : lli_interval_none, false);
}

static void row(lli_text *out, const lli_view *v, const ll_class_score *s, int64_t k, double z) {
    lli_text_add(out, "<tr><td>");
    lli_view_class(out, v, k);
    lli_text_add(out, "</td><td class=\"n\" data-v=\"%" PRId64 "\">", s->n);
    lli_html_count(out, s->n);
    lli_text_add(out, "</td>");
    share(out, s->right, s->n, z);
    share(out, s->right, s->decided, z);
    share(out, s->answered, s->n, z);
    share(out, s->answered - s->answered_right, s->answered, z);
    lli_text_add(out, "</tr>\n");
}

static void open_table(lli_text *out, const lli_view *v, const ll_evaluation *e, int64_t shown) {
    static const char *const columns[] = {"class", "points", "recall", "precision", "answered", "wrong among answered", NULL};
    lli_text caption;
    lli_text_init(&caption, out->ctx);
    lli_text_add(&caption, "Classes of ");
    lli_html_text(&caption, v->page->methods[v->best].name);
    lli_text_add(&caption, ", worst recall first");
    if (shown < e->classes)
        lli_text_add(&caption, " (the worst %" PRId64 " of %" PRId64 ")", shown, e->classes);
    if (isnan(e->class_cut))
        lli_text_add(&caption, "; no cut of sr keeps a risk of ");
    else {
        lli_text_add(&caption, "; answered where sr &ge; ");
        lli_html_number(&caption, e->class_cut);
        lli_text_add(&caption, ", the cut of risk ");
    }
    lli_text_add(&caption, "%.6g\xc2\xa0%%", 100 * e->rules.risk);
    if (lli_html_use(out, &caption))
        lli_tables_open(out, "table-classes", caption.data, columns);
    lli_text_release(&caption);
}

ll_status lli_class_table_html(lli_text *out, const lli_view *v) {
    const ll_evaluation *e = v->page->methods[v->best].evaluation;
    if (!e->by_class || e->classes < 1)
        return LL_OK;
    int64_t shown = LLI_MIN(e->classes, ROWS_MAX);
    bool *done_with = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(out->ctx, &done_with, e->classes, sizeof *done_with));
    open_table(out, v, e, shown);
    for (int64_t i = 0; i < shown; i++) {
        int64_t worst = -1;
        for (int64_t k = 0; k < e->classes; k++)
            if (!done_with[k] && (worst < 0 || is_worse(e->by_class, k, worst)))
                worst = k;
        done_with[worst] = true;
        row(out, v, &e->by_class[worst], worst, lli_special_normal_quantile(0.5 + 0.5 * e->rules.interval));
    }
    lli_tables_close(out);
done:
    lli_memory_free(done_with);
    return status;
}
