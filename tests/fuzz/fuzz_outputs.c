/* SPDX-License-Identifier: MIT */
/* Any bytes as someone else's outputs: probabilities, then logits, with labels beside them; what is accepted is evaluated. */
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    ll_context *ctx = fuzz_context();
    fuzz_file(FUZZ_FILE, bytes, size);
    for (int logits = 0; logits < 2; logits++) {
        ll_predictions *predictions;
        bool labelled = true;
        if (!fuzz_ok(ll_predictions_from(&predictions, ctx, FUZZ_FILE, logits, FUZZ_FILE ":labels"))) {
            labelled = false;
            if (!fuzz_ok(ll_predictions_from(&predictions, ctx, FUZZ_FILE, logits, NULL)))
                continue;
        }
        const ll_outcome *points = ll_predictions_view(predictions);
        ll_evaluation *evaluation = NULL;
        if (points->truth && labelled)
            (void)fuzz_ok(ll_evaluate(&evaluation, ctx, points, NULL, NULL));
        ll_evaluation_free(evaluation);
        ll_predictions_free(predictions);
    }
}

FUZZ_TARGET(run)
