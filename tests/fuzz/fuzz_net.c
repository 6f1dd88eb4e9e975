/* SPDX-License-Identifier: MIT */
/* Any text as a network: its layers on images, and all of its tensors on features. */
#include "fuzz.h"
#include "model/network.h"
#include "model/sequence.h"

static void run(const uint8_t *bytes, size_t size) {
    static lli_sequence sequence;
    char text[256];
    if (!fuzz_piece(text, sizeof text, &bytes, &size, 0))
        return;
    bool ok = fuzz_ok(lli_sequence_parse(fuzz_context(), &sequence, text, (lli_extent){32, 32, 3}, 10));
    if (ok && (sequence.count < 1 || sequence.count > LLI_SEQUENCE_MAX))
        abort();
    lli_network *network;
    if (fuzz_ok(lli_network_new(&network, fuzz_context(), text, 1, 1, 5, 2))) {
        const lli_model *model = lli_network_model(network);
        for (int t = 0; t < model->tensors; t++)
            if (model->tensor[t].count < 1 || model->tensor[t].count > model->floats)
                abort();
        lli_network_free(network);
    }
}

FUZZ_TARGET(run)
