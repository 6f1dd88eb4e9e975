/* SPDX-License-Identifier: MIT */
/* Puts the page together. A policy inside it forbids every request and every script but our own, which is named by its hash. */
#include "report/page.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "report/asset.h"
#include "report/desk.h"
#include "report/figure.h"
#include "report/html.h"
#include "report/members.h"
#include "report/summary.h"

static int nibble(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void script_hash(lli_text *out) {
    char hex[LLI_HASH_TEXT];
    unsigned char raw[(LLI_HASH_TEXT - 1) / 2];
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, lli_asset_script, strlen(lli_asset_script));
    lli_hash_text(&hash, hex);
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (unsigned char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    lli_html_base64(out, raw, sizeof raw);
}

static void head(lli_text *out, const lli_page *page) {
    lli_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
                      "content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'; img-src data:; script-src 'sha256-");
    script_hash(out);
    lli_text_add(out, "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
                      "content=\"light dark\">\n<title>");
    lli_html_text(out, page->title);
    lli_text_add(out, "</title>\n<style>\n");
    lli_text_append(out, lli_asset_style, (int64_t)strlen(lli_asset_style));
    lli_text_add(out, "</style></head>\n");
}

static void top(lli_text *out, const lli_page *page, bool curves, bool ood) {
    const ll_evaluation *e = page->methods[0].evaluation;
    lli_text_add(out, "<body><a class=\"skip\" href=\"#summary\">To the summary</a>\n<header><div><h1>");
    lli_html_text(out, page->title);
    lli_text_add(out, "</h1><p class=\"hint\">");
    lli_html_count(out, e->n);
    lli_text_add(out, " points");
    if (e->classes > 0) {
        lli_text_add(out, ", ");
        lli_html_count(out, e->classes);
        lli_text_add(out, " classes");
    }
    lli_text_add(out,
                 ", %" PRId64 " method%s</p></div><button type=\"button\" id=\"theme\" aria-pressed=\"false\">Dark</button></header>\n",
                 page->count, page->count > 1 ? "s" : "");
    lli_text_add(out,
                 "<nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a>%s%s%s%s<a href=\"#tables\">Tables</a><a "
                 "href=\"#provenance\">Provenance</a></nav>\n<main>\n",
                 curves ? "<a href=\"#desk\">Desk</a><a href=\"#selective\">Risk</a><a href=\"#histograms\">Confidence</a>" : "",
                 e->bins > 0 ? "<a href=\"#reliability\">Calibration</a>" : "", ood ? "<a href=\"#ood\">Unknown</a>" : "",
                 page->diagnosis_count ? "<a href=\"#chains\">Chains</a>" : "");
}

static ll_status body(lli_text *out, const lli_view *v, lli_thumbs *thumbs) {
    bool ood = false;
    for (int64_t m = 0; m < v->page->count; m++)
        ood = ood || v->page->methods[m].out_points;
    top(out, v->page, lli_view_any(v), ood);
    LLI_TRY(lli_summary_html(out, v));
    LLI_TRY(lli_desk_html(out, v, thumbs));
    LLI_TRY(lli_cancel_check(out->ctx));
    LLI_TRY(lli_figure_risk_coverage(out, v));
    LLI_TRY(lli_figure_histograms(out, v));
    LLI_TRY(lli_cancel_check(out->ctx));
    LLI_TRY(lli_figure_reliability(out, v));
    LLI_TRY(lli_figure_ood(out, v));
    LLI_TRY(lli_figure_running(out, v));
    lli_members_figure(out, v, thumbs);
    LLI_TRY(lli_figure_traces(out, v));
    LLI_TRY(lli_cancel_check(out->ctx));
    LLI_TRY(lli_tables_html(out, v));
    LLI_TRY(lli_provenance_table_html(out, v));
    lli_text_add(out, "</main>\n<script type=\"application/json\" id=\"data\">");
    LLI_TRY(lli_desk_data(out, v, thumbs));
    lli_text_add(out, "</script>\n");
    return lli_thumbs_write(out, thumbs);
}

ll_status lli_page_html(lli_text *out, const lli_page *page) {
    lli_view view = {0};
    lli_thumbs thumbs = {0};
    ll_status status;
    LLI_DO(lli_view_init(&view, out->ctx, page));
    LLI_DO(lli_thumbs_init(&thumbs, out->ctx, page));
    head(out, page);
    LLI_DO(body(out, &view, &thumbs));
    lli_text_add(out, "<script>");
    lli_text_append(out, lli_asset_script, (int64_t)strlen(lli_asset_script));
    lli_text_add(out, "</script>\n</body></html>\n");
    LLI_DO(out->status);
done:
    lli_view_release(&view);
    lli_thumbs_release(&thumbs);
    return status;
}
