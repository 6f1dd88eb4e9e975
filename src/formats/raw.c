/* SPDX-License-Identifier: MIT */
/* Byte order, index order and alignment: the three reasons to copy an array out of its file. */
#include "formats/raw.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/bytes.h"

bool lli_raw_bytes(int64_t *out, const lli_raw *raw) {
    size_t size = ll_dtype_size(raw->dtype);
    if (!lli_array_count_checked(out, raw->rank, raw->shape, size))
        return false;
    *out *= (int64_t)size;
    return true;
}

void lli_bytes_swap(void *out, const void *in, int64_t count, size_t size) {
    unsigned char *to = out;
    const unsigned char *from = in;
    for (int64_t i = 0; i < count; i++, to += size, from += size) {
        unsigned char element[8];
        for (size_t k = 0; k < size; k++)
            element[k] = from[size - 1 - k];
        memcpy(to, element, size);
    }
}

enum { PIECE = 1 << 20 }; /* elements between two looks at the cancel flag */

/* Row-major from column-major: walks the source in its own order and scatters. step[a] is the row-major distance along axis a. */
static ll_status transpose(unsigned char *out, ll_context *ctx, const unsigned char *in, const lli_raw *raw, int64_t count) {
    size_t size = ll_dtype_size(raw->dtype);
    int64_t step[LL_ARRAY_RANK_MAX], index[LL_ARRAY_RANK_MAX] = {0}, place = 0;
    for (int64_t a = raw->rank - 1, distance = 1; a >= 0; a--) {
        step[a] = distance;
        distance *= raw->shape[a];
    }
    for (int64_t i = 0; i < count; i++) {
        if (i % PIECE == 0)
            LLI_TRY(lli_cancel_check(ctx));
        memcpy(out + (size_t)place * size, in + (size_t)i * size, size);
        for (int a = 0; a < raw->rank; a++) {
            place += step[a];
            if (++index[a] < raw->shape[a])
                break;
            place -= step[a] * raw->shape[a];
            index[a] = 0;
        }
    }
    return LL_OK;
}

/* In the order of the file; with `swap` in the machine's order of bytes. */
static ll_status copy_elements(unsigned char *out, ll_context *ctx, const unsigned char *in, int64_t count, size_t size, bool swap) {
    for (int64_t first = 0; first < count; first += PIECE) {
        size_t at = (size_t)first * size;
        int64_t piece = LLI_MIN(count - first, (int64_t)PIECE);
        LLI_TRY(lli_cancel_check(ctx));
        if (swap)
            lli_bytes_swap(out + at, in + at, piece, size);
        else
            memcpy(out + at, in + at, (size_t)piece * size);
    }
    return LL_OK;
}

ll_status lli_raw_view(ll_array *out, void **owned, ll_context *ctx, const lli_raw *raw, const unsigned char *bytes, void *holder) {
    size_t size = ll_dtype_size(raw->dtype);
    ll_array array = ll_array_view(bytes, raw->dtype, raw->rank, raw->shape);
    int64_t count = lli_array_count(&array);
    bool swap = raw->big != LLI_BYTES_BIG_HOST && size > 1, scatter = raw->fortran && raw->rank > 1 && count > 1;
    *owned = holder;
    if (swap || scatter || (uintptr_t)bytes % size != 0) {
        unsigned char *copy;
        ll_status status = lli_memory_new(ctx, &copy, count, size);
        if (status == LL_OK && scatter)
            status = transpose(copy, ctx, bytes, raw, count);
        if (status == LL_OK && (swap || !scatter))
            status = copy_elements(copy, ctx, scatter ? copy : bytes, count, size, swap);
        lli_memory_free(holder);
        if (status != LL_OK) {
            lli_memory_free(copy);
            copy = NULL;
        }
        *owned = copy;
        LLI_TRY(status);
        array.data = copy;
    }
    *out = array;
    return LL_OK;
}

ll_status lli_raw_add(ll_context *ctx, ll_bundle *bundle, const char *name, const lli_raw *raw, const unsigned char *bytes, void *holder) {
    ll_array array;
    void *owned;
    LLI_TRY(lli_raw_view(&array, &owned, ctx, raw, bytes, holder));
    return lli_bundle_add(ctx, bundle, name, array, owned);
}
