/* SPDX-License-Identifier: MIT */
/* Any bytes as the runs.jsonl of a search: damaged lines are passed over, what is left is sorted, chosen from and printed. */
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    static const char *const rules[] = {"aurc", "aurc-hq", "auroc"};
    fuzz_file("store/runs.jsonl", bytes, size);
    ll_results *results;
    char *text;
    if (fuzz_ok(ll_results_read(&results, fuzz_context(), "store"))) {
        for (size_t r = 0; r < LLI_COUNT(rules); r++) {
            int64_t best = ll_results_best(results, NULL, "paper", rules[r]);
            if (best >= ll_results_count(results))
                abort();
        }
        ll_text_form form = (ll_text_form)(size % 4); /* one of the four is enough, and four times as fast */
        if (!fuzz_ok(ll_results_text(&text, fuzz_context(), results, size & 4 ? "honest" : "paper", "aurc", form)))
            abort();
        fuzz_harmless(text, true);
        ll_text_free(text);
    }
    ll_results_free(results);
}

FUZZ_TARGET(run)
