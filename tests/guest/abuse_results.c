/* SPDX-License-Identifier: MIT */
/* Arguments that no call can do anything with, from predictions on; and calls in an order that makes no sense. */
#include "abuse.h"

static void read_predictions(void) {
    ll_predictions *made;
    ll_array none = {0};
    USAGE(ll_predictions_read(NULL, ctx, "p.npz", NULL));
    USAGE(ll_predictions_read(&made, ctx, NULL, NULL));
    USAGE(ll_predictions_new(NULL, ctx, good, true, NULL));
    USAGE(ll_predictions_new(&made, ctx, none, true, NULL));
    USAGE(ll_predictions_new(&made, ctx, view(LL_DTYPE_F32, 99, 3, 3), true, NULL));
    USAGE(ll_predictions_new(&made, ctx, view(LL_DTYPE_F32, 2, INT64_MAX, INT64_MAX), true, NULL));
    USAGE(ll_predictions_new(&made, ctx, good, true, &(ll_array){.dtype = LL_DTYPE_I32, .rank = 1, .shape = {GUEST_N}}));
    USAGE(ll_predictions_from(NULL, ctx, "p.npy", true, NULL));
    USAGE(ll_predictions_from(&made, ctx, NULL, true, NULL));
    SAME(!ll_predictions_view(NULL) && !ll_predictions_out(NULL) && !ll_predictions_out(predictions));
    SAME(ll_predictions_array(NULL, "sr").rank == -1 && ll_predictions_array(predictions, NULL).rank == -1);
    SAME(ll_predictions_array(predictions, "std").rank == -1 && ll_predictions_array(predictions, "magic").rank == -1);
    SAME(ll_predictions_meta_count(NULL) == 0 && !ll_predictions_meta_key(predictions, 0) && !ll_predictions_meta_value(predictions, -1));
    SAME(!ll_field_get(ll_field_count()) && !ll_field_get((size_t)-1));
    USAGE(ll_predictions_write(ctx, NULL, predictions));
    USAGE(ll_predictions_write(ctx, "p.npz", NULL));
    USAGE(ll_predictions_write(ctx, "p.unknown", predictions));
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

static void contrasts(void) {
    ll_contrast *made;
    const ll_outcome *points = ll_predictions_view(predictions);
    const ll_outcome *both[] = {points, points}, *half[] = {points, NULL};
    const char *names[] = {"a", "b"}, *unnamed[] = {"a", NULL};
    ll_evaluate_options o = ll_evaluate_options_default();
    USAGE(ll_contrast_new(NULL, ctx, names, both, NULL, 2, LL_CONFIDENCE_SR, NULL));
    USAGE(ll_contrast_new(&made, ctx, NULL, both, NULL, 2, LL_CONFIDENCE_SR, NULL));
    USAGE(ll_contrast_new(&made, ctx, names, NULL, NULL, 2, LL_CONFIDENCE_SR, NULL));
    USAGE(ll_contrast_new(&made, ctx, names, both, NULL, 1, LL_CONFIDENCE_SR, NULL));
    USAGE(ll_contrast_new(&made, ctx, names, both, NULL, -1, LL_CONFIDENCE_SR, NULL));
    USAGE(ll_contrast_new(&made, ctx, names, both, NULL, 2, (ll_confidence)99, NULL));
    USAGE(ll_contrast_new(&made, ctx, names, half, NULL, 2, LL_CONFIDENCE_SR, NULL));
    USAGE(ll_contrast_new(&made, ctx, unnamed, both, NULL, 2, LL_CONFIDENCE_SR, NULL));
    AS(LL_ERR_DATA, ll_contrast_new(&made, ctx, names, both, half, 2, LL_CONFIDENCE_SR, NULL));
    o.interval = 0;
    USAGE(ll_contrast_new(&made, ctx, names, both, NULL, 2, LL_CONFIDENCE_SR, &o));
    int32_t wrong[GUEST_N];
    memcpy(wrong, y, sizeof wrong);
    wrong[7] = wrong[7] ? 0 : 1;
    ll_outcome other = *points;
    other.truth = wrong;
    AS(LL_ERR_DATA, ll_contrast_new(&made, ctx, names, (const ll_outcome *const[]){points, &other}, NULL, 2, LL_CONFIDENCE_SR, NULL));
    SAME(ll_contrast_count(NULL) == 0 && !ll_contrast_name(NULL, 0) && !ll_contrast_evaluation(NULL, 0));
    SAME(!ll_contrast_difference(NULL, 1, LL_METRIC_NLL) && !ll_metric_name(LL_METRIC_COUNT) && !ll_metric_name((ll_metric)-1));
    fresh();
    must(ll_contrast_new(&made, ctx, names, both, NULL, 2, LL_CONFIDENCE_STD, NULL), ctx); /* which these have not */
    const ll_difference *none = ll_contrast_difference(made, 1, LL_METRIC_AURC);
    SAME(none && none->value != none->value && !none->word && ll_contrast_difference(made, 1, LL_METRIC_NLL)->value == 0);
    SAME(!ll_contrast_difference(made, 0, LL_METRIC_NLL) && !ll_contrast_difference(made, 2, LL_METRIC_NLL));
    SAME(!ll_contrast_name(made, 2) && !ll_contrast_evaluation(made, -1) && ll_contrast_by(made) == LL_CONFIDENCE_STD);
    char *text;
    USAGE(ll_contrast_text(NULL, ctx, made, LL_TEXT_PLAIN));
    USAGE(ll_contrast_text(&text, ctx, NULL, LL_TEXT_PLAIN));
    USAGE(ll_contrast_text(&text, ctx, made, (ll_text_form)9));
    ll_contrast_free(made);
    ll_contrast_free(NULL);
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
    ll_risk_coverage *curve;
    USAGE(ll_risk_coverage_new(NULL, ctx, points, LL_CONFIDENCE_SR));
    USAGE(ll_risk_coverage_new(&curve, ctx, NULL, LL_CONFIDENCE_SR));
    USAGE(ll_risk_coverage_new(&curve, ctx, points, (ll_confidence)99));
    USAGE(ll_risk_coverage_new(&curve, ctx, points, LL_CONFIDENCE_STD));
    SAME(!curve && ll_risk_coverage_count(NULL) == 0 && !ll_risk_coverage_cut(NULL) && !ll_risk_coverage_risk(NULL));
    char *text;
    must(ll_evaluate(&made, ctx, points, NULL, NULL), ctx);
    USAGE(ll_evaluation_text(NULL, ctx, made, LL_TEXT_PLAIN));
    USAGE(ll_evaluation_text(&text, ctx, NULL, LL_TEXT_PLAIN));
    USAGE(ll_evaluation_text(&text, ctx, made, (ll_text_form)9));
    ll_evaluation_free(made);
    USAGE(ll_evaluation_read(NULL, ctx, "e.json"));
    USAGE(ll_evaluation_read(&made, ctx, NULL));
}

static void sets(void) {
    const ll_outcome *points = ll_predictions_view(predictions);
    ll_outcome bad = *points;
    ll_set_rule *rule, *none;
    ll_sets *made, *nothing;
    char *text;
    USAGE(ll_set_rule_fit(NULL, ctx, points, NULL));
    USAGE(ll_set_rule_fit(&none, ctx, NULL, NULL));
    MUTE(ll_set_rule_fit(&none, NULL, points, NULL));
    ll_sets_options o = ll_sets_options_default();
    const double wild[] = {0, 1, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        o.alpha = wild[i];
        USAGE(ll_set_rule_fit(&none, ctx, points, &o));
    }
    o = ll_sets_options_default();
    o.confidence = 1;
    USAGE(ll_set_rule_fit(&none, ctx, points, &o));
    o = ll_sets_options_default();
    o.score = "magic";
    USAGE(ll_set_rule_fit(&none, ctx, points, &o));
    o = ll_sets_options_default();
    o.struct_size = 3;
    USAGE(ll_set_rule_fit(&none, ctx, points, &o));
    bad.truth = NULL;
    AS(LL_ERR_DATA, ll_set_rule_fit(&none, ctx, &bad, NULL));
    bad = *points;
    bad.probs.data = NULL;
    AS(LL_ERR_DATA, ll_set_rule_fit(&none, ctx, &bad, NULL));
    SAME(!none && !ll_set_rule_view(NULL) && !ll_sets_view(NULL));
    o = ll_sets_options_default();
    o.score = NULL; /* its default */
    must(ll_set_rule_fit(&rule, ctx, points, &o), ctx);
    SAME(ll_set_rule_view(rule)->n == points->n && strcmp(ll_set_rule_view(rule)->score, "lac") == 0);
    USAGE(ll_sets_new(NULL, ctx, rule, points, 0));
    USAGE(ll_sets_new(&nothing, ctx, NULL, points, 0));
    USAGE(ll_sets_new(&nothing, ctx, rule, NULL, 0));
    USAGE(ll_sets_new(&nothing, ctx, rule, points, -1));
    USAGE(ll_sets_new(&nothing, ctx, rule, points, INT64_MAX));
    AS(LL_ERR_DATA, ll_sets_new(&nothing, ctx, rule, &bad, 0));
    must(ll_sets_new(&made, ctx, rule, points, 0), ctx);
    SAME(ll_sets_view(made)->n == points->n && ll_sets_view(made)->bytes == 1 && ll_sets_view(made)->covered > 0);
    USAGE(ll_sets_text(NULL, ctx, rule, made, LL_TEXT_PLAIN));
    USAGE(ll_sets_text(&text, ctx, NULL, made, LL_TEXT_PLAIN));
    USAGE(ll_sets_text(&text, ctx, rule, NULL, LL_TEXT_JSON));
    USAGE(ll_sets_text(&text, ctx, rule, made, (ll_text_form)9));
    USAGE(ll_sets_write(ctx, NULL, rule, made));
    USAGE(ll_sets_write(ctx, "s.npz", NULL, made));
    USAGE(ll_sets_write(ctx, "s.npz", rule, NULL));
    USAGE(ll_sets_write(ctx, "s.unknown", rule, made));
    ll_set_rule_free(rule);
    ll_sets_free(made);
    ll_set_rule_free(NULL);
    ll_sets_free(NULL);
}

static void comparisons(void) {
    ll_comparison *made;
    char *text;
    USAGE(ll_compare(NULL, ctx, data, data, head, NULL));
    USAGE(ll_compare(&made, ctx, NULL, data, head, NULL));
    USAGE(ll_compare(&made, ctx, data, NULL, head, NULL));
    USAGE(ll_compare_network(&made, ctx, data, data, NULL, NULL));
    ll_compare_options o = ll_compare_options_default();
    o.risk = INFINITY;
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    o = ll_compare_options_default();
    o.interval = NAN;
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    o = ll_compare_options_default();
    o.protocol = "none";
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    o = ll_compare_options_default();
    o.temperature = "some";
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    ll_fit_options fit = ll_fit_options_default();
    o = ll_compare_options_default();
    fit.struct_size = 11;
    o.fit = &fit;
    USAGE(ll_compare(&made, ctx, data, data, head, &o));
    USAGE(ll_comparison_text(&text, ctx, NULL, LL_TEXT_PLAIN));
    SAME(ll_comparison_count(NULL) == 0 && !ll_comparison_row(NULL, 0) && !ll_comparison_recommendation(NULL));
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

static void pages_in_memory(void) {
    static const char *const names[] = {"a", NULL, "c"};
    ll_report_input one = {.predictions = predictions}, both = {.predictions = predictions, .file = "p.npz"};
    ll_report_input kind = {.predictions = predictions, .kind = LL_REPORT_LOGITS};
    ll_report_options o = ll_report_options_default();
    ll_array pixels = ll_array_view(z, LL_DTYPE_U8, 3, (const int64_t[]){GUEST_N, 2, 2}), few = pixels, real = good;
    char *text;
    USAGE(ll_report(NULL, NULL, ctx, &one, 1, NULL));
    USAGE(ll_report(&text, NULL, ctx, NULL, 1, NULL));
    MUTE(ll_report(&text, NULL, NULL, &one, 1, NULL));
    USAGE(ll_report(&text, NULL, ctx, &one, 17, NULL));
    USAGE(ll_report(&text, NULL, ctx, &both, 1, NULL));
    USAGE(ll_report(&text, NULL, ctx, &kind, 1, NULL));
    o.labels = "labels.npy";
    USAGE(ll_report(&text, NULL, ctx, &one, 1, &o));
    o.labels = NULL;
    o.class_list = names;
    o.class_count = 2;
    AS(LL_ERR_DATA, ll_report(&text, NULL, ctx, &one, 1, &o));
    o.class_count = GUEST_K;
    USAGE(ll_report(&text, NULL, ctx, &one, 1, &o));
    o.class_names = "names.txt";
    USAGE(ll_report(&text, NULL, ctx, &one, 1, &o));
    o = ll_report_options_default();
    few.shape[0]--;
    o.image_array = &few;
    AS(LL_ERR_DATA, ll_report(&text, NULL, ctx, &one, 1, &o));
    o.image_array = &real;
    AS(LL_ERR_DATA, ll_report(&text, NULL, ctx, &one, 1, &o));
    few.data = NULL;
    o.image_array = &few;
    USAGE(ll_report(&text, NULL, ctx, &one, 1, &o));
    o.image_array = &pixels;
    o.images = "images.npy";
    USAGE(ll_report(&text, NULL, ctx, &one, 1, &o));
    SAME(text == NULL);
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
    ll_fit_options fit = ll_fit_options_default();
    fit.burn_in = -1;
    o.fit = &fit;
    USAGE(ll_search(ctx, "store", &rows, &o));
    o = ll_search_options_default();
    o.by = "luck";
    USAGE(ll_search(ctx, "store", &rows, &o));
    USAGE(ll_results_read(NULL, ctx, "store"));
    USAGE(ll_results_read(&results, ctx, NULL));
    USAGE(ll_results_text(&text, ctx, NULL, NULL, NULL, LL_TEXT_PLAIN));
    SAME(ll_results_count(NULL) == 0 && !ll_results_trial(NULL, 0) && ll_results_best(NULL, NULL, NULL, NULL) == -1);
    SAME(!*ll_split_name((ll_split)9) && !*ll_split_name((ll_split)-1));
}

static void certificates(void) {
    ll_certificate *made = NULL, *kept = NULL;
    ll_certify_options nothing = ll_certify_options_default(), o = ll_certify_options_default();
    char *text;
    o.risk = 0.5;
    USAGE(ll_certify_predictions(NULL, ctx, predictions, NULL, &o));
    USAGE(ll_certify_predictions(&made, ctx, NULL, NULL, &o));
    USAGE(ll_certify_predictions(&made, ctx, predictions, NULL, &nothing));
    MUTE(ll_certify_predictions(&made, NULL, predictions, NULL, &o));
    fresh();
    must(ll_certify_predictions(&kept, ctx, predictions, NULL, &o), ctx);
    USAGE(ll_certificate_write(ctx, NULL, kept));
    USAGE(ll_certificate_write(ctx, "c.json", NULL));
    bool holds;
    USAGE(ll_certificate_verify(NULL, &holds, ctx, "c.json", predictions, NULL));
    USAGE(ll_certificate_verify(&text, NULL, ctx, "c.json", predictions, NULL));
    USAGE(ll_certificate_verify(&text, &holds, ctx, NULL, predictions, NULL));
    USAGE(ll_certificate_verify(&text, &holds, ctx, "c.json", NULL, NULL));
    AS(LL_ERR_READ, ll_certificate_verify(&text, &holds, ctx, "no such file", predictions, NULL));
    USAGE(ll_ensemble_set_certificate(ctx, NULL, kept));
    USAGE(ll_ensemble_set_certificate(ctx, ensemble, NULL));
    AS(LL_ERR_DATA, ll_ensemble_set_certificate(ctx, ensemble, kept)); /* of outputs of nobody knows whom */
    USAGE(ll_ensemble_set_class_names(ctx, NULL, "names.txt"));
    USAGE(ll_ensemble_set_class_names(ctx, ensemble, NULL));
    AS(LL_ERR_READ, ll_ensemble_set_class_names(ctx, ensemble, "no such file"));
    USAGE(ll_answers_text(NULL, ctx, ensemble, predictions, LL_CONFIDENCE_SR));
    USAGE(ll_answers_text(&text, ctx, NULL, predictions, LL_CONFIDENCE_SR));
    USAGE(ll_answers_text(&text, ctx, ensemble, NULL, LL_CONFIDENCE_SR));
    USAGE(ll_answers_text(&text, ctx, ensemble, predictions, (ll_confidence)-1));
    USAGE(ll_answers_text(&text, ctx, ensemble, predictions, (ll_confidence)99));
    SAME(!ll_ensemble_certificate(NULL) && !ll_ensemble_certificate(ensemble) && !ll_ensemble_promise(NULL) && !ll_certificate_view(NULL) &&
         !ll_certificate_class(NULL, 0) && !ll_certificate_class(kept, 0));
    ll_certificate_free(kept);
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
    contrasts();
    rules();
    sets();
    comparisons();
    pages();
    pages_in_memory();
    searches();
    certificates();
    order();
    return abuse_end();
}
