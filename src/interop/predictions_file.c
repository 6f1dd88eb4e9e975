/* SPDX-License-Identifier: MIT */
/* Predictions from files. */
#include "base/abi.h"
#include "base/memory.h"
#include "formats/file_list.h"
#include "interop/dataset_set.h"
#include "interop/pair.h"
#include "metrics/outcome.h"
#include "predict/predictions.h"

static const char *const label_names[] = {"labels", "truth", "y", NULL};

/* A confidence that needs members and is NaN in every row of the file is one that is not there. */
static ll_status check(ll_context *ctx, const char *path, ll_predictions *p) {
    LLI_TRY(lli_outcome_check(ctx, path, &p->view));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (!lli_outcome_has(&p->view, c))
            p->view.confidence[c] = NULL;
    return p->out ? check(ctx, path, p->out) : LL_OK;
}

/* One array of one file, or of many joined: it lies in *file or in *block, to free. */
static ll_status read_array(ll_bundle **file, void **block, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                            const char *what) {
    return lli_file_list_is(where) ? lli_dataset_set_join(block, array, ctx, where, names, what)
                                   : ll_array_read(file, array, ctx, where, names);
}

ll_status ll_predictions_read(ll_predictions **out, ll_context *ctx, const char *path, const char *labels) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_bundle *bundle = NULL, *label_file = NULL;
    ll_predictions *p = NULL;
    void *block = NULL;
    ll_array y;
    ll_status status;
    LLI_DO(ll_bundle_read(&bundle, ctx, path));
    LLI_DO(lli_predictions_from_bundle(&p, ctx, bundle, path, NULL));
    bundle = NULL;
    LLI_DO(check(ctx, path, p));
    if (labels) {
        LLI_DO(read_array(&label_file, &block, &y, ctx, labels, label_names, "labels"));
        LLI_DO(lli_predictions_set_truth(ctx, p, labels, y));
    }
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    ll_bundle_free(bundle);
    ll_bundle_free(label_file);
    lli_memory_free(block);
    return status;
}

ll_status ll_predictions_from(ll_predictions **out, ll_context *ctx, const char *outputs, bool logits, const char *labels) {
    LLI_NEED(ctx, out, outputs);
    *out = NULL;
    static const char *const output_names[] = {"probs", "logits", NULL};
    ll_bundle *files[2] = {NULL, NULL};
    void *blocks[2] = {NULL, NULL};
    ll_array x, y;
    ll_status status;
    if (lli_file_list_is(outputs) || (labels && lli_file_list_is(labels))) {
        LLI_DO(read_array(&files[0], &blocks[0], &x, ctx, outputs, output_names, "outputs"));
        if (labels)
            LLI_DO(read_array(&files[1], &blocks[1], &y, ctx, labels, label_names, "labels"));
    } else {
        LLI_DO(lli_pair_read(files, &x, &y, ctx, "outputs", outputs, output_names, labels));
    }
    LLI_DO(lli_predictions_new(out, ctx, outputs, x, logits, labels, labels ? &y : NULL));
done:
    ll_bundle_free(files[0]);
    ll_bundle_free(files[1]);
    lli_memory_free(blocks[0]);
    lli_memory_free(blocks[1]);
    return status;
}
