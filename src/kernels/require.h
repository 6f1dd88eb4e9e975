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
    const lli_kernels *level = asked ? lli_kernels_known(asked) : NULL;
    if (level)
        return lli_fail(
            ctx, LL_ERR_USAGE,
            "LASTLAYER_ISA is %s, which needs %s; this processor does not have that: leave LASTLAYER_ISA unset to use its best kernels",
            asked, level->needs);
    return lli_fail(ctx, LL_ERR_USAGE, "LASTLAYER_ISA names kernels that this build does not have; it has %s", lli_kernels_names());
}

#endif
