/* SPDX-License-Identifier: MIT */
/* Groups the errors of a series by pair of classes, by stable sorts. */
#include "report/confusions.h"

#include "base/memory.h"
#include "report/html.h"

typedef struct error {
    int32_t truth, label, cut;
} error;

static double key_of(const error *e, int pass) {
    return -(double)(pass == 0 ? e->cut : pass == 1 ? e->label : e->truth);
}

/* By truth, then label, then cut: the least important first. */
static void order(lli_sort_item *items, lli_sort_item *scratch, const error *errors, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        items[i].tag = i;
    for (int pass = 0; pass < 3; pass++) {
        for (int64_t i = 0; i < n; i++)
            items[i].key = key_of(&errors[items[i].tag], pass);
        lli_sort_descending(items, scratch, n);
    }
}

static void group(lli_confusions *c, const lli_sort_item *items, const error *errors, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const error *e = &errors[items[i].tag];
        c->cut[i] = e->cut;
        lli_confusion *last = c->count ? &c->pair[c->count - 1] : NULL;
        if (last && last->truth == e->truth && last->label == e->label)
            last->count++;
        else
            c->pair[c->count++] = (lli_confusion){e->truth, e->label, i, 1};
    }
}

static void by_frequency(lli_confusions *c, lli_confusion *sorted, lli_sort_item *items, lli_sort_item *scratch) {
    for (int64_t i = 0; i < c->count; i++)
        items[i] = (lli_sort_item){.key = (double)c->pair[i].count, .tag = i};
    lli_sort_descending(items, scratch, c->count);
    for (int64_t i = 0; i < c->count; i++)
        sorted[i] = c->pair[items[i].tag];
}

ll_status lli_confusions_init(lli_confusions *c, ll_context *ctx, const lli_view *v, int64_t method, ll_confidence by) {
    *c = (lli_confusions){0};
    const ll_outcome *p = &v->page->methods[method].points;
    const lli_view_series *s = &v->series[method][by];
    int64_t n = 0, total = s->count ? s->cut[s->count - 1].marked : 0;
    error *errors = NULL;
    lli_sort_item *items = NULL, *scratch = NULL;
    lli_confusion *sorted = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &errors, total, sizeof *errors));
    LLI_DO(lli_memory_new(ctx, &items, total, sizeof *items));
    LLI_DO(lli_memory_new(ctx, &scratch, total, sizeof *scratch));
    LLI_DO(lli_memory_new(ctx, &sorted, total, sizeof *sorted));
    LLI_DO(lli_memory_new(ctx, &c->pair, total, sizeof *c->pair));
    LLI_DO(lli_memory_new(ctx, &c->cut, total, sizeof *c->cut));
    for (int64_t i = 0; i < p->n && n < total; i++)
        if (p->label[i] != p->truth[i])
            errors[n++] = (error){p->truth[i], p->label[i], (int32_t)lli_view_find(s, p->confidence[by][i])};
    order(items, scratch, errors, n);
    group(c, items, errors, n);
    by_frequency(c, sorted, items, scratch);
    lli_memory_free(c->pair);
    c->pair = sorted;
    sorted = NULL;
done:
    lli_memory_free(errors);
    lli_memory_free(items);
    lli_memory_free(scratch);
    lli_memory_free(sorted);
    return status;
}

void lli_confusions_release(lli_confusions *c) {
    lli_memory_free(c->pair);
    lli_memory_free(c->cut);
    *c = (lli_confusions){0};
}

int64_t lli_confusions_kept(const lli_confusions *c, int64_t pair, int64_t cut) {
    const lli_confusion *p = &c->pair[pair];
    int64_t kept = 0;
    while (kept < p->count && c->cut[p->first + kept] <= cut)
        kept++;
    return kept;
}

/* truth, label, number of runs, then per run the distance from the last cut and the number of errors. */
static void pack(lli_text *bytes, const lli_confusions *c, const lli_confusion *p) {
    int64_t runs = 0, at = 0;
    for (int64_t i = 0; i < p->count; i++)
        runs += i == 0 || c->cut[p->first + i] != c->cut[p->first + i - 1];
    lli_html_varint(bytes, p->truth);
    lli_html_varint(bytes, p->label);
    lli_html_varint(bytes, runs);
    for (int64_t i = 0; i < p->count;) {
        int64_t cut = c->cut[p->first + i], length = 0;
        for (; i < p->count && c->cut[p->first + i] == cut; i++)
            length++;
        lli_html_varint(bytes, cut - at);
        lli_html_varint(bytes, length);
        at = cut;
    }
}

int64_t lli_confusions_pack(lli_text *bytes, const lli_confusions *c, int64_t room) {
    for (int64_t i = 0; i < c->count; i++) {
        int64_t before = bytes->length;
        pack(bytes, c, &c->pair[i]);
        if (bytes->length > room) {
            bytes->length = before;
            return i;
        }
    }
    return c->count;
}
