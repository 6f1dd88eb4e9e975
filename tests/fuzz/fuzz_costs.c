/* SPDX-License-Identifier: MIT */
/* Any bytes as a cost matrix, for an outcome of four points and three classes. */
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    ll_evaluation *evaluation = NULL;
    static const int32_t label[] = {0, 1, 2, 0}, truth[] = {0, 1, 1, 2};
    static const double sr[] = {0.5, 0.75, 0.5, 0.625};
    static const float probs[] = {0.5f, 0.25f, 0.25f, 0.25f, 0.75f, 0, 0.25f, 0.25f, 0.5f, 0.625f, 0.25f, 0.125f};
    ll_outcome points = {.n = 4, .classes = 3, .label = label, .truth = truth, .confidence = {sr}};
    points.probs = ll_array_view(probs, LL_DTYPE_F32, 2, (int64_t[]){4, 3});
    ll_evaluate_options options = ll_evaluate_options_default();
    ll_bundle *bundle = NULL;
    ll_array costs;
    options.costs = &costs;
    fuzz_file(FUZZ_FILE, bytes, size);
    if (fuzz_ok(ll_array_read(&bundle, &costs, fuzz_context(), FUZZ_FILE, (const char *const[]){"costs", NULL})))
        (void)fuzz_ok(ll_evaluate(&evaluation, fuzz_context(), &points, NULL, &options));
    ll_evaluation_free(evaluation);
    ll_bundle_free(bundle);
}

FUZZ_TARGET(run)
