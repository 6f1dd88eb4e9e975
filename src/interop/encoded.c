/* SPDX-License-Identifier: MIT */
/* Reads what lastlayer encode writes: features_{train,val,test,out}, labels_{train,val,test}, W, b, classes. */
#include "interop/encoded.h"

#include <inttypes.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"

typedef struct part {
    const char *features, *labels;
} part;

static const part train = {"features_train", "labels_train"}, val = {"features_val", "labels_val"}, test = {"features_test", "labels_test"},
                  outside = {"features_out", "labels_out"};

static ll_status take_part(ll_dataset **out, ll_context *ctx, const ll_bundle *bundle, part name, int64_t K) {
    bool labelled = ll_bundle_find(bundle, name.labels) >= 0;
    if (ll_bundle_find(bundle, name.features) < 0)
        return LL_OK;
    return ll_dataset_from_bundle(out, ctx, bundle, name.features, labelled ? bundle : NULL, labelled ? name.labels : NULL,
                                  labelled ? K : 0);
}

static ll_status take_head(ll_context *ctx, ll_encoded *e, int64_t D) {
    const ll_bundle *bundle = e->bundle;
    int64_t W = ll_bundle_find(bundle, "W"), b = ll_bundle_find(bundle, "b");
    if (W < 0)
        return LL_OK;
    ll_array bias = ll_bundle_array(bundle, b);
    return ll_head_new(&e->head, ctx, ll_bundle_array(bundle, W), b < 0 ? NULL : &bias, D, LL_HEAD_LAYOUT_KD);
}

static ll_status check_classes(ll_context *ctx, const ll_encoded *e) {
    ll_array classes = ll_encoded_classes(e);
    char text[LLI_ARRAY_TEXT];
    int64_t K = e->head ? ll_head_classes(e->head) : 0;
    if (classes.rank == -1 || (classes.rank == 1 && lli_array_is_integer(classes.dtype) && (!K || classes.shape[0] == K)))
        return LL_OK;
    return lli_fail(ctx, LL_ERR_DATA, "%s:classes is %s; expected one whole number for each of the %" PRId64 " classes of W",
                    ll_bundle_path(e->bundle), lli_array_text(text, &classes), K);
}

static ll_status take_parts(ll_context *ctx, ll_encoded *e) {
    static const part *const parts[] = {&train, &val, &test, &outside};
    int64_t D = 0;
    for (size_t i = 0; i < LLI_COUNT(parts) && D == 0; i++) {
        ll_array features = ll_bundle_array(e->bundle, ll_bundle_find(e->bundle, parts[i]->features));
        D = features.rank == 2 ? features.shape[1] : 0;
    }
    LLI_TRY(take_part(&e->train, ctx, e->bundle, train, 0));
    if (D > 0)
        LLI_TRY(take_head(ctx, e, D));
    int64_t K = e->head ? ll_head_classes(e->head) : e->train ? e->train->K : 0;
    LLI_TRY(take_part(&e->val, ctx, e->bundle, val, K));
    LLI_TRY(take_part(&e->test, ctx, e->bundle, test, K));
    LLI_TRY(take_part(&e->out, ctx, e->bundle, outside, K));
    if (!e->train && !e->val && !e->test && !e->out)
        return lli_fail(ctx, LL_ERR_DATA, "%s has none of features_train, features_val, features_test and features_out",
                        ll_bundle_path(e->bundle));
    return check_classes(ctx, e);
}

ll_status lli_encoded_new(ll_encoded **out, ll_context *ctx, ll_bundle *bundle) {
    ll_encoded *e;
    ll_status status = lli_memory_new(ctx, &e, 1, sizeof *e);
    *out = NULL;
    if (status != LL_OK) {
        ll_bundle_free(bundle);
        return status;
    }
    e->bundle = bundle;
    status = take_parts(ctx, e);
    if (status == LL_OK)
        *out = e;
    else
        ll_encoded_free(e);
    return status;
}

ll_status ll_encoded_read(ll_encoded **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    ll_bundle *bundle;
    *out = NULL;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    return lli_encoded_new(out, ctx, bundle);
}

ll_status lli_encoded_read_training(ll_encoded **out, ll_context *ctx, const char *path) {
    LLI_TRY(ll_encoded_read(out, ctx, path));
    if ((*out)->train && (*out)->train->labels)
        return LL_OK;
    ll_encoded_free(*out);
    *out = NULL;
    return lli_fail(ctx, LL_ERR_DATA, "%s has no features_train with labels_train", path);
}

void ll_encoded_free(ll_encoded *e) {
    if (!e)
        return;
    ll_dataset *sets[] = {e->train, e->val, e->test, e->out};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        ll_dataset_free(sets[i]);
    ll_head_free(e->head);
    ll_bundle_free(e->bundle);
    lli_memory_free(e);
}

ll_dataset *ll_encoded_train(const ll_encoded *e) {
    return e ? e->train : NULL;
}

ll_dataset *ll_encoded_val(const ll_encoded *e) {
    return e ? e->val : NULL;
}

ll_dataset *ll_encoded_test(const ll_encoded *e) {
    return e ? e->test : NULL;
}

ll_dataset *ll_encoded_out(const ll_encoded *e) {
    return e ? e->out : NULL;
}

const ll_head *ll_encoded_head(const ll_encoded *e) {
    return e ? e->head : NULL;
}

ll_array ll_encoded_classes(const ll_encoded *e) {
    return e ? ll_bundle_array(e->bundle, ll_bundle_find(e->bundle, "classes")) : (ll_array){.rank = -1};
}
