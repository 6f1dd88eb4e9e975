/* SPDX-License-Identifier: MIT */
/* Escapes, base64 and numbers for the page. */
#include "report/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The writer of JSON already refuses bytes that are no UTF-8 and names control characters; what it leaves is read back here. */
static const char *next(lli_text *quoted, const char *s) {
    lli_text_json_string(quoted, s);
    return quoted->status == LL_OK ? quoted->data : "\"\"";
}

static void escape(lli_text *out, char c) {
    static const char *const entities[][2] = {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}};
    for (size_t i = 0; i < LLI_COUNT(entities); i++)
        if (c == entities[i][0][0]) {
            lli_text_append(out, entities[i][1], (int64_t)strlen(entities[i][1]));
            return;
        }
    lli_text_append(out, &c, 1);
}

void lli_html_text(lli_text *out, const char *s) {
    lli_text quoted;
    lli_text_init(&quoted, out->ctx);
    const char *p = next(&quoted, s) + 1; /* behind the quotation mark */
    for (; *p && *p != '"'; p++) {
        if (*p != '\\') {
            escape(out, *p);
            continue;
        }
        p++;
        if (*p == 'u') { /* a control character */
            lli_text_append(out, "\xef\xbf\xbd", 3);
            p += 4;
        } else {
            escape(out, *p);
        }
    }
    (void)lli_html_use(out, &quoted);
    lli_text_release(&quoted);
}

void lli_html_json(lli_text *out, const char *s) {
    lli_text quoted;
    lli_text_init(&quoted, out->ctx);
    for (const char *p = next(&quoted, s); *p; p++) {
        if (*p == '<' || *p == '>' || *p == '&')
            lli_text_add(out, "\\u%04x", (unsigned)*p);
        else
            lli_text_append(out, p, 1);
    }
    (void)lli_html_use(out, &quoted);
    lli_text_release(&quoted);
}

bool lli_html_use(lli_text *out, const lli_text *part) {
    if (part->status != LL_OK && out->status == LL_OK)
        out->status = part->status;
    return part->status == LL_OK && part->data;
}

void lli_html_base64(lli_text *out, const void *bytes, int64_t count) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = bytes;
    for (int64_t i = 0; i < count; i += 3) {
        int64_t left = count - i;
        uint32_t bits = (uint32_t)b[i] << 16 | (left > 1 ? (uint32_t)b[i + 1] << 8 : 0) | (left > 2 ? b[i + 2] : 0u);
        const char four[4] = {letters[bits >> 18], letters[bits >> 12 & 63], left > 1 ? letters[bits >> 6 & 63] : '=',
                              left > 2 ? letters[bits & 63] : '='};
        lli_text_append(out, four, 4);
    }
}

void lli_html_fixed(lli_text *out, double x, int decimals) {
    if (!isfinite(x)) {
        lli_text_add(out, isnan(x) ? "\xe2\x80\x93" : "\xe2\x88\x9e");
        return;
    }
    int64_t scale = 1;
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    int64_t units = llround(fabs(x) * (double)scale);
    lli_text_add(out, "%s%" PRId64, x < 0 && units ? "\xe2\x88\x92" : "", units / scale);
    if (decimals)
        lli_text_add(out, ".%0*" PRId64, decimals, units % scale);
}

void lli_html_percent(lli_text *out, double share) {
    lli_html_fixed(out, 100 * share, 2);
    if (isfinite(share))
        lli_text_add(out, "\xc2\xa0%%");
}

void lli_html_count(lli_text *out, int64_t count) {
    char digits[32];
    int length = 0;
    do
        digits[length++] = (char)('0' + count % 10);
    while (count /= 10);
    bool grouped = length > 4;
    while (length--) {
        lli_text_append(out, &digits[length], 1);
        if (grouped && length && length % 3 == 0)
            lli_text_append(out, "\xe2\x80\xaf", 3);
    }
}

void lli_html_number(lli_text *out, double x) {
    double size = fabs(x);
    if (!isfinite(x) || x == 0 || size >= 1e4)
        lli_html_fixed(out, x, 0);
    else if (size < 1e-6)
        lli_text_number(out, x);
    else
        lli_html_fixed(out, x, 4 - (int)floor(log10(size)));
}

static void open_cell(lli_text *out, double x) {
    lli_text_add(out, "<td class=\"n\" data-v=\"");
    if (isfinite(x))
        lli_text_number(out, x);
    lli_text_add(out, "\">");
}

void lli_html_cell(lli_text *out, double x) {
    open_cell(out, x);
    lli_html_number(out, x);
    lli_text_add(out, "</td>");
}

void lli_html_cell_interval(lli_text *out, double x, ll_interval i, bool noise) {
    lli_text_add(out, "<td class=\"n%s\" data-v=\"", noise ? " noise" : "");
    if (isfinite(x))
        lli_text_number(out, x);
    bool known = isfinite(i.lo) && isfinite(i.hi);
    if (known) {
        lli_text_add(out, "\" data-lo=\"");
        lli_text_number(out, i.lo);
        lli_text_add(out, "\" data-hi=\"");
        lli_text_number(out, i.hi);
    }
    lli_text_add(out, noise ? "\" title=\"within noise\">" : "\">");
    lli_html_number(out, x);
    if (known) { /* two digits of the width */
        int places = i.hi > i.lo ? LLI_MIN(LLI_MAX(0, 1 - (int)floor(log10(i.hi - i.lo))), 9) : 3;
        lli_text_add(out, "<small>");
        lli_html_fixed(out, i.lo, places);
        lli_text_add(out, " \xe2\x80\x93 ");
        lli_html_fixed(out, i.hi, places);
        lli_text_add(out, "</small>");
    }
    lli_text_add(out, "</td>");
}

void lli_html_cell_percent(lli_text *out, double share) {
    open_cell(out, share);
    lli_html_percent(out, share);
    lli_text_add(out, "</td>");
}

void lli_html_cell_text(lli_text *out, const char *s) {
    lli_text_add(out, "<td>");
    lli_html_text(out, s);
    lli_text_add(out, "</td>");
}

void lli_html_varint(lli_text *bytes, int64_t value) {
    uint64_t rest = (uint64_t)value;
    do {
        unsigned char byte = (unsigned char)((rest & 127) | (rest > 127 ? 128 : 0));
        lli_text_append(bytes, (const char *)&byte, 1);
        rest >>= 7;
    } while (rest);
}
