/* SPDX-License-Identifier: MIT */
/* The parts of an output to the whole, whatever it is. */
#include <string.h>

#include "base/abi.h"
#include "formats/file.h"
#include "store/parts.h"

ll_status ll_merge(ll_context *ctx, const char *path) {
    LLI_NEED(ctx, path);
    lli_parts parts;
    ll_bundle **bundles = NULL;
    ll_status status;
    LLI_TRY(lli_parts_find(&parts, ctx, path));
    if (lli_file_is_folder(parts.path[0])) {
        LLI_DO(lli_parts_join_stores(ctx, path, &parts));
        goto done;
    }
    LLI_DO(lli_parts_open(&bundles, ctx, &parts));
    const char *kind = lli_bundle_meta(bundles[0], LLI_PARTS_KIND);
    if (kind && strcmp(kind, LLI_PARTS_ENSEMBLE) == 0)
        LLI_DO(lli_parts_join_ensemble(ctx, path, bundles, parts.count));
    else if (kind && strcmp(kind, LLI_PARTS_PREDICTIONS) == 0)
        LLI_DO(lli_parts_join_predictions(ctx, path, bundles, parts.count));
    else
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is a part of nothing that this version knows", parts.path[0]));
done:
    lli_parts_close(bundles, parts.count);
    lli_parts_release(&parts);
    return status;
}
