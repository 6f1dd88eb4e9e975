/* SPDX-License-Identifier: MIT */
/* Any bytes as the JSON of an evaluation or a diagnosis; an evaluation that is accepted is printed, and what was printed is read. */
#include "fuzz.h"
#include "interop/diagnosis_file.h"

static void run(const uint8_t *bytes, size_t size) {
    ll_evaluation *evaluation, *again;
    lli_diagnosis_traces *traces;
    fuzz_file("fuzz", bytes, size);
    if (fuzz_ok(lli_diagnosis_file_read(&traces, fuzz_context(), "fuzz", NULL)))
        lli_diagnosis_file_free(traces);
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
