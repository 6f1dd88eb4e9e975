/* SPDX-License-Identifier: MIT */
/* Any bytes as the JSON of an evaluation; one that is accepted is printed, and what was printed is read. */
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    ll_evaluation *evaluation, *again;
    fuzz_file("fuzz", bytes, size);
    if (!fuzz_ok(ll_evaluation_read(&evaluation, fuzz_context(), "fuzz")))
        return;
    char *text, *json;
    if (!fuzz_ok(ll_evaluation_text(&text, fuzz_context(), evaluation, (ll_text_form)(size % 4))) ||
        !fuzz_ok(ll_evaluation_text(&json, fuzz_context(), evaluation, LL_TEXT_JSON)))
        abort();
    fuzz_harmless(text, true);
    fuzz_file("again", json, strlen(json)); /* what we print we read */
    if (!fuzz_ok(ll_evaluation_read(&again, fuzz_context(), "again")))
        abort();
    ll_text_free(text);
    ll_text_free(json);
    ll_evaluation_free(evaluation);
    ll_evaluation_free(again);
}

FUZZ_TARGET(run)
