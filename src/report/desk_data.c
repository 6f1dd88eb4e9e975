/* SPDX-License-Identifier: MIT */
/* What the script of the page computes from: per series the exact cuts, the confusions at each cut, the galleries. Whatever N is, the
 * size is bounded: 1001 cuts, a share of the room for confusions, a dozen points per gallery. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "report/certificate_card.h"
#include "report/confusions.h"
#include "report/desk.h"
#include "report/html.h"

enum { CONFUSION_BYTES = 80000, ITEMS_MAX = LL_CONFIDENCE_COUNT * LLI_GALLERY_KINDS * LLI_GALLERY_POINTS };

/* Points of one method that are in some gallery; the script finds them by their place. */
typedef struct items {
    int64_t row[ITEMS_MAX];
    int64_t count;
} items;

static int64_t place(items *it, int64_t row) {
    for (int64_t i = 0; i < it->count; i++)
        if (it->row[i] == row)
            return i;
    it->row[it->count] = row;
    return it->count++;
}

/* Little-endian f64 cuts, then what each cut adds: points and errors. */
static void cuts(lli_text *out, lli_text *bytes, const lli_view_series *s) {
    bytes->length = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double cut = s->cut[i].cut + 0.0;
        uint64_t bits;
        memcpy(&bits, &cut, sizeof bits);
        unsigned char eight[8];
        for (int b = 0; b < 8; b++)
            eight[b] = (unsigned char)(bits >> (8 * b));
        lli_text_append(bytes, (const char *)eight, 8);
    }
    for (int64_t i = 0; i < s->count; i++) {
        lli_html_varint(bytes, s->cut[i].accepted - (i ? s->cut[i - 1].accepted : 0));
        lli_html_varint(bytes, s->cut[i].marked - (i ? s->cut[i - 1].marked : 0));
    }
    lli_text_add(out, "\"count\":%" PRId64 ",\"cuts\":\"", s->count);
    if (bytes->status == LL_OK)
        lli_html_base64(out, bytes->data, bytes->length);
    lli_text_add(out, "\"");
}

static ll_status pairs(lli_text *out, lli_text *bytes, const lli_view *v, int64_t m, ll_confidence c, int64_t room) {
    lli_confusions all;
    ll_status status;
    bytes->length = 0;
    LLI_DO(lli_confusions_init(&all, out->ctx, v, m, c));
    int64_t packed = lli_confusions_pack(bytes, &all, room);
    lli_text_add(out, ",\"pairs\":%" PRId64 ",\"all\":%s,\"confusions\":\"", packed, packed == all.count ? "true" : "false");
    if (bytes->status == LL_OK && bytes->length)
        lli_html_base64(out, bytes->data, bytes->length);
    lli_text_add(out, "\"");
done:
    lli_confusions_release(&all);
    return status;
}

static ll_status galleries(lli_text *out, const lli_view *v, items *it, int64_t m, ll_confidence c) {
    static const char *const keys[] = {"errors", "rejected"};
    lli_gallery g;
    LLI_TRY(lli_gallery_init(&g, out->ctx, v, m, c));
    for (int kind = 0; kind < LLI_GALLERY_KINDS; kind++) {
        lli_text_add(out, ",\"%s\":[", keys[kind]);
        for (int64_t i = 0; i < g.count[kind]; i++) {
            int64_t row = g.row[kind][i], cut = lli_view_find(&v->series[m][c], v->page->methods[m].points.confidence[c][row]);
            lli_text_add(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", place(it, row), cut);
        }
        lli_text_add(out, "]");
    }
    return LL_OK;
}

/* [row, truth, label, thumbnail, [class, probability, ...]] */
static void describe(lli_text *out, const lli_view *v, lli_thumbs *thumbs, const items *it, int64_t m) {
    const ll_outcome *p = &v->page->methods[m].points;
    lli_text_add(out, "\"items\":[");
    for (int64_t i = 0; i < it->count; i++) {
        int64_t row = it->row[i], top[LLI_GALLERY_TOP], count;
        double share[LLI_GALLERY_TOP];
        lli_text_add(out, "%s[%" PRId64 ",%d,%d,%" PRId64 ",[", i ? ",\n" : "", row, p->truth[row], p->label[row],
                     lli_thumbs_want(thumbs, row));
        count = lli_gallery_top(top, share, p, row);
        for (int64_t j = 0; j < count; j++) {
            lli_text_add(out, "%s%" PRId64 ",", j ? "," : "", top[j]);
            lli_html_fixed(out, share[j], 4);
        }
        lli_text_add(out, "]]");
    }
    lli_text_add(out, "]");
}

static ll_status method(lli_text *out, lli_text *bytes, const lli_view *v, lli_thumbs *thumbs, int64_t m, int64_t room) {
    items *it;
    ll_status status;
    LLI_TRY(lli_memory_new(out->ctx, &it, 1, sizeof *it));
    bool first = true;
    lli_text_add(out, "{\"name\":");
    lli_html_json(out, v->page->methods[m].name);
    lli_text_add(out, ",\"n\":%" PRId64 ",\"series\":[", v->page->methods[m].points.n);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        if (!v->series[m][c].count)
            continue;
        lli_text_add(out, "%s{\"c\":%d,\"by\":\"%s\",", first ? "" : ",\n", (int)c, ll_confidence_name(c));
        cuts(out, bytes, &v->series[m][c]);
        LLI_DO(pairs(out, bytes, v, m, c, room));
        LLI_DO(galleries(out, v, it, m, c));
        lli_text_add(out, "}");
        first = false;
    }
    lli_text_add(out, "],");
    describe(out, v, thumbs, it, m);
    lli_text_add(out, "}");
    status = LL_OK;
done:
    lli_memory_free(it);
    return status;
}

ll_status lli_desk_data(lli_text *out, const lli_view *v, lli_thumbs *thumbs) {
    lli_text bytes;
    lli_text_init(&bytes, out->ctx);
    ll_status status = LL_OK;
    int64_t series = 0;
    for (int64_t m = 0; m < v->page->count; m++)
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
            series += v->series[m][c].count > 0;
    lli_text_add(out, "{");
    lli_certificate_card_data(out, v);
    lli_text_add(out, "\"thumb\":[%" PRId64 ",%" PRId64 "],\"classes\":[", thumbs->width, thumbs->height);
    for (int64_t k = 0; k < v->page->class_count; k++) {
        lli_text_add(out, "%s", k ? "," : "");
        lli_html_json(out, v->page->class_names[k]);
    }
    lli_text_add(out, "],\"methods\":[");
    for (int64_t m = 0; m < v->page->count; m++) {
        lli_text_add(out, "%s", m ? ",\n" : "");
        LLI_DO(method(out, &bytes, v, thumbs, m, CONFUSION_BYTES / LLI_MAX(series, 1)));
    }
    lli_text_add(out, "]}");
    status = bytes.status;
done:
    lli_text_release(&bytes);
    return status;
}
