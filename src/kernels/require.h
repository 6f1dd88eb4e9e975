/* SPDX-License-Identifier: MIT */
/* The kernels of this process, or the sentence that says why there are none. */
#ifndef LLI_KERNELS_REQUIRE_H
#define LLI_KERNELS_REQUIRE_H

#include <stdlib.h>

#include "base/context.h"
#include "kernels/kernels.h"

static inline ll_status lli_kernels_require(ll_context *ctx, const lli_kernels **out) {
    *out = lli_kernels_get();
    if (*out)
        return LL_OK;
    const char *asked = getenv("LASTLAYER_ISA");
    if (asked && lli_kernels_known(asked))
        return lli_fail(ctx, LL_ERR_USAGE,
                        "LASTLAYER_ISA is %s, but this processor lacks the instructions; leave it unset for the best it has", asked);
    return lli_fail(ctx, LL_ERR_USAGE, "LASTLAYER_ISA names kernels that this build does not have; known are %s", lli_kernels_names());
}

#endif
