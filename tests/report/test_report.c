/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <jansson.h>
#include <math.h>

#include "report/comparison_text.h"
#include "report/table.h"

/* An evaluation with every member set to something recognisable; confidences up to hq exist. */
static ll_evaluation *make_evaluation(bool ood) {
    ll_evaluation *e = calloc(1, sizeof *e);
    assert_non_null(e);
    *e = (ll_evaluation){
        .n = 1000,
        .errors = 64,
        .classes = 10,
        .accuracy = 0.936,
        .nll = 0.25706,
        .brier = 0.10545,
        .ece = 0.039907,
        .mce = 0.28608,
        .cost = NAN,
        .bins = 2,
        .has_ood = ood,
        .n_out = 250,
        .base_rate = 0.8,
        .min_aurc = 0.00625,
        .majority_accuracy = NAN,
        .ece_p = 0.25,
        .rules = {.bins = 10, .edges = "left", .aupr = "step", .classifier = "mean", .compat = "none", .interval = 0.9, .risk = 0.02}};
    static ll_bin bins[2];
    e->bin = bins;
    e->bin[0] = (ll_bin){.lo = 0, .hi = 0.5, .n = 0, .accuracy = NAN, .confidence = NAN};
    e->bin[1] = (ll_bin){.lo = 0.5, .hi = 1, .n = 1000, .accuracy = 0.936, .confidence = 0.975};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        e->selective[c] = (ll_selective){NAN, NAN, NAN, NAN, NAN, NAN, NAN, false};
        e->ood[c] = (ll_ood){NAN, NAN, NAN, NAN};
        e->coverage_at_risk[c] = NAN;
    }
    ll_interval *all = (ll_interval *)&e->intervals;
    for (size_t i = 0; i < sizeof e->intervals / sizeof *all; i++)
        all[i] = (ll_interval){NAN, NAN};
    e->intervals.accuracy = (ll_interval){0.92, 0.95};
    for (int c = 0; c <= LL_CONFIDENCE_HQ; c++) {
        double x = 0.00625 * (1 + c);
        e->selective[c] = (ll_selective){x, x / 2, x, x * 2, x / 4, x / 8, 0.9375, c == LL_CONFIDENCE_HQ};
        e->coverage_at_risk[c] = 0.75;
        e->intervals.aurc[c] = (ll_interval){x / 2, x * 2};
        if (ood) {
            e->ood[c] = (ll_ood){0.875, 0.75, 0.625, 0.5};
            e->intervals.ood_fpr95[c] = (ll_interval){0.375, 0.625};
        }
    }
    return e;
}

static char *text_of(ll_context *ctx, const ll_evaluation *e, ll_text_form form) {
    char *text;
    CHECK_OK(ctx, ll_evaluation_text(&text, ctx, e, form));
    assert_non_null(text);
    return text;
}

static json_t *json_of(ll_context *ctx, const ll_evaluation *e) {
    char *text = text_of(ctx, e, LL_TEXT_JSON);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s\n%s", error.line, error.text, text);
    ll_text_free(text);
    return root;
}

static double number(json_t *root, const char *key) {
    json_t *value = json_object_get(root, key);
    if (!json_is_number(value))
        fail_msg("%s is no number", key);
    return json_number_value(value);
}

static void one_value_per_confidence(json_t *object) {
    assert_int_equal(json_object_size(object), LL_CONFIDENCE_COUNT);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        assert_non_null(json_object_get(object, ll_confidence_name(c)));
}

