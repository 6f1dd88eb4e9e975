/* SPDX-License-Identifier: MIT */
/* The whole path in C: features and labels to an ensemble, to predictions, to metrics and a threshold.
 *
 *     tour features.npy labels.npy test_features.npy test_labels.npy
 */
#include <stdio.h>
#include <stdlib.h>

#include <lastlayer.h>

#define CHECK(call)                                                 \
    do {                                                            \
        if ((call) != LL_OK) {                                      \
            fprintf(stderr, "tour: %s\n", ll_context_message(ctx)); \
            exit(1);                                                \
        }                                                           \
    } while (0)

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: tour FEATURES LABELS TEST_FEATURES TEST_LABELS\n");
        return 2;
    }
    ll_context *ctx;
    CHECK(ll_context_new(&ctx, NULL));

    ll_dataset *train, *test;
    CHECK(ll_dataset_read(&train, ctx, argv[1], argv[2], 0));
    CHECK(ll_dataset_read(&test, ctx, argv[3], argv[4], ll_dataset_classes(train)));

    ll_fit_options fit = ll_fit_options_default();
    fit.method = "sgld";
    fit.samples = 20;
    ll_ensemble *ensemble;
    CHECK(ll_fit(&ensemble, ctx, train, NULL, &fit)); /* NULL: start from the MAP; a trained head goes here */

    ll_predictions *predictions;
    CHECK(ll_predict(&predictions, ctx, ensemble, test, NULL)); /* ll_predictions_write makes a file of them */
    const ll_outcome *outcome = ll_predictions_view(predictions);

    ll_evaluation *evaluation;
    CHECK(ll_evaluate(&evaluation, ctx, outcome, NULL, NULL));
    printf("accuracy %.4f, AURC(sr) %.5f\n", evaluation->accuracy, evaluation->selective[LL_CONFIDENCE_SR].aurc);

    ll_threshold cut;
    CHECK(ll_threshold_at_coverage(&cut, ctx, outcome, LL_CONFIDENCE_SR, 0.9));
    printf("answering the surest %.0f %% (sr >= %.4f): error rate %.4f instead of %.4f\n", 100 * cut.coverage, cut.cut, cut.risk,
           1 - evaluation->accuracy);

    ll_evaluation_free(evaluation);
    ll_predictions_free(predictions);
    ll_ensemble_free(ensemble);
    ll_dataset_free(test);
    ll_dataset_free(train);
    ll_context_free(ctx);
    return 0;
}
