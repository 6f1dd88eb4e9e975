/* SPDX-License-Identifier: MIT */
/* Data sets from files. */
#include "base/abi.h"
#include "data/dataset.h"
#include "formats/file.h"
#include "pipeline/pair.h"

ll_status ll_dataset_read(ll_dataset **out, ll_context *ctx, const char *features, const char *labels, int64_t classes) {
    LLI_NEED(ctx, out, features);
    *out = NULL;
    static const char *const names[] = {"features", "x", NULL};
    ll_bundle *held[2] = {NULL, NULL};
    ll_array x, y;
    ll_status status;
    LLI_DO(lli_pair_read(held, &x, &y, ctx, "features", features, names, labels));
    LLI_DO(lli_dataset_make(out, ctx, x, labels ? &y : NULL, classes, features, labels));
    (*out)->rows.ahead = (*out)->converted ? NULL : lli_file_ahead;
    (*out)->held[0] = held[0];
    (*out)->held[1] = held[1];
    return LL_OK;
done:
    ll_bundle_free(held[0]);
    ll_bundle_free(held[1]);
    return status;
}