static void json_has_every_key(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_evaluation *e = make_evaluation(true);
    json_t *root = json_of(ctx, e);
    assert_int_equal(json_integer_value(json_object_get(root, "n")), 1000);
    assert_int_equal(json_integer_value(json_object_get(root, "errors")), 64);
    const struct {
        const char *key;
        double value;
    } scores[] = {{"accuracy", e->accuracy}, {"nll", e->nll}, {"brier", e->brier},
                  {"ece", e->ece},           {"mce", e->mce}, {"min_aurc", e->min_aurc}};
    for (size_t i = 0; i < LLI_COUNT(scores); i++)
        assert_true(number(root, scores[i].key) == scores[i].value); /* 17 digits read back as the same double */
    json_t *bins = json_object_get(root, "bins");
    assert_int_equal(json_array_size(bins), 2);
    assert_true(json_is_null(json_object_get(json_array_get(bins, 0), "accuracy")));
    assert_true(number(json_array_get(bins, 1), "confidence") == 0.975 && number(json_array_get(bins, 1), "n") == 1000);
    assert_true(number(json_array_get(bins, 1), "lo") == 0.5 && number(json_array_get(bins, 1), "hi") == 1);
    static const char *const maps[] = {"aurc", "aurc_band", "eaurc", "augrc", "failure_auroc"};
    for (size_t i = 0; i < LLI_COUNT(maps); i++)
        one_value_per_confidence(json_object_get(root, maps[i]));
    assert_true(number(json_object_get(root, "aurc"), "std") == e->selective[LL_CONFIDENCE_STD].aurc);
    assert_true(number(json_object_get(root, "augrc"), "hq") == e->selective[LL_CONFIDENCE_HQ].augrc);
    assert_true(number(json_object_get(root, "eaurc"), "sr") == e->selective[LL_CONFIDENCE_SR].eaurc);
    assert_true(json_is_null(json_object_get(json_object_get(root, "aurc"), "mi")));
    json_t *band = json_object_get(root, "aurc_band");
    assert_true(json_is_null(json_object_get(band, "sr")));
    assert_true(number(json_object_get(band, "hq"), "best") == e->selective[LL_CONFIDENCE_HQ].best);
    assert_true(number(json_object_get(band, "hq"), "worst") == e->selective[LL_CONFIDENCE_HQ].worst);
    assert_true(number(json_object_get(band, "hq"), "expected") == e->selective[LL_CONFIDENCE_HQ].expected);
    json_t *ood = json_object_get(root, "ood");
    static const char *const detection[] = {"auroc", "aupr_in", "aupr_out", "fpr95"};
    for (size_t i = 0; i < LLI_COUNT(detection); i++) {
        one_value_per_confidence(json_object_get(ood, detection[i]));
        assert_true(number(json_object_get(ood, detection[i]), "sr") == 0.875 - 0.125 * (double)i);
    }
    assert_true(number(ood, "base_rate") == 0.8);
    json_t *intervals = json_object_get(root, "intervals"), *pair = json_object_get(intervals, "accuracy");
    assert_true(json_real_value(json_array_get(pair, 0)) == 0.92 && json_real_value(json_array_get(pair, 1)) == 0.95);
    pair = json_object_get(json_object_get(intervals, "aurc"), "std");
    assert_true(json_real_value(json_array_get(pair, 0)) == 0.00625 && json_real_value(json_array_get(pair, 1)) == 0.025);
    pair = json_object_get(json_object_get(json_object_get(intervals, "ood"), "fpr95"), "hq");
    assert_true(json_real_value(json_array_get(pair, 0)) == 0.375 && json_real_value(json_array_get(pair, 1)) == 0.625);
    assert_true(json_is_null(json_object_get(intervals, "mce")) && json_is_null(json_object_get(json_object_get(intervals, "aurc"), "mi")));
    assert_true(number(json_object_get(root, "calibration"), "ece_p") == 0.25);
    assert_true(json_is_null(json_object_get(root, "majority")) && json_is_null(json_object_get(root, "per_class")));
    assert_null(json_object_get(root, "cost"));
    json_decref(root);
    free(e);
    ll_context_free(ctx);
}

