/* SPDX-License-Identifier: MIT */
/* Predictions from files, and their evaluation with a cost matrix from a file. */
#include "base/abi.h"
#include "base/memory.h"
#include "metrics/evaluate.h"
#include "metrics/outcome.h"
#include "pipeline/pair.h"
#include "predict/predictions.h"

static const char *const label_names[] = {"labels", "truth", "y", NULL};

/* A confidence that needs members and is NaN in every row of the file is one that is not there. */
static ll_status check(ll_context *ctx, const char *path, ll_predictions *p) {
    LLI_TRY(lli_outcome_check(ctx, path, &p->view));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (!lli_outcome_has(&p->view, c))
            p->view.confidence[c] = NULL;
    return LL_OK;
}

ll_status ll_predictions_read(ll_predictions **out, ll_context *ctx, const char *path, const char *labels) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_bundle *bundle = NULL, *held = NULL;
    ll_predictions *p = NULL;
    ll_array y;
    ll_status status;
    LLI_DO(ll_bundle_read(&bundle, ctx, path));
    LLI_DO(lli_predictions_from_bundle(&p, ctx, bundle, path, ""));
    bundle = NULL;
    LLI_DO(check(ctx, path, p));
    if (labels) {
        LLI_DO(ll_array_read(&held, &y, ctx, labels, label_names));
        LLI_DO(lli_predictions_set_truth(ctx, p, labels, y));
    }
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    ll_bundle_free(bundle);
    ll_bundle_free(held);
    return status;
}

ll_status ll_predictions_read_out(ll_predictions **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_bundle *bundle;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    ll_predictions *p = NULL;
    ll_status status = LL_OK;
    if (lli_predictions_find(bundle, "out_", "label") < 0)
        goto done;
    LLI_DO(lli_predictions_from_bundle(&p, ctx, bundle, path, "out_"));
    bundle = NULL;
    LLI_DO(check(ctx, path, p));
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    ll_bundle_free(bundle);
    return status;
}

ll_status ll_predictions_from(ll_predictions **out, ll_context *ctx, const char *outputs, bool logits, const char *labels) {
    LLI_NEED(ctx, out, outputs);
    *out = NULL;
    static const char *const output_names[] = {"probs", "logits", NULL};
    ll_bundle *held[2] = {NULL, NULL};
    ll_array x, y;
    ll_status status;
    LLI_DO(lli_pair_read(held, &x, &y, ctx, "outputs", outputs, output_names, labels));
    LLI_DO(lli_predictions_new(out, ctx, outputs, x, logits, labels, labels ? &y : NULL));
done:
    ll_bundle_free(held[0]);
    ll_bundle_free(held[1]);
    return status;
}

ll_status ll_evaluate(ll_evaluation **out, ll_context *ctx, const ll_outcome *points, const ll_outcome *out_points,
                      const ll_evaluate_options *options) {
    LLI_NEED(ctx, out, points);
    *out = NULL;
    ll_bundle *held = NULL;
    ll_evaluation *evaluation = NULL;
    ll_array costs;
    ll_outcome in = {0}, outside = {0};
    ll_evaluate_options o = ll_evaluate_options_default();
    ll_status status;
    LLI_DO(lli_abi_take(ctx, "ll_evaluate_options", &o, sizeof o, options, 0));
    LLI_DO(lli_outcome_take(&in, ctx, points));
    LLI_DO(lli_outcome_take(&outside, ctx, out_points));
    if (o.costs)
        LLI_DO(ll_array_read(&held, &costs, ctx, o.costs, (const char *const[]){"costs", NULL}));
    LLI_DO(lli_memory_new(ctx, &evaluation, 1, sizeof *evaluation));
    LLI_DO(lli_evaluate(evaluation, ctx, &in, out_points ? &outside : NULL, &o, o.costs ? &costs : NULL));
    *out = evaluation;
    evaluation = NULL;
done:
    ll_evaluation_free(evaluation);
    ll_bundle_free(held);
    return status;
}

void ll_evaluation_free(ll_evaluation *evaluation) {
    lli_memory_free(evaluation);
}
