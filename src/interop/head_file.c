/* SPDX-License-Identifier: MIT */
/* Heads from files: which array is the weight, which the bias. */
#include "base/abi.h"
#include "model/head.h"

#include "base/bundle.h"
#include "formats/format.h"

/* What frameworks and people call the two arrays of a last layer. */
static const lli_format_partner pairs[] = {
    {"W", "b"},
    {"weight", "bias"},
    {"kernel", "bias"},
    {"coef_", "intercept_"},
    {"fc.weight", "fc.bias"},
    {"classifier.weight", "classifier.bias"},
    {"head.weight", "head.bias"},
    {"linear.weight", "linear.bias"},
    {"layers.0.weight", "layers.0.bias"},
    {"kernel:0", "bias:0"}, /* Keras 2 */
    {"/vars/0", "/vars/1"}, /* Keras 3 */
    {NULL, NULL},
};

ll_status ll_head_read(ll_head **out, ll_context *ctx, const char *weight, const char *bias, int64_t features, ll_head_layout layout) {
    LLI_NEED(ctx, out, weight);
    *out = NULL;
    const char *weight_names[LLI_COUNT(pairs)];
    for (size_t i = 0; i < LLI_COUNT(pairs); i++)
        weight_names[i] = pairs[i].ending;
    static const char *const bias_names[] = {"b", "bias", NULL};
    ll_bundle *files[2] = {NULL, NULL};
    ll_array W, b;
    ll_status status;
    bool found = bias != NULL;
    if (bias) {
        LLI_DO(ll_array_read(&files[0], &W, ctx, weight, weight_names));
        LLI_DO(ll_array_read(&files[1], &b, ctx, bias, bias_names));
    } else {
        LLI_DO(lli_format_read_both(&files[0], &W, &b, &found, ctx, weight, weight_names, pairs));
        if (!found)
            lli_log(ctx, LL_LOG_NOTE, "%s has no bias next to the weight; the bias is taken as zero (give one with `bias`)", weight);
    }
    LLI_DO(ll_head_new(out, ctx, W, found ? &b : NULL, features, layout));
done:
    ll_bundle_free(files[0]);
    ll_bundle_free(files[1]);
    return status;
}