/* Every metric has its rule, and the rules follow the options. */
static void rules_follow_the_options(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_evaluation *e = make_evaluation(true);
    json_t *root = json_of(ctx, e), *rules = json_object_get(root, "rules");
    static const char *const keys[] = {
        "accuracy", "nll",   "brier",   "ece",      "mce",   "aurc",      "aurc_band",        "eaurc", "augrc",       "failure_auroc",
        "min_aurc", "auroc", "aupr_in", "aupr_out", "fpr95", "base_rate", "coverage_at_risk", "ece_p", "l2_debiased", "intervals"};
    assert_int_equal(json_object_size(rules), LLI_COUNT(keys));
    for (size_t i = 0; i < LLI_COUNT(keys); i++)
        assert_true(json_string_length(json_object_get(rules, keys[i])) > 10);
    assert_non_null(
        strstr(json_string_value(json_object_get(rules, "aupr_in")), "in-distribution points positive; average precision (step"));
    assert_non_null(strstr(json_string_value(json_object_get(rules, "ece")), "10 equal-width bins [a,b) of sr, the last closed at 1"));
    json_decref(root);

    e->cost = 1.25;
    e->rules.edges = "mass";
    e->rules.compat = "brosse";
    root = json_of(ctx, e);
    rules = json_object_get(root, "rules");
    assert_true(number(root, "cost") == 1.25);
    assert_non_null(strstr(json_string_value(json_object_get(rules, "accuracy")), "least expected cost"));
    assert_non_null(strstr(json_string_value(json_object_get(rules, "ece")),
                           "equally many points by sr, ties kept together, points with sr = 1 in no bin"));
    assert_non_null(strstr(json_string_value(json_object_get(rules, "aupr_out")),
                           "out-of-distribution points positive; trapezoids between thresholds, no anchor"));
    assert_non_null(strstr(json_string_value(json_object_get(rules, "aurc")), "votes"));
    assert_non_null(strstr(json_string_value(json_object_get(rules, "brier")), "divided by K"));
    assert_non_null(strstr(json_string_value(json_object_get(rules, "min_aurc")), "maxmin"));
    json_decref(root);

    e->has_ood = false;
    root = json_of(ctx, e);
    assert_true(json_is_null(json_object_get(root, "ood")));
    assert_null(json_object_get(json_object_get(root, "rules"), "fpr95"));
    json_decref(root);
    free(e);
    ll_context_free(ctx);
}

/* Undefined, infinite, tiny and huge numbers: never NaN, never broken JSON. */
static void hostile_values(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_evaluation *e = make_evaluation(true);
    e->nll = INFINITY;
    e->brier = NAN;
    e->ece = 5e-324;
    e->mce = 1.7976931348623157e308;
    e->bins = 0;
    e->classes = 0;
    e->min_aurc = NAN;
    e->selective[LL_CONFIDENCE_SR].failure_auroc = NAN;
    json_t *root = json_of(ctx, e);
    assert_true(json_is_null(json_object_get(root, "nll")) && json_is_null(json_object_get(root, "brier")));
    assert_true(number(root, "ece") == 5e-324 && number(root, "mce") == 1.7976931348623157e308);
    assert_int_equal(json_array_size(json_object_get(root, "bins")), 0);
    json_decref(root);
    for (ll_text_form form = LL_TEXT_PLAIN; form <= LL_TEXT_MARKDOWN; form++) {
        char *text = text_of(ctx, e, form);
        assert_null(strstr(text, "nan"));
        if (form != LL_TEXT_JSON)
            assert_non_null(strstr(text, "inf"));
        ll_text_free(text);
    }
    free(e);
    ll_context_free(ctx);
}

