/* SPDX-License-Identifier: MIT */
/* An array as it is in a file, and how it becomes a dense row-major view in the machine's byte order. */
#ifndef LLI_FORMATS_RAW_H
#define LLI_FORMATS_RAW_H

#include "base/bundle.h"

typedef struct lli_raw {
    ll_dtype dtype;
    int rank;
    int64_t shape[LL_ARRAY_RANK_MAX];
    bool big;     /* byte order */
    bool fortran; /* the first index runs fastest */
} lli_raw;

/* Bytes of its elements; false if that overflows or a dimension is negative. */
bool lli_raw_bytes(int64_t *out, const lli_raw *raw);

/* A view of `bytes`: in place if order and alignment allow it, otherwise of a converted copy in *owned. `holder` is the block that
 * `bytes` lie in, or NULL when they are borrowed; it is taken over, also on failure. */
ll_status lli_raw_view(ll_array *out, void **owned, ll_context *ctx, const lli_raw *raw, const unsigned char *bytes,
                       void *holder) LL_CHECK_RESULT;
/* The same as a new item of the bundle. */
ll_status lli_raw_add(ll_context *ctx, ll_bundle *bundle, const char *name, const lli_raw *raw, const unsigned char *bytes,
                      void *holder) LL_CHECK_RESULT;

#endif
