/* SPDX-License-Identifier: MIT */
/* Any text as a network: its layers on images and on features. */
#include "fuzz.h"
#include "model/sequence.h"

static void run(const uint8_t *bytes, size_t size) {
    static lli_sequence sequence;
    char text[256];
    if (!fuzz_piece(text, sizeof text, &bytes, &size, 0))
        return;
    bool ok = fuzz_ok(lli_sequence_parse(fuzz_context(), &sequence, text, (lli_extent){32, 32, 3}, 10));
    if (ok && (sequence.count < 1 || sequence.count > LLI_SEQUENCE_MAX))
        abort();
    (void)fuzz_ok(lli_sequence_parse(fuzz_context(), &sequence, text, (lli_extent){1, 1, 5}, 2));
}

FUZZ_TARGET(run)