static void plain_text_is_one_screen(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_evaluation *e = make_evaluation(true);
    char *text = text_of(ctx, e, LL_TEXT_PLAIN);
    int lines = 0;
    for (const char *line = text; *line; lines++) {
        size_t length = strcspn(line, "\n");
        assert_true(length <= 110);
        line += length + 1;
    }
    assert_true(lines <= 75);
    assert_non_null(strstr(text, "1000 points, 64 errors, 10 classes\n"));
    assert_non_null(strstr(text, "      accuracy      NLL    Brier       ECE      MCE\n"
                                 "       0.93600  0.25706  0.10545  0.039907  0.28608\n[0.920, 0.950]  "));
    assert_non_null(strstr(text, "0.0062500  0.0015625  0.00078125        0.93750   0.75000\n            [0.0031, 0.0125]"));
    assert_non_null(strstr(text, "\nties  best AURC  expected"));
    assert_non_null(strstr(text, "not in these predictions: maxmin, entropy, mi, margin\n"));
    assert_non_null(strstr(text, "250 out-of-distribution points, base rate of the in-distribution points 0.80000\n"));
    assert_non_null(strstr(text, "\nsr          0.87500  0.75000   0.62500       0.50000\n"));
    assert_non_null(strstr(text, "  [0.38, 0.62]\n"));
    ll_text_free(text);

    text = text_of(ctx, e, LL_TEXT_MARKDOWN);
    assert_non_null(strstr(text, "| accuracy | NLL | Brier | ECE | MCE |\n|---:|---:|---:|---:|---:|\n| 0.93600 |"));
    assert_non_null(strstr(text, "\n- **AUROC**: "));
    ll_text_free(text);

    text = text_of(ctx, e, LL_TEXT_CSV);
    assert_true(strncmp(text, "metric,of,value,lo,hi\nn,,1000,,\nerrors,,64,,\naccuracy,,0.936,0.92,0.95\n", 70) == 0);
    assert_non_null(strstr(text, "\naurc,hq,0.018750000000000003,0.009375000000000001,0.037500000000000006\n"));
    assert_non_null(strstr(text, "\naurc,mi,,,\n"));
    assert_non_null(strstr(text, "\nbin_accuracy,0,,,\n"));
    assert_non_null(strstr(text, "\nood_fpr95,sr,0.5,0.375,0.625\n"));
    ll_text_free(text);
    free(e);
    ll_context_free(ctx);
}

static void tables_escape_and_align(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_table table;
    lli_table_init(&table, ctx, "lr");
    static const char *const cells[] = {"név", "x", "a|b", "1,5", "say \"so\"\n", ""};
    for (size_t i = 0; i < LLI_COUNT(cells); i++)
        lli_table_cell(&table, cells[i]);
    const char *expected[] = {
        [LL_TEXT_PLAIN] = "név           x\na|b         1,5\nsay \"so\"\\n     \n",
        [LL_TEXT_CSV] = "név,x\na|b,\"1,5\"\n\"say \"\"so\"\"\\n\",\n",
        [LL_TEXT_MARKDOWN] = "| név | x |\n|---|---:|\n| a\\|b | 1,5 |\n| say \"so\"\\\\n |  |\n",
    };
    static const ll_text_form forms[] = {LL_TEXT_PLAIN, LL_TEXT_CSV, LL_TEXT_MARKDOWN};
    for (size_t i = 0; i < LLI_COUNT(forms); i++) {
        lli_text out;
        char *text;
        lli_text_init(&out, ctx);
        lli_table_write(&table, &out, forms[i]);
        CHECK_OK(ctx, lli_text_take(&out, &text));
        assert_string_equal(text, expected[forms[i]]);
        ll_text_free(text);
    }
    lli_table_release(&table);
    ll_context_free(ctx);
}

static void numbers_for_people(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const struct {
        double x;
        const char *text;
    } known[] = {{0, "0"},
                 {1, "1.0000"},
                 {0.0066580231, "0.0066580"},
                 {-0.123456, "-0.12346"},
                 {1e-6, "0.0000010000"},
                 {9.9e-7, "9.9e-07"},
                 {123456, "123456"},
                 {12.5, "12.500"},
                 {NAN, "-"},
                 {-INFINITY, "-inf"}};
    for (size_t i = 0; i < LLI_COUNT(known); i++) {
        lli_text out;
        lli_text_init(&out, ctx);
        lli_table_number_text(&out, known[i].x);
        assert_string_equal(out.data, known[i].text);
        lli_text_release(&out);
    }
    ll_context_free(ctx);
}

