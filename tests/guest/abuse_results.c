/* SPDX-License-Identifier: MIT */
/* Arguments that no call can do anything with, from predictions on; and calls in an order that makes no sense. */
#include "abuse.h"

static void read_predictions(void) {
    ll_predictions *made;
    ll_array none = {0};
    USAGE(ll_predictions_read(NULL, ctx, "p.npz", NULL));
    USAGE(ll_predictions_read(&made, ctx, NULL, NULL));
    USAGE(ll_predictions_read_out(NULL, ctx, "p.npz"));
    USAGE(ll_predictions_read_out(&made, ctx, NULL));
    USAGE(ll_predictions_new(NULL, ctx, good, true, NULL));
    USAGE(ll_predictions_new(&made, ctx, none, true, NULL));
    USAGE(ll_predictions_new(&made, ctx, view(LL_DTYPE_F32, 99, 3, 3), true, NULL));
    USAGE(ll_predictions_new(&made, ctx, view(LL_DTYPE_F32, 2, INT64_MAX, INT64_MAX), true, NULL));
    USAGE(ll_predictions_new(&made, ctx, good, true, &(ll_array){.dtype = LL_DTYPE_I32, .rank = 1, .shape = {GUEST_N}}));
    USAGE(ll_predictions_from(NULL, ctx, "p.npy", true, NULL));
    USAGE(ll_predictions_from(&made, ctx, NULL, true, NULL));
    SAME(!ll_predictions_view(NULL));
}

static void outcomes(void) {
    ll_evaluation *made;
    const ll_outcome *points = ll_predictions_view(predictions);
    ll_outcome bad = {0};
    USAGE(ll_evaluate(NULL, ctx, points, NULL, NULL));
    USAGE(ll_evaluate(&made, ctx, NULL, NULL, NULL));
    MUTE(ll_evaluate(&made, NULL, points, NULL, NULL));
    AS(LL_ERR_DATA, ll_evaluate(&made, ctx, &bad, NULL, NULL)); /* no points at all */
    bad = *points;
    bad.label = NULL;
    AS(LL_ERR_DATA, ll_evaluate(&made, ctx, &bad, NULL, NULL));
    bad = *points;
    bad.truth = NULL;
    AS(LL_ERR_DATA, ll_evaluate(&made, ctx, &bad, NULL, NULL));
    int32_t wild[GUEST_N];
    memcpy(wild, y, sizeof wild);
    wild[7] = 1000000;
    bad = *points;
    bad.truth = wild;
    AS(LL_ERR_DATA, ll_evaluate(&made, ctx, &bad, NULL, NULL));
    wild[7] = -1;
    AS(LL_ERR_DATA, ll_evaluate(&made, ctx, &bad, NULL, NULL));
    bad = *points;
    bad.n = -1;
    USAGE(ll_evaluate(&made, ctx, &bad, NULL, NULL));
    USAGE(ll_evaluate(&made, ctx, points, &bad, NULL));
    bad = *points;
    bad.classes = -2;
    USAGE(ll_evaluate(&made, ctx, &bad, NULL, NULL));
    bad = *points;
    bad.probs.rank = 99;
    USAGE(ll_evaluate(&made, ctx, &bad, NULL, NULL));
    bad.probs = points->probs;
    bad.probs.dtype = (ll_dtype)-1;
    USAGE(ll_evaluate(&made, ctx, &bad, NULL, NULL));
    bad = *points;
    bad.struct_size = 999999999;
    USAGE(ll_evaluate(&made, ctx, &bad, NULL, NULL));
}

static void rules(void) {
    ll_evaluation *made;
    const ll_outcome *points = ll_predictions_view(predictions);
    ll_evaluate_options o = ll_evaluate_options_default();
    o.bins = 0;
    USAGE(ll_evaluate(&made, ctx, points, NULL, &o));
    o.bins = LL_BINS_MAX + 1;
    USAGE(ll_evaluate(&made, ctx, points, NULL, &o));
    o = ll_evaluate_options_default();
    o.edges = "wavy";
    USAGE(ll_evaluate(&made, ctx, points, NULL, &o));
    o = ll_evaluate_options_default();
    o.struct_size = 5;
    USAGE(ll_evaluate(&made, ctx, points, NULL, &o));
    ll_threshold cut;
    USAGE(ll_threshold_at_risk(NULL, ctx, points, LL_CONFIDENCE_SR, 0.1));
    USAGE(ll_threshold_at_risk(&cut, ctx, NULL, LL_CONFIDENCE_SR, 0.1));
    USAGE(ll_threshold_at_risk(&cut, ctx, points, (ll_confidence)99, 0.1));
    USAGE(ll_threshold_at_risk(&cut, ctx, points, (ll_confidence)-1, 0.1));
    USAGE(ll_threshold_at_risk(&cut, ctx, points, LL_CONFIDENCE_SR, NAN));
    USAGE(ll_threshold_at_risk(&cut, ctx, points, LL_CONFIDENCE_STD, 0.1)); /* one member has none */
    USAGE(ll_threshold_at_coverage(&cut, ctx, points, LL_CONFIDENCE_SR, 0));
    USAGE(ll_threshold_at_coverage(&cut, ctx, points, LL_CONFIDENCE_SR, INFINITY));
    USAGE(ll_threshold_at_coverage(&cut, ctx, points, (ll_confidence)LL_CONFIDENCE_COUNT, 0.5));
    char *text;
    must(ll_evaluate(&made, ctx, points, NULL, NULL), ctx);
    USAGE(ll_evaluation_text(NULL, ctx, made, LL_TEXT_PLAIN));
    USAGE(ll_evaluation_text(&text, ctx, NULL, LL_TEXT_PLAIN));
    USAGE(ll_evaluation_text(&text, ctx, made, (ll_text_form)9));
    ll_evaluation_free(made);
    USAGE(ll_evaluation_read(NULL, ctx, "e.json"));
    USAGE(ll_evaluation_read(&made, ctx, NULL));
}

