/* SPDX-License-Identifier: MIT */
/* Any bytes as the files of a search's store, with a form feed between them: runs.jsonl, store.json, choice.json, kept predictions. */
#include "fuzz.h"

#include "store/report_inputs.h"
#include "store/trial_store.h"

static void run(const uint8_t *bytes, size_t size) {
    static const char *const paths[] = {"store/runs.jsonl", "store/store.json", "store/choice.json", "store/best/honest-sgd.npz"};
    for (size_t i = 0; i < LLI_COUNT(paths) && size; i++) {
        const uint8_t *end = i + 1 < LLI_COUNT(paths) ? memchr(bytes, '\f', size) : NULL;
        size_t length = end ? (size_t)(end - bytes) : size;
        fuzz_file(paths[i], bytes, length);
        bytes += length + (end != NULL);
        size -= length + (end != NULL);
    }
    ll_meta pairs[] = {{"seed", "0"}, {"method", "sgd"}};
    const lli_provenance identity = {.pairs = pairs, .count = 2};
    lli_trial_store store;
    if (fuzz_ok(lli_trial_store_open(&store, fuzz_context(), "store", &identity, "aurc", false)))
        lli_trial_store_close(&store);
    lli_report_inputs inputs;
    const ll_report_input input = {.kind = LL_REPORT_PREDICTIONS, .file = "store"};
    if (fuzz_ok(lli_report_inputs_expand(&inputs, fuzz_context(), &input, 1))) {
        for (int64_t i = 0; i < inputs.count; i++) {
            fuzz_use_text(inputs.list[i].file);
            fuzz_use_text(inputs.list[i].name);
        }
        lli_report_inputs_release(&inputs);
    }
}

FUZZ_TARGET(run)