enum { ROWS = 4 };

/* point, diverged sgd, sgld with a temperature, and a hostile name. */
static ll_comparison make_comparison(ll_evaluation own[ROWS], ll_compare_row rows[ROWS], lli_comparison_gap gaps[ROWS]) {
    static const char *const methods[ROWS] = {"point", "sgd", "sgld", "boot\"strap|"};
    ll_evaluation *e = make_evaluation(false);
    for (int i = 0; i < ROWS; i++) {
        rows[i] = (ll_compare_row){.method = methods[i],
                                   .name = methods[i],
                                   .group = i ? "samplers" : "point",
                                   .samples = i ? 100 : 1,
                                   .seconds_fit = 1.25 * i,
                                   .seconds_per_thousand = i == 1 ? NAN : 0.5,
                                   .bytes = i == 3 ? 1234567 : 640,
                                   .diverged = i == 1};
        own[i] = *e;
        rows[i].evaluation = &own[i];
        rows[i].temperature = i == 2 ? 1.5 : NAN;
        rows[i].threshold[LL_CONFIDENCE_SR] = (ll_threshold){0.9 + 0.01 * i, 0.7, 0.01, 700, 7, 1000, 64, true};
        for (int m = 0; m < LL_METRIC_COUNT; m++) {
            gaps[i].of[m] = (ll_difference){-0.001, {-0.003, 0.001}, 0.4, 0.4, NULL, m != LL_METRIC_ACCURACY};
            gaps[i].of[m].p_adjusted = 0.8;
        }
    }
    gaps[2].of[LL_METRIC_NLL].p_adjusted = 0.01;
    gaps[3].of[LL_METRIC_ACCURACY].p_adjusted = 0.02;
    free(e);
    return (ll_comparison){.count = ROWS,
                           .rows = rows,
                           .evaluations = own,
                           .differences = gaps,
                           .risk = 0.01,
                           .level = 0.95,
                           .from = LLI_CHOOSING_APART,
                           .choosing = 500,
                           .recommendation = {.row = 2,
                                              .best = 3,
                                              .criterion = "coverage_at_risk",
                                              .value = 0.7,
                                              .best_value = 0.71,
                                              .difference = -0.01,
                                              .interval = {-0.02, 0.005},
                                              .n = 500}};
}

