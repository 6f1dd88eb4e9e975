/* SPDX-License-Identifier: MIT */
/* Any bytes as a predictions file; one that is accepted is evaluated, printed, and cut at a threshold. */
#include "fuzz.h"

static void evaluate(const ll_outcome *points, const ll_outcome *out_points) {
    ll_evaluation *evaluation = NULL;
    ll_context *ctx = fuzz_context();
    ll_threshold threshold;
    char *text;
    if (points->truth && fuzz_ok(ll_evaluate(&evaluation, ctx, points, out_points, NULL)) &&
        fuzz_ok(ll_evaluation_text(&text, ctx, evaluation, LL_TEXT_JSON))) {
        fuzz_use_text(text);
        ll_text_free(text);
    }
    ll_evaluation_free(evaluation);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        (void)fuzz_ok(ll_threshold_at_risk(&threshold, ctx, points, c, 0.1));
        (void)fuzz_ok(ll_threshold_at_coverage(&threshold, ctx, points, c, 0.9));
    }
}

static void run(const uint8_t *bytes, size_t size) {
    fuzz_file("fuzz", bytes, size);
    ll_predictions *inside;
    if (fuzz_ok(ll_predictions_read(&inside, fuzz_context(), "fuzz", NULL)))
        evaluate(ll_predictions_view(inside), ll_predictions_view(ll_predictions_out(inside)));
    ll_predictions_free(inside);
}

FUZZ_TARGET(run)
