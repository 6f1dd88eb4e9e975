/* SPDX-License-Identifier: MIT */
/* Ensembles from files and bytes, and back. */
#include "base/abi.h"
#include "ensemble/ensemble.h"
#include "formats/format.h"

void ll_ensemble_images_init(ll_images_options *out, size_t struct_size, const ll_ensemble *e) {
    ll_images_options options = ll_images_options_default();
    const char *classes = e ? lli_provenance_get(&e->plan.provenance, "classes") : NULL;
    if (classes)
        options.classes = classes;
    options.of_network = classes != NULL;
    if (e && e->plan.net) {
        options.shift = e->plan.scaling[0];
        options.scale = e->plan.scaling[1];
    }
    lli_abi_give(out, struct_size, &options, sizeof options);
}

ll_status ll_ensemble_read(ll_ensemble **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_bundle *bundle;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    ll_status status = lli_ensemble_from(out, ctx, bundle, path);
    if (status != LL_OK)
        ll_bundle_free(bundle);
    return status;
}

ll_status ll_ensemble_read_bytes(ll_ensemble **out, ll_context *ctx, const void *bytes, size_t size) {
    LLI_NEED(ctx, out, bytes);
    *out = NULL;
    ll_bundle *bundle;
    LLI_TRY(ll_bundle_read_bytes(&bundle, ctx, bytes, size, "the ensemble"));
    ll_status status = lli_ensemble_from(out, ctx, bundle, "the ensemble");
    if (status != LL_OK)
        ll_bundle_free(bundle);
    return status;
}

ll_status ll_ensemble_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble) {
    LLI_NEED(ctx, path, ensemble);
    const lli_provenance *p = &ensemble->plan.provenance;
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    return ll_bundle_write(ctx, path, arrays, lli_ensemble_list(arrays, ensemble), p->pairs, p->count);
}

ll_status ll_ensemble_write_bytes(void **out, size_t *size, ll_context *ctx, const ll_ensemble *ensemble) {
    LLI_NEED(ctx, out, size, ensemble);
    *out = NULL;
    *size = 0;
    const lli_provenance *p = &ensemble->plan.provenance;
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    return lli_format_bytes(out, size, ctx, arrays, lli_ensemble_list(arrays, ensemble), p->pairs, p->count);
}
