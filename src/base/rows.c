/* SPDX-License-Identifier: MIT */
/* Rows in one piece, from wherever they lie. */
#include "base/rows.h"

static int64_t row_bytes(const lli_rows *rows) {
    return rows->D * (int64_t)lli_rows_size(rows);
}

static lli_rows view(const lli_rows *rows, const void *features, int64_t n) {
    lli_rows out = *rows;
    out.features = features;
    out.N = n;
    out.ahead = NULL;
    out.padded = NULL;
    out.store = NULL;
    return out;
}

ll_status lli_rows_block(lli_rows *out, ll_context *ctx, const lli_rows *rows, void *scratch, int64_t first, int64_t n) {
    int64_t bytes = row_bytes(rows);
    *out = view(rows, rows->store ? scratch : (const char *)rows->features + first * bytes, n);
    return rows->store ? rows->store->read(rows->store, ctx, scratch, first * bytes, n * bytes) : LL_OK;
}

ll_status lli_rows_batch(lli_rows *out, ll_context *ctx, const lli_rows *rows, void *scratch, const int64_t *list, int64_t n) {
    int64_t bytes = row_bytes(rows);
    *out = view(rows, scratch, n);
    for (int64_t i = 0, run; i < n; i += run) { /* neighbours in one read */
        for (run = 1; i + run < n && list[i + run] == list[i] + run;)
            run++;
        LLI_TRY(rows->store->read(rows->store, ctx, (char *)scratch + i * bytes, list[i] * bytes, run * bytes));
    }
    return LL_OK;
}

void lli_rows_ahead(ll_context *ctx, const lli_rows *rows, int64_t first, int64_t n) {
    int64_t bytes = row_bytes(rows);
    if (rows->store)
        rows->store->ahead(rows->store, ctx, first * bytes, n * bytes);
    else if (rows->ahead)
        rows->ahead((const char *)rows->features + first * bytes, (size_t)(n * bytes));
}
