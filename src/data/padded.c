/* SPDX-License-Identifier: MIT */
/* Padded rows. */
#include "data/padded.h"

#include "base/memory.h"
#include "kernels/require.h"

enum { SHARE = 3 }; /* the copy may take at most 1/SHARE of the memory that is left */

ll_status lli_padded_new(ll_context *ctx, float **padded, const lli_rows *rows) {
    *padded = NULL;
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    int64_t ld = lli_kernels_stride(rows->D), floats;
    if (!lli_multiply(&floats, rows->N, ld) || floats > lli_memory_left(ctx) / SHARE / (int64_t)sizeof **padded)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, padded, floats, sizeof **padded));
    kernels->gather(*padded, rows->features, rows->half, NULL, 0, rows->N, rows->D, ld);
    return LL_OK;
}
