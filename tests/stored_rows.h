/* SPDX-License-Identifier: MIT */
/* Rows in a store that is memory of the test: counts what is asked for, and fails when it is told to. */
#ifndef TESTS_STORED_ROWS_H
#define TESTS_STORED_ROWS_H

#include <stdatomic.h>

#include "data/dataset.h"
#include "problem.h"

typedef struct stored_rows {
    lli_row_store store;
    const char *bytes;
    int64_t size;
    _Atomic int64_t reads, fail_at; /* fail_at: this read fails; 0 = none */
    int64_t ahead_bytes, ahead_calls, released;
} stored_rows;

static inline ll_status stored_rows_read(lli_row_store *store, ll_context *ctx, void *out, int64_t offset, int64_t count) {
    stored_rows *s = (stored_rows *)store;
    if (++s->reads == s->fail_at)
        return lli_fail(ctx, LL_ERR_READ, "the disk is gone");
    if (offset < 0 || count < 0 || offset + count > s->size)
        return lli_fail(ctx, LL_ERR_INTERNAL, "bytes %lld of %lld", (long long)(offset + count), (long long)s->size);
    memcpy(out, s->bytes + offset, (size_t)count);
    return LL_OK;
}

static inline void stored_rows_ahead(lli_row_store *store, ll_context *ctx, int64_t offset, int64_t count) {
    (void)ctx, (void)offset;
    stored_rows *s = (stored_rows *)store;
    s->ahead_bytes += count;
    s->ahead_calls++;
}

static inline void stored_rows_release(lli_row_store *store) {
    ((stored_rows *)store)->released++;
}

/* The data of the problem, out of the store. */
static inline ll_dataset *stored_rows_dataset(ll_context *ctx, stored_rows *s, const problem *p) {
    *s = (stored_rows){.store = {stored_rows_read, stored_rows_ahead, stored_rows_release}, .bytes = (const char *)p->z};
    s->size = p->N * p->D * (int64_t)sizeof(float);
    ll_array spec = ll_array_view(NULL, LL_DTYPE_F32, 2, (int64_t[]){p->N, p->D}), labels = ll_array_view(p->y, LL_DTYPE_I64, 1, &p->N);
    ll_dataset *data;
    CHECK_OK(ctx, lli_dataset_make_stored(&data, ctx, &s->store, &spec, &labels, p->K, NULL, "features", "labels"));
    return data;
}

#endif
