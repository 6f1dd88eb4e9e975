/* SPDX-License-Identifier: MIT */
/* Heads from files: which array is the weight, which the bias. */
#include "base/abi.h"
#include "model/head.h"

#include <string.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/format.h"

/* What frameworks and people call the two arrays of a last layer. */
static const struct {
    const char *weight, *bias;
} pairs[] = {
    {"W", "b"}, {"weight", "bias"}, {"kernel", "bias"}, {"fc.weight", "fc.bias"}, {"classifier.weight", "classifier.bias"},
    {"head.weight", "head.bias"}, {"linear.weight", "linear.bias"}, {"layers.0.weight", "layers.0.bias"},
};

/* The bias beside a weight called `name` in the same file: same prefix. *found = false if there is none. */
static ll_status read_sibling(ll_context *ctx, ll_bundle **out, ll_array *bias, bool *found, const char *where, const char *name) {
    char *file = NULL;
    const char *unused;
    *found = false;
    LLI_TRY(lli_format_split(&file, &unused, ctx, where));
    ll_status status = LL_OK;
    for (size_t i = 0; i < LLI_COUNT(pairs) && !*found && status == LL_OK; i++) {
        size_t length = strlen(name), suffix = strlen(pairs[i].weight);
        if (length < suffix || strcmp(name + length - suffix, pairs[i].weight) != 0)
            continue;
        ll_context quiet; /* not finding it is no failure */
        lli_context_child(&quiet, ctx);
        lli_text sibling;
        lli_text_init(&sibling, ctx);
        lli_text_add(&sibling, "%s:%.*s%s", file, (int)(length - suffix), name, pairs[i].bias);
        status = sibling.status != LL_OK ? sibling.status : ll_array_read(out, bias, &quiet, sibling.data, NULL);
        lli_text_release(&sibling);
        *found = status == LL_OK;
        if (status == LL_ERR_USAGE) /* no array of that name */
            status = LL_OK;
        else if (status != LL_OK)
            memcpy(ctx->message, quiet.message, sizeof ctx->message);
    }
    lli_memory_free(file);
    return status;
}

ll_status ll_head_read(ll_head **out, ll_context *ctx, const char *weight, const char *bias, int64_t features, ll_head_layout layout) {
    LLI_NEED(ctx, out, weight);
    *out = NULL;
    const char *weight_names[LLI_COUNT(pairs) + 1] = {NULL};
    for (size_t i = 0; i < LLI_COUNT(pairs); i++)
        weight_names[i] = pairs[i].weight;
    static const char *const bias_names[] = {"b", "bias", NULL};
    ll_bundle *held[2] = {NULL, NULL};
    ll_array W, b;
    ll_status status;
    LLI_DO(ll_array_read(&held[0], &W, ctx, weight, weight_names));
    bool found = bias != NULL;
    if (bias)
        LLI_DO(ll_array_read(&held[1], &b, ctx, bias, bias_names));
    else {
        LLI_DO(read_sibling(ctx, &held[1], &b, &found, weight, ll_bundle_name(held[0], 0)));
        if (!found)
            lli_log(ctx, LL_LOG_NOTE, "%s has no bias beside the weight; it is taken as zero (--bias names one)", weight);
    }
    LLI_DO(ll_head_new(out, ctx, W, found ? &b : NULL, features, layout));
done:
    ll_bundle_free(held[0]);
    ll_bundle_free(held[1]);
    return status;
}
