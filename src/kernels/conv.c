/* SPDX-License-Identifier: MIT */
/* Which convolutions run here. */
#include "kernels/conv.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/require.h"

#if defined(LLI_WITH_ONEDNN)
#define NAMES "direct|onednn"
#else
#define NAMES "direct (this build has no onednn)"
#endif

ll_status lli_conv_require(ll_context *ctx, const lli_conv_kernels **out) {
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    const char *asked = getenv("LASTLAYER_CONV");
    *out = kernels->conv;
    if (!asked || !*asked || strcmp(asked, kernels->conv->name) == 0)
        return LL_OK;
#if defined(LLI_WITH_ONEDNN)
    *out = &lli_conv_onednn;
    if (strcmp(asked, lli_conv_onednn.name) == 0)
        return LL_OK;
#endif
    return lli_fail(ctx, LL_ERR_USAGE, "LASTLAYER_CONV asks for convolutions by '%s'; known are " NAMES, asked);
}
