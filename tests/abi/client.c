/* SPDX-License-Identifier: MIT */
/* A program of the time of 0.2: compiled with the header of then (beside this file), run with the library of now. Not to be
 * changed. */
#include "../guest/guest.h"

static float z[GUEST_N * GUEST_D];
static int32_t y[GUEST_N];

int main(void) {
    guest_rows(z, y);
    ll_context *ctx = context_of(2);
    ll_array labels = guest_view(y, LL_DTYPE_I32, GUEST_N, 0);
    ll_dataset *data;
    must(ll_dataset_new(&data, ctx, guest_view(z, LL_DTYPE_F32, GUEST_N, GUEST_D), &labels, GUEST_K), ctx);
    ll_fit_options fit = ll_fit_options_default();
    fit.method = "bootstrap";
    fit.samples = 5;
    ll_ensemble *ensemble;
    must(ll_fit(&ensemble, ctx, data, NULL, &fit), ctx);
    tap(ll_ensemble_samples(ensemble) == 5 && ll_ensemble_classes(ensemble) == GUEST_K, "fits", "another shape");

    int32_t label[GUEST_N];
    double sr[GUEST_N];
    ll_prediction one = {.struct_size = sizeof one, .label = label};
    one.confidence[LL_CONFIDENCE_SR] = sr;
    ll_predictor *predictor;
    must(ll_predictor_new(&predictor, ctx, ensemble), ctx);
    tap(ll_predictor_run(&one, predictor, z, GUEST_N, 0) == LL_OK, "predicts into arrays of its own", ll_predictor_message(predictor));

    ll_predictions *predictions;
    ll_predict_options predict = ll_predict_options_default();
    must(ll_predict(&predictions, ctx, ensemble, data, &predict), ctx);
    const ll_outcome *points = ll_predictions_view(predictions);
    bool same = points->n == GUEST_N;
    for (int i = 0; same && i < GUEST_N; i++)
        same = points->label[i] == label[i] && points->confidence[LL_CONFIDENCE_SR][i] == sr[i];
    tap(same, "reads an outcome of the library", "other answers than the predictor's");

    ll_evaluation *evaluation;
    ll_evaluate_options evaluate = ll_evaluate_options_default();
    must(ll_evaluate(&evaluation, ctx, points, NULL, &evaluate), ctx);
    int64_t errors = 0;
    for (int i = 0; i < GUEST_N; i++)
        errors += label[i] != y[i];
    tap(evaluation->n == GUEST_N && evaluation->errors == errors && evaluation->selective[LL_CONFIDENCE_SR].aurc >= 0,
        "reads an evaluation of the library", "other numbers");
    ll_threshold cut;
    tap(ll_threshold_at_coverage(&cut, ctx, points, LL_CONFIDENCE_SR, 0.5) == LL_OK && cut.n == GUEST_N && cut.coverage >= 0.5,
        "gets a threshold by value", ll_context_message(ctx));

    ll_evaluation_free(evaluation);
    ll_predictions_free(predictions);
    ll_predictor_free(predictor);
    ll_ensemble_free(ensemble);
    ll_dataset_free(data);
    ll_context_free(ctx);
    return tap_end();
}
