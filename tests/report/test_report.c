/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <jansson.h>
#include <math.h>

#include "report/compare.h"
#include "report/table.h"

/* An evaluation with every member set to something recognisable; confidences up to hq exist. */
static ll_evaluation *make_evaluation(bool ood) {
    ll_evaluation *e = calloc(1, sizeof *e);
    assert_non_null(e);
    *e = (ll_evaluation){.n = 1000,
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
                         .rules = {.bins = 10, .edges = "left", .aupr = "step", .classifier = "mean", .compat = "none"}};
    e->bin[0] = (ll_bin){.lo = 0, .hi = 0.5, .n = 0, .accuracy = NAN, .confidence = NAN};
    e->bin[1] = (ll_bin){.lo = 0.5, .hi = 1, .n = 1000, .accuracy = 0.936, .confidence = 0.975};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        e->selective[c] = (ll_selective){NAN, NAN, NAN, NAN, NAN, NAN, NAN, false};
        e->ood[c] = (ll_ood){NAN, NAN, NAN, NAN};
    }
    for (int c = 0; c <= LL_CONFIDENCE_HQ; c++) {
        double x = 0.00625 * (1 + c);
        e->selective[c] = (ll_selective){x, x / 2, x, x * 2, x / 4, x / 8, 0.9375, c == LL_CONFIDENCE_HQ};
        if (ood)
            e->ood[c] = (ll_ood){0.875, 0.75, 0.625, 0.5};
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
    static const char *const keys[] = {"accuracy", "nll", "brier", "ece", "mce", "aurc", "aurc_band", "eaurc", "augrc", "failure_auroc",
                                       "min_aurc", "auroc", "aupr_in", "aupr_out", "fpr95", "base_rate"};
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
    assert_true(lines <= 50);
    assert_non_null(strstr(text, "1000 points, 64 errors, 10 classes\n"));
    assert_non_null(strstr(text, "accuracy      NLL    Brier       ECE      MCE\n 0.93600  0.25706  0.10545  0.039907  0.28608\n"));
    assert_non_null(strstr(text, "\nsr          0.0062500  0.0015625  0.00078125        0.93750           -         -         -\n"));
    assert_non_null(strstr(text, "not in these predictions: maxmin, entropy, mi, margin\n"));
    assert_non_null(strstr(text, "250 out-of-distribution points, base rate of the in-distribution points 0.80000\n"));
    assert_non_null(strstr(text, "\nsr          0.87500  0.75000   0.62500  0.50000\n"));
    ll_text_free(text);

    text = text_of(ctx, e, LL_TEXT_MARKDOWN);
    assert_non_null(strstr(text, "| accuracy | NLL | Brier | ECE | MCE |\n|---:|---:|---:|---:|---:|\n| 0.93600 |"));
    assert_non_null(strstr(text, "\n- **AUROC**: "));
    ll_text_free(text);

    text = text_of(ctx, e, LL_TEXT_CSV);
    assert_true(strncmp(text, "metric,of,value\nn,,1000\nerrors,,64\naccuracy,,0.936\n", 50) == 0);
    assert_non_null(strstr(text, "\naurc,hq,0.018750000000000003\n"));
    assert_non_null(strstr(text, "\naurc,mi,\n"));
    assert_non_null(strstr(text, "\nbin_accuracy,0,\n"));
    assert_non_null(strstr(text, "\nood_fpr95,sr,0.5\n"));
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
    } known[] = {{0, "0"}, {1, "1.0000"}, {0.0066580231, "0.0066580"}, {-0.123456, "-0.12346"}, {1e-6, "0.0000010000"}, {9.9e-7, "9.9e-07"},
                 {123456, "123456"}, {12.5, "12.500"}, {NAN, "-"}, {-INFINITY, "-inf"}};
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

