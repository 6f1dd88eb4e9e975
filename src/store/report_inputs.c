/* SPDX-License-Identifier: MIT */
/* Folders among the inputs of a report are stores of lastlayer search. */
#include "store/report_inputs.h"

#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/bundle.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/file.h"
#include "formats/tree.h"

static ll_status own(lli_report_inputs *in, lli_text *text, const char **out) {
    char *made = NULL;
    ll_status status = lli_text_take(text, &made);
    if (status == LL_OK)
        *out = in->owned[in->owned_count++] = made;
    return status;
}

static ll_status add(lli_report_inputs *in, ll_context *ctx, const ll_report_input *input) {
    if (in->count == LLI_REPORT_INPUTS_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "a report takes 1 to %d files, the methods of a store counted one by one",
                        LLI_REPORT_INPUTS_MAX);
    in->list[in->count++] = *input;
    return LL_OK;
}

/* The kept predictions must be those of the trial that the search chose. */
static ll_status check_trial(ll_context *ctx, const char *path, const char *trial) {
    ll_bundle *bundle;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    const char *found = lli_bundle_meta(bundle, "trial");
    bool same = found && strcmp(found, trial) == 0;
    ll_bundle_free(bundle);
    return same ? LL_OK
                : lli_fail(ctx, LL_ERR_DATA, "%s does not belong to the chosen trial %s; run the search again, in another store", path,
                           trial);
}

static ll_status add_best(lli_report_inputs *in, ll_context *ctx, const ll_report_input *store, const char *method, const char *protocol,
                          const char *trial) {
    ll_report_input input = *store;
    lli_text path, name;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_init(&name, ctx);
    lli_text_add(&path, "%s/best/%s-%s.npz", store->file, protocol, method);
    lli_text_add(&name, "%s%s%s", store->name ? store->name : "", store->name ? " " : "", method);
    LLI_DO(add(in, ctx, &input)); /* a place of its own before anything is owned */
    ll_report_input *made = &in->list[in->count - 1];
    LLI_DO(own(in, &path, &made->file));
    LLI_DO(own(in, &name, &made->name));
    LLI_DO(check_trial(ctx, made->file, trial));
done:
    lli_text_release(&path);
    lli_text_release(&name);
    return status;
}

static ll_status add_store(lli_report_inputs *in, ll_context *ctx, const ll_report_input *store) {
    lli_text path;
    lli_tree *tree = NULL;
    int64_t before = in->count;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/choice.json", store->file);
    LLI_DO(path.status);
    if (!lli_file_exists(path.data))
        LLI_DO(lli_fail(ctx, LL_ERR_READ, "%s is a folder without choice.json; expected the store of a lastlayer search that has ended",
                        store->file));
    LLI_DO(lli_tree_read(&tree, ctx, path.data));
    const char *protocol = lli_tree_text(lli_tree_get(tree, "protocol"));
    for (size_t m = 0; protocol && m < ll_method_count(); m++) {
        const char *method = ll_method_get(m)->name, *trial = lli_tree_text(lli_tree_get(lli_tree_get(tree, "best"), method));
        if (trial)
            LLI_DO(add_best(in, ctx, store, method, protocol, trial));
    }
    if (in->count == before)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "%s names no best trial", path.data));
done:
    lli_tree_free(tree);
    lli_text_release(&path);
    return status;
}

/* The i-th of the caller's inputs, which are as far apart as the first one's struct_size says. */
static ll_status take(ll_report_input *out, ll_context *ctx, const ll_report_input *given, int64_t i) {
    size_t zero = LLI_ABI_UP_TO(ll_report_input, predictions), stride = given->struct_size ? given->struct_size : zero, said;
    const char *at = (const char *)given + (size_t)i * stride;
    *out = (ll_report_input){0};
    memcpy(&said, at, sizeof said);
    if (said != given->struct_size)
        return lli_fail(ctx, LL_ERR_USAGE, "input %lld of the report has a struct_size of %zu and the first has %zu; they must be equal",
                        (long long)i, said, given->struct_size);
    LLI_TRY(lli_abi_take(ctx, "ll_report_input", out, sizeof *out, at, zero));
    if (out->predictions && (out->file || out->kind != LL_REPORT_PREDICTIONS))
        return lli_fail(ctx, LL_ERR_USAGE, "input %lld of the report has predictions in memory and also %s; expected one of the two",
                        (long long)i, out->file ? "a file" : "another kind");
    if (out->predictions)
        out->file = "the predictions"; /* what sentences and the page call them */
    if (!out->file || (unsigned)out->kind > LL_REPORT_LOGITS)
        return lli_fail(ctx, LL_ERR_USAGE, "input %lld of the report has %s; expected one of ll_report_kind, and a file", (long long)i,
                        out->file ? "a kind that does not exist" : "the file NULL");
    return LL_OK;
}

ll_status lli_report_inputs_expand(lli_report_inputs *out, ll_context *ctx, const ll_report_input *given, int64_t count) {
    *out = (lli_report_inputs){.count = 0};
    ll_status status = LL_OK;
    for (int64_t i = 0; i < count && status == LL_OK; i++) {
        ll_report_input input;
        status = take(&input, ctx, given, i);
        if (status == LL_OK)
            status = input.kind == LL_REPORT_PREDICTIONS && !input.predictions && lli_file_is_folder(input.file)
                         ? add_store(out, ctx, &input)
                         : add(out, ctx, &input);
    }
    if (status != LL_OK)
        lli_report_inputs_release(out);
    return status;
}

void lli_report_inputs_release(lli_report_inputs *in) {
    for (int64_t i = 0; i < in->owned_count; i++)
        lli_memory_free(in->owned[i]);
    *in = (lli_report_inputs){.count = 0};
}