static void comparisons(void) {
    ll_comparison *made;
    char *text;
    USAGE(ll_compare(NULL, ctx, data, data, head, NULL));
    USAGE(ll_compare(&made, ctx, NULL, data, head, NULL));
    USAGE(ll_compare(&made, ctx, data, NULL, head, NULL));
    USAGE(ll_compare_network(&made, ctx, data, data, NULL, NULL));
    ll_compare_options o = ll_compare_options_default();
    o.risk = NAN;
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    ll_fit_options fit = ll_fit_options_default();
    o = ll_compare_options_default();
    fit.struct_size = 11;
    o.fit = &fit;
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    USAGE(ll_comparison_text(&text, ctx, NULL, LL_TEXT_PLAIN));
    SAME(ll_comparison_count(NULL) == 0 && !ll_comparison_row(NULL, 0));
}

static void pages(void) {
    ll_report_input one = {.kind = LL_REPORT_PREDICTIONS, .file = "p.npz"};
    USAGE(ll_report_write(ctx, NULL, &one, 1, NULL));
    USAGE(ll_report_write(ctx, "r.html", NULL, 1, NULL));
    USAGE(ll_report_write(ctx, "r.html", &one, 0, NULL));
    USAGE(ll_report_write(ctx, "r.html", &one, -1, NULL));
    USAGE(ll_report_write(ctx, "r.html", &one, INT64_MAX, NULL));
    one.file = NULL;
    USAGE(ll_report_write(ctx, "r.html", &one, 1, NULL));
    one.file = "p.npz";
    one.kind = (ll_report_kind)42;
    USAGE(ll_report_write(ctx, "r.html", &one, 1, NULL));
    ll_report_input two[2] = {{.file = "p.npz"}, {.struct_size = sizeof one, .file = "q.npz"}};
    USAGE(ll_report_write(ctx, "r.html", two, 2, NULL));
    SAME(ll_text_escape(NULL, 0, "x", LL_TEXT_PLAIN) == 1);
}

static void searches(void) {
    ll_search_data rows = {.train = data, .test = data};
    ll_results *results;
    char *text;
    USAGE(ll_search(ctx, NULL, &rows, NULL));
    USAGE(ll_search(ctx, "store", NULL, NULL));
    rows.test = NULL;
    USAGE(ll_search(ctx, "store", &rows, NULL));
    rows = (ll_search_data){.struct_size = 2, .train = data, .test = data};
    USAGE(ll_search(ctx, "store", &rows, NULL));
    rows.struct_size = 0;
    ll_search_options o = ll_search_options_default();
    o.method = "magic";
    USAGE(ll_search(ctx, "store", &rows, &o));
    o = ll_search_options_default();
    o.lr = "one,two";
    USAGE(ll_search(ctx, "store", &rows, &o));
    o = ll_search_options_default();
    o.by = "luck";
    USAGE(ll_search(ctx, "store", &rows, &o));
    USAGE(ll_results_read(NULL, ctx, "store"));
    USAGE(ll_results_read(&results, ctx, NULL));
    USAGE(ll_results_text(&text, ctx, NULL, NULL, NULL, LL_TEXT_PLAIN));
    SAME(ll_results_count(NULL) == 0 && !ll_results_trial(NULL, 0) && ll_results_best(NULL, NULL, NULL, NULL) == -1);
    SAME(!*ll_split_name((ll_split)9) && !*ll_split_name((ll_split)-1));
    USAGE(ll_reproduce(NULL, ctx, "mnist", NULL));
    USAGE(ll_reproduce(&text, ctx, NULL, NULL));
    USAGE(ll_reproduce(&text, ctx, "nonsense", NULL));
    ll_reproduce_options r = ll_reproduce_options_default();
    r.folder = NULL;
    USAGE(ll_reproduce(&text, ctx, "mnist", &r));
}

/* What failed once may be tried again with the same context, and a cancelled context takes calls again. */
static void order(void) {
    ll_ensemble *made;
    fresh();
    ll_context_cancel(ctx);
    SAME(ll_fit(&made, ctx, data, head, NULL) == LL_ERR_CANCELLED && !made);
    SAME(ll_fit(&made, ctx, data, head, NULL) == LL_ERR_CANCELLED);
    ll_context_uncancel(ctx);
    SAME(ll_fit(&made, ctx, NULL, head, NULL) == LL_ERR_USAGE);
    must(ll_fit(&made, ctx, data, head, NULL), ctx);
    tap(true, "after ll_context_uncancel the context fits again", "");
    ll_ensemble_free(made);
}

int main(void) {
    abuse_begin();
    read_predictions();
    outcomes();
    rules();
    comparisons();
    pages();
    searches();
    order();
    return abuse_end();
}
