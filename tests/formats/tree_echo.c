/* SPDX-License-Identifier: MIT */
/* Reads JSON documents, one per line of the standard input, and writes each back from its tree, or the status that refused it. For tree.py,
 * which holds both against another JSON reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/tree.h"

static void echo(lli_text *out, const lli_tree *value) {
    bool object = lli_tree_is_object(value);
    if (object || lli_tree_is_list(value)) {
        lli_text_add(out, object ? "{" : "[");
        for (int64_t i = 0; i < lli_tree_count(value); i++) {
            const lli_tree *child = lli_tree_at(value, i);
            lli_text_add(out, i ? "," : "");
            if (object) {
                lli_text_json_string(out, lli_tree_key(child));
                lli_text_add(out, ":");
            }
            echo(out, child);
        }
        lli_text_add(out, object ? "}" : "]");
    } else if (lli_tree_text(value)) {
        lli_text_json_string(out, lli_tree_text(value));
    } else if (lli_tree_number(value) == lli_tree_number(value)) {
        lli_text_json_number(out, lli_tree_number(value));
    } else {
        lli_text_add(out, lli_tree_true(value) ? "true" : lli_tree_is_null(value) ? "null" : "false");
    }
}

int main(void) {
    ll_context *ctx;
    if (ll_context_new(&ctx, NULL) != LL_OK)
        return 1;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        lli_tree *tree;
        lli_text out;
        ll_status status = lli_tree_parse(&tree, ctx, line, (size_t)length - 1, "line");
        lli_text_init(&out, ctx);
        if (status == LL_OK)
            echo(&out, tree);
        if (out.status != LL_OK)
            return 1;
        puts(status == LL_OK ? out.data : ll_status_name(status));
        lli_text_release(&out);
        lli_tree_free(tree);
    }
    free(line);
    ll_context_free(ctx);
    return 0;
}
