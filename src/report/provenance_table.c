/* SPDX-License-Identifier: MIT */
/* Where the numbers come from: the rules that made them, and what the files say about themselves. */
#include "base/text.h"
#include "report/html.h"
#include "report/metric_rule.h"
#include "report/summary.h"

static ll_status rules(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "<details><summary>How each number is made</summary><dl class=\"rules\">\n");
    for (lli_metric_rule rule = 0; rule < LLI_RULE_COUNT; rule++) {
        if (!lli_metric_rule_applies(rule, e))
            continue;
        lli_text text;
        lli_text_init(&text, out->ctx);
        lli_metric_rule_text(&text, rule, e);
        if (text.status == LL_OK && text.data) {
            lli_text_add(out, "<dt>");
            lli_html_text(out, lli_metric_rule_title(rule));
            lli_text_add(out, "</dt><dd>");
            lli_html_text(out, text.data);
            lli_text_add(out, "</dd>\n");
        }
        ll_status status = text.status;
        lli_text_release(&text);
        LLI_TRY(status);
    }
    lli_text_add(out, "</dl></details>\n");
    return LL_OK;
}

static void source(lli_text *out, const char *name, const ll_meta *meta, int64_t count) {
    lli_text_add(out, "<details><summary>");
    lli_html_text(out, name);
    lli_text_add(out, "</summary>");
    if (!count)
        lli_text_add(out, "<p class=\"hint\">The file says nothing about how it was made.</p>");
    else
        lli_text_add(out, "<dl class=\"meta\">\n");
    for (int64_t i = 0; i < count; i++) {
        lli_text_add(out, "<dt>");
        lli_html_text(out, meta[i].key);
        lli_text_add(out, "</dt><dd>");
        lli_html_text(out, meta[i].value);
        lli_text_add(out, "</dd>\n");
    }
    lli_text_add(out, "%s</details>\n", count ? "</dl>" : "");
}

ll_status lli_provenance_table_html(lli_text *out, const lli_view *v) {
    const lli_page *page = v->page;
    lli_text_add(out, "<section id=\"provenance\"><h2>Where this comes from</h2>\n");
    if (page->command) {
        lli_text_add(out, "<pre id=\"command\">");
        lli_html_text(out, page->command);
        lli_text_add(out, "</pre><div class=\"tools\"><button type=\"button\" class=\"copy\" data-copy=\"command\">Copy</button></div>\n");
    }
    lli_text_add(out, "<p class=\"hint\">Page by lastlayer %s. Same inputs, same page.</p>\n", LL_VERSION);
    for (int64_t m = 0; m < page->count; m++)
        source(out, page->methods[m].name, page->methods[m].meta, page->methods[m].meta_count);
    for (int64_t i = 0; i < page->source_count; i++)
        source(out, page->sources[i].name, page->sources[i].meta, page->sources[i].meta_count);
    LLI_TRY(rules(out, page->methods[0].evaluation));
    lli_text_add(out, "</section>\n");
    return LL_OK;
}
