/* SPDX-License-Identifier: MIT */
/* Reads what lastlayer encode writes: features_{train,val,test,out}, labels_{train,val,test}, W, b. */
#include "pipeline/features.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* One part of the encoded features, NULL if the file has none. */
static ll_status read_part(ll_dataset **out, ll_context *ctx, const ll_bundle *bundle, const char *path, const char *part, int64_t K) {
    lli_text features, labels;
    ll_status status = LL_OK;
    lli_text_init(&features, ctx);
    lli_text_init(&labels, ctx);
    lli_text_add(&features, "%s:features_%s", path, part);
    lli_text_add(&labels, "%s:labels_%s", path, part);
    LLI_DO(features.status);
    LLI_DO(labels.status);
    const char *name = features.data + strlen(path) + 1, *truth = labels.data + strlen(path) + 1;
    bool labelled = ll_bundle_find(bundle, truth) >= 0;
    if (ll_bundle_find(bundle, name) >= 0)
        LLI_DO(ll_dataset_read(out, ctx, features.data, labelled ? labels.data : NULL, labelled ? K : 0));
done:
    lli_text_release(&features);
    lli_text_release(&labels);
    return status;
}

void lli_features_release(lli_features *f) {
    ll_dataset *sets[] = {f->train, f->val, f->test, f->out};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        ll_dataset_free(sets[i]);
    ll_head_free(f->head);
    *f = (lli_features){0};
}

ll_status lli_features_read(lli_features *f, ll_context *ctx, const char *path) {
    ll_bundle *bundle;
    ll_status status;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    LLI_DO(read_part(&f->train, ctx, bundle, path, "train", 0));
    if (!f->train || !f->train->labels)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "%s has no features_train with labels_train", path));
    if (ll_bundle_find(bundle, "W") >= 0) {
        ll_array W = ll_bundle_array(bundle, ll_bundle_find(bundle, "W")), b = {0};
        bool bias = ll_bundle_find(bundle, "b") >= 0;
        if (bias)
            b = ll_bundle_array(bundle, ll_bundle_find(bundle, "b"));
        LLI_DO(ll_head_new(&f->head, ctx, W, bias ? &b : NULL, f->train->rows.D, LL_HEAD_LAYOUT_KD));
    }
    int64_t K = f->head ? ll_head_classes(f->head) : f->train->K;
    LLI_DO(read_part(&f->val, ctx, bundle, path, "val", K));
    LLI_DO(read_part(&f->test, ctx, bundle, path, "test", K));
    LLI_DO(read_part(&f->out, ctx, bundle, path, "out", K));
done:
    ll_bundle_free(bundle);
    return status;
}