static ll_compare_row *make_rows(void) {
    static const char *const methods[ROWS] = {"point", "sgd", "sgld", "boot\"strap|"};
    static ll_evaluation own[ROWS];
    ll_compare_row *rows = calloc(ROWS, sizeof *rows);
    ll_evaluation *e = make_evaluation(false);
    assert_non_null(rows);
    for (int i = 0; i < ROWS; i++) {
        rows[i] = (ll_compare_row){.method = methods[i], .samples = i ? 100 : 1, .seconds_fit = 1.25 * i, .diverged = i == 1};
        own[i] = *e;
        own[i].min_aurc /= i == 3 ? 2 : 1; /* a tie in coverage is broken by AURC */
        rows[i].evaluation = &own[i];
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
            rows[i].threshold[c] = (ll_threshold){.cut = NAN, .risk = NAN, .n = 1000, .errors = 64};
        int accepted = 800 + 50 * i;
        rows[i].threshold[LL_CONFIDENCE_SR] = (ll_threshold){0.9, 0.7, 0.01, 700, 7, 1000, 64, true};
        rows[i].threshold[LL_CONFIDENCE_STD] = (ll_threshold){
            -0.012345678901234, accepted / 1000.0, 0.01, accepted, accepted / 100, 1000, 64, true};
    }
    rows[1].threshold[LL_CONFIDENCE_STD].coverage = 1; /* must not count: it diverged */
    rows[2].threshold[LL_CONFIDENCE_STD] = rows[3].threshold[LL_CONFIDENCE_STD];
    free(e);
    return rows;
}

static void comparison_suggests_a_method(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_compare_row *rows = make_rows();
    char *text;
    assert_int_equal(lli_compare_best(&rows[0]), LL_CONFIDENCE_STD);
    assert_int_equal(lli_compare_suggest(rows, ROWS), 3);
    assert_int_equal(lli_compare_suggest(rows, 3), 2);
    assert_int_equal(lli_compare_suggest(rows + 1, 1), -1);
    CHECK_OK(ctx, lli_compare_text(&text, ctx, rows, 3, 0.01, LL_TEXT_PLAIN));
    assert_non_null(strstr(text, "\nsgd     100  diverged        -"));
    assert_non_null(strstr(text, "risk of at most 1 %: sgld, answer when std >= -0.012345678901234 and abstain otherwise."));
    assert_non_null(strstr(text, "answers 95.00 % of the points (950 of 1000) and is wrong on 1.00 % of those (9)."));
    assert_non_null(strstr(text, "chosen and measured on the same points"));
    ll_text_free(text);
    CHECK_OK(ctx, lli_compare_text(&text, ctx, rows + 1, 1, 0.01, LL_TEXT_MARKDOWN));
    assert_non_null(strstr(text, "No method reaches a risk of 1 %"));
    ll_text_free(text);
    CHECK_OK(ctx, lli_compare_text(&text, ctx, rows, ROWS, 0.01, LL_TEXT_CSV));
    assert_non_null(strstr(text, "\nsgd,100,diverged,,,,,,,,,,,,\n"));
    assert_non_null(strstr(text, "\n\"boot\"\"strap|\",100,0.936,"));
    ll_text_free(text);
    CHECK_OK(ctx, lli_compare_text(&text, ctx, rows, ROWS, 0.01, LL_TEXT_JSON));
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *methods = json_object_get(root, "methods"), *suggestion = json_object_get(root, "suggestion");
    assert_int_equal(json_array_size(methods), ROWS);
    assert_true(json_is_true(json_object_get(json_array_get(methods, 1), "diverged")));
    assert_true(json_is_null(json_object_get(json_array_get(methods, 1), "evaluation")));
    assert_true(number(json_object_get(json_array_get(methods, 0), "evaluation"), "accuracy") == 0.936);
    assert_string_equal(json_string_value(json_object_get(suggestion, "method")), "boot\"strap|");
    assert_true(number(json_object_get(suggestion, "threshold"), "cut") == -0.012345678901234);
    json_decref(root);
    ll_text_free(text);
    free(rows);
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
        cmocka_unit_test(json_has_every_key),       cmocka_unit_test(rules_follow_the_options),     cmocka_unit_test(hostile_values),
        cmocka_unit_test(plain_text_is_one_screen), cmocka_unit_test(tables_escape_and_align),      cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(comparison_suggests_a_method), cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
