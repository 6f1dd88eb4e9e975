/* SPDX-License-Identifier: MIT */
/* What the product does with an ensemble that a reader accepted. */
#ifndef TESTS_FUZZ_USE_ENSEMBLE_H
#define TESTS_FUZZ_USE_ENSEMBLE_H

#include "base/memory.h"
#include "fuzz.h"

/* One row of zeros and ones through all members. */
static inline void fuzz_use_ensemble(const ll_ensemble *ensemble) {
    ll_context *ctx = fuzz_context();
    int64_t D = ll_ensemble_features(ensemble), K = ll_ensemble_classes(ensemble);
    ll_predictor *predictor = NULL;
    float *z = NULL, *probs = NULL;
    double confidence[LL_CONFIDENCE_COUNT], tail;
    int32_t label, vote;
    ll_images_options images = ll_ensemble_images(ensemble);
    fuzz_use_text(images.classes);
    fuzz_use_text(ll_ensemble_method(ensemble));
    if (!fuzz_ok(lli_memory_new(ctx, &z, D, sizeof *z)) || !fuzz_ok(lli_memory_new(ctx, &probs, K, sizeof *probs)) ||
        !fuzz_ok(ll_predictor_new(&predictor, ctx, ensemble)))
        goto done;
    for (int64_t d = 0; d < D; d++)
        z[d] = (float)(d % 2);
    ll_prediction out = {.label = &label, .vote = &vote, .sr_tail = &tail, .probs = probs};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        out.confidence[c] = &confidence[c];
    if (ll_predictor_run(&out, predictor, z, 1, 0) == LL_OK) {
        if (label < 0 || label >= K || vote < 0 || vote >= K)
            abort();
    } else if (!ll_predictor_message(predictor)[0]) {
        abort();
    }
done:
    ll_predictor_free(predictor);
    lli_memory_free(z);
    lli_memory_free(probs);
}

#endif
