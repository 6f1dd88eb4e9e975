/* SPDX-License-Identifier: MIT */
/* Reads a certificate and checks what the page will say about it. */
#include "store/report_certificate.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/file.h"

enum { BYTES_MAX = 1 << 24 }; /* some twenty tests for each of 1000 classes are a tenth of that */

static bool is_share(double x) {
    return x > 0 && x < 1;
}

static bool take(lli_page_certificate *c, const lli_tree *tree) {
    const char *by = lli_tree_text(lli_tree_get(tree, "by"));
    *c = (lli_page_certificate){.certified = lli_tree_true(lli_tree_get(tree, "certified")),
                                .costs = lli_tree_is_list(lli_tree_get(tree, "costs")),
                                .by = by ? ll_confidence_find(by) : LL_CONFIDENCE_COUNT,
                                .cut = lli_tree_number(lli_tree_get(tree, "cut")),
                                .confidence = lli_tree_number(lli_tree_get(tree, "confidence")),
                                .risk = lli_tree_number(lli_tree_get(tree, "risk")),
                                .n = lli_tree_whole(lli_tree_get(tree, "n")),
                                .accepted = lli_tree_whole(lli_tree_get(tree, "accepted")),
                                .errors = lli_tree_whole(lli_tree_get(tree, "errors")),
                                .needed = lli_tree_whole(lli_tree_get(tree, "needed")),
                                .statement = lli_tree_text(lli_tree_get(tree, "statement")),
                                .conditions = lli_tree_text(lli_tree_get(tree, "conditions"))};
    c->classes = lli_tree_count(lli_tree_get(tree, "per_class"));
    return c->by < LL_CONFIDENCE_COUNT && c->statement && c->conditions && is_share(c->confidence) &&
           (isnan(c->risk) || c->costs || is_share(c->risk)) && c->errors >= 0 && c->errors <= c->accepted && c->accepted <= c->n &&
           c->needed >= 0 && isfinite(c->cut) == (c->certified && !c->classes);
}

/* False where an entry is no cut of a class. */
static bool take_classes(lli_page_class_cut *cut, const lli_tree *classes) {
    bool whole = true;
    for (int64_t k = 0; k < lli_tree_count(classes); k++) {
        const lli_tree *tree = lli_tree_at(classes, k);
        cut[k] = (lli_page_class_cut){.certified = lli_tree_true(lli_tree_get(tree, "certified")),
                                      .cut = lli_tree_number(lli_tree_get(tree, "cut")),
                                      .n = lli_tree_whole(lli_tree_get(tree, "n")),
                                      .accepted = lli_tree_whole(lli_tree_get(tree, "accepted")),
                                      .errors = lli_tree_whole(lli_tree_get(tree, "errors"))};
        whole = whole && cut[k].errors >= 0 && cut[k].errors <= cut[k].accepted && cut[k].accepted <= cut[k].n &&
                isfinite(cut[k].cut) == cut[k].certified;
    }
    return whole;
}

ll_status lli_report_certificate_read(lli_report_certificate *out, ll_context *ctx, const char *path) {
    lli_file file;
    ll_status status;
    *out = (lli_report_certificate){.tree = NULL};
    LLI_TRY(lli_file_read(&file, ctx, path));
    bool small = file.size <= BYTES_MAX;
    if (small) {
        LLI_DO(lli_tree_parse(&out->tree, ctx, (const char *)file.bytes, file.size, path));
        LLI_DO(lli_memory_new(ctx, &out->text, (int64_t)file.size + 1, 1));
        memcpy(out->text, file.bytes, file.size);
    }
    bool whole = small && take(&out->shown, out->tree);
    if (whole && out->shown.classes) {
        LLI_DO(lli_memory_new(ctx, &out->class_cut, out->shown.classes, sizeof *out->class_cut));
        out->shown.class_cut = out->class_cut;
        whole = take_classes(out->class_cut, lli_tree_get(out->tree, "per_class"));
    }
    if (!whole)
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is not a certificate; expected what lastlayer certify --json prints", path));
    out->shown.text = out->text;
    status = LL_OK;
done:
    lli_file_release(&file);
    return status;
}

void lli_report_certificate_release(lli_report_certificate *c) {
    lli_tree_free(c->tree);
    lli_memory_free(c->text);
    lli_memory_free(c->class_cut);
    *c = (lli_report_certificate){.tree = NULL};
}