static void comparison_recommends_a_method(void **state) {
    (void)state;
    static ll_evaluation own[ROWS];
    ll_compare_row rows[ROWS];
    lli_comparison_gap gaps[ROWS];
    ll_context *ctx = check_context(1);
    ll_comparison c = make_comparison(own, rows, gaps);
    char *text;
    CHECK_OK(ctx, ll_comparison_text(&text, ctx, &c, LL_TEXT_PLAIN));
    assert_non_null(strstr(text, "diverged"));
    assert_non_null(strstr(text, "1.25       -   640 B\n"));
    assert_non_null(strstr(text, "3.75     0.5  1.2 MB\n"));
    char *group = strstr(text, "samplers"); /* once, where it begins */
    assert_true(group && strstr(text, "sgd") > group && !strstr(group + 1, "samplers"));
    assert_non_null(strstr(text, "-0.001 better"));
    assert_non_null(strstr(text, "-0.001 worse"));
    assert_non_null(strstr(text, "-0.001 within noise"));
    assert_non_null(strstr(text, "Recommended: sgld+T. On the 500 rows that chose (validation) its coverage at a risk of 1 %, 0.70000, is "
                                 "within noise of the best, boot\"strap| with 0.71000 (difference -0.01, 95 % interval -0.02 to 0.005), "
                                 "and it is "
                                 "the simplest of those.\nFor a risk of at most 1 %: answer when sr >= 0.92 and abstain"));
    assert_non_null(strstr(text, "answers 70.00 % of the points (700 of 1000) and is wrong on 1.00 % of those (7)."));
    ll_text_free(text);
    CHECK_OK(ctx, ll_comparison_text(&text, ctx, &c, LL_TEXT_CSV));
    assert_non_null(strstr(text, "\nsamplers,sgd,100,,diverged,,,,,,,,1.25,,640,,,\n"));
    assert_non_null(strstr(text, "\nsamplers,sgld+T,100,1.5,0.936,"));
    ll_text_free(text);
    CHECK_OK(ctx, ll_comparison_text(&text, ctx, &c, LL_TEXT_JSON));
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *methods = json_object_get(root, "methods"), *chosen = json_object_get(root, "recommendation");
    assert_int_equal(json_array_size(methods), ROWS);
    assert_true(json_is_true(json_object_get(json_array_get(methods, 1), "diverged")));
    assert_true(json_is_null(json_object_get(json_array_get(methods, 1), "evaluation")));
    assert_true(json_is_null(json_object_get(json_array_get(methods, 0), "difference")));
    json_t *last = json_array_get(methods, 3);
    assert_string_equal(json_string_value(json_object_get(last, "group")), "samplers");
    assert_true(number(last, "bytes") == 1234567 && number(last, "seconds_per_thousand") == 0.5 && number(last, "seconds_fit") == 3.75);
    assert_true(json_is_null(json_object_get(json_array_get(methods, 1), "seconds_per_thousand")));
    json_t *nll = json_object_get(json_object_get(json_array_get(methods, 2), "difference"), "nll");
    assert_string_equal(json_string_value(json_object_get(nll, "word")), "better");
    assert_true(number(nll, "p") == 0.4 && number(nll, "p_holm") == 0.01);
    assert_true(number(json_object_get(json_array_get(methods, 0), "evaluation"), "accuracy") == 0.936);
    assert_string_equal(json_string_value(json_object_get(chosen, "name")), "sgld+T");
    assert_string_equal(json_string_value(json_object_get(chosen, "best")), "boot\"strap|");
    assert_string_equal(json_string_value(json_object_get(chosen, "criterion")), "coverage_at_risk");
    assert_non_null(strstr(json_string_value(json_object_get(chosen, "text")), "Recommended: sgld+T. On the 500 rows"));
    assert_true(number(json_object_get(chosen, "threshold"), "cut") == 0.92);
    json_decref(root);
    ll_text_free(text);
    c.recommendation.best = 2;
    c.from = LLI_CHOOSING_SAME;
    CHECK_OK(ctx, ll_comparison_text(&text, ctx, &c, LL_TEXT_MARKDOWN));
    assert_non_null(strstr(text, "is the best, and what is simpler is worse."));
    assert_non_null(strstr(text, "chosen and measured on the same points"));
    ll_text_free(text);
    ll_context_free(ctx);
}

static void memory_may_run_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_evaluation *e = make_evaluation(true);
    for (ll_text_form form = LL_TEXT_PLAIN; form <= LL_TEXT_MARKDOWN; form++) {
        int failures = 0;
        for (int64_t n = 1;; n++, failures++) {
            char *text;
            lli_memory_fail_at(ctx, n);
            ll_status status = ll_evaluation_text(&text, ctx, e, form);
            if (status == LL_OK) {
                ll_text_free(text);
                break;
            }
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_null(text);
        }
        assert_true(failures >= 5);
        lli_memory_fail_at(ctx, 0);
    }
    free(e);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_key),
        cmocka_unit_test(rules_follow_the_options),
        cmocka_unit_test(hostile_values),
        cmocka_unit_test(plain_text_is_one_screen),
        cmocka_unit_test(tables_escape_and_align),
        cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(comparison_recommends_a_method),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
