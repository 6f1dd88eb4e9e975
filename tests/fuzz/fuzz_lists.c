/* SPDX-License-Identifier: MIT */
/* Any text as a list of rows, a choice of classes and an order of shuffling; a second one behind a line break. */
#include "base/memory.h"
#include "data/classes.h"
#include "fuzz.h"
#include "methods/method.h"
#include "data/row_list.h"

static void run(const uint8_t *bytes, size_t size) {
    enum { ROWS = 1000, CLASSES = 10 };
    ll_context *ctx = fuzz_context();
    char text[256];
    for (int line = 0; line < 2 && fuzz_piece(text, sizeof text, &bytes, &size, '\n'); line++) {
        int64_t *rows, count;
        int32_t *classes;
        if (fuzz_ok(lli_row_list_parse(ctx, &rows, &count, text, ROWS)))
            for (int64_t i = 0; i < count; i++)
                if (rows[i] < 0 || rows[i] >= ROWS)
                    abort();
        lli_memory_free(rows);
        if (fuzz_ok(lli_classes_parse(&classes, &count, ctx, text, CLASSES, false, 7))) {
            for (int64_t i = 0; i < count; i++)
                if (classes[i] < 0 || classes[i] >= CLASSES)
                    abort();
            lli_memory_free(classes);
        }
        (void)lli_classes_largest(text);
        (void)lli_fit_block_rows(text);
    }
}

FUZZ_TARGET(run)
