/* SPDX-License-Identifier: MIT */
/* Data sets from files. */
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/weights.h"
#include "formats/file.h"
#include "formats/file_list.h"
#include "formats/format.h"
#include "interop/dataset_set.h"
#include "interop/pair.h"

ll_status ll_dataset_read(ll_dataset **out, ll_context *ctx, const char *features, const char *labels, int64_t classes) {
    LLI_NEED(ctx, out, features);
    *out = NULL;
    ll_bundle *files[2] = {NULL, NULL};
    ll_array x, y;
    ll_status status;
    if (lli_file_list_is(features) || (labels && lli_file_list_is(labels)))
        return lli_dataset_set_read(out, ctx, features, labels, classes);
    LLI_DO(lli_pair_read(files, &x, &y, ctx, "features", features, lli_pair_feature_names, labels));
    LLI_DO(lli_dataset_make(out, ctx, x, labels ? &y : NULL, classes, features, labels));
    (*out)->rows.ahead = (*out)->converted ? NULL : lli_file_ahead;
    (*out)->files[0] = files[0];
    (*out)->files[1] = files[1];
    return LL_OK;
done:
    ll_bundle_free(files[0]);
    ll_bundle_free(files[1]);
    return status;
}

/* FILE:NAME, as sentences call an array; FILE where it has no name of its own, NAME where it has no file. */
static ll_status tell_place(lli_text *text, const ll_bundle *bundle, int64_t i) {
    const char *path = ll_bundle_path(bundle), *name = ll_bundle_name(bundle, i);
    bool nameless = *path && strcmp(name, "array") == 0;
    lli_text_add(text, "%s%s%s", path, *path && !nameless ? ":" : "", nameless ? "" : name);
    return text->status;
}

ll_status ll_dataset_from_bundle(ll_dataset **out, ll_context *ctx, const ll_bundle *bundle, const char *features,
                                 const ll_bundle *labels_bundle, const char *labels, int64_t classes) {
    LLI_NEED(ctx, out, bundle);
    *out = NULL;
    const ll_bundle *truth = labels_bundle;
    ll_bundle *read = NULL;
    lli_text places[2];
    int64_t x, y = 0;
    ll_array array;
    ll_status status;
    lli_text_init(&places[0], ctx);
    lli_text_init(&places[1], ctx);
    LLI_DO(lli_format_pick(&x, ctx, bundle, features, lli_pair_feature_names));
    LLI_DO(tell_place(&places[0], bundle, x));
    if (labels && !labels_bundle) {
        LLI_DO(ll_array_read(&read, &array, ctx, labels, lli_pair_label_names));
        truth = read;
    } else if (labels_bundle)
        LLI_DO(lli_format_pick(&y, ctx, labels_bundle, labels, lli_pair_label_names));
    if (truth) {
        array = ll_bundle_array(truth, y);
        LLI_DO(tell_place(&places[1], truth, y));
    }
    LLI_DO(lli_dataset_make(out, ctx, ll_bundle_array(bundle, x), truth ? &array : NULL, classes, places[0].data, places[1].data));
    (*out)->rows.ahead = (*out)->converted ? NULL : lli_file_ahead;
done:
    ll_bundle_free(read);
    lli_text_release(&places[0]);
    lli_text_release(&places[1]);
    return status;
}

ll_status ll_dataset_weigh_read(ll_context *ctx, ll_dataset *data, const char *weights, const char *class_weights) {
    LLI_NEED(ctx, data);
    static const char *const row_names[] = {"weights", "w", NULL}, *const class_names[] = {"class_weights", "weights", "w", NULL};
    bool balanced = class_weights && strcmp(class_weights, "balanced") == 0;
    const char *file = balanced ? NULL : class_weights;
    ll_bundle *files[2] = {NULL, NULL};
    void *block = NULL;
    ll_array w, c;
    ll_status status = LL_OK;
    if (weights && lli_file_list_is(weights))
        LLI_DO(lli_dataset_set_join(&block, &w, ctx, weights, row_names, "weights"));
    else if (weights)
        LLI_DO(ll_array_read(&files[0], &w, ctx, weights, row_names));
    if (file)
        LLI_DO(ll_array_read(&files[1], &c, ctx, file, class_names));
    if (weights || file)
        LLI_DO(lli_weights_set(ctx, data, weights ? &w : NULL, file ? &c : NULL, weights, file));
    if (balanced)
        LLI_DO(ll_dataset_balance(ctx, data));
done:
    lli_memory_free(block);
    ll_bundle_free(files[0]);
    ll_bundle_free(files[1]);
    return status;
}
