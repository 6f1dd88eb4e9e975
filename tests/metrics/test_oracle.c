/* SPDX-License-Identifier: MIT */
/* Against scikit-learn and brute-force numpy: tests/oracle/metrics.py wrote the fixture. */
#include "metrics/sample.h"

#include <jansson.h>
#include <math.h>

#include "metrics/evaluate.h"

static const double EXACT = 1e-13;

static const struct {
    const char *name;
    ll_confidence c;
} by[] = {{"sr", LL_CONFIDENCE_SR}, {"std", LL_CONFIDENCE_STD}, {"hq", LL_CONFIDENCE_HQ}};

static json_t *fixture(void) {
    char path[4096];
    const char *source = getenv("LASTLAYER_SOURCE");
    snprintf(path, sizeof path, "%s/tests/fixtures/metrics.json", source ? source : ".");
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

/* The value under a path of keys; the path must exist. */
static json_t *at(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value)
        fail_msg("the fixture has no %s", key);
    return value;
}

static double real_at(json_t *object, const char *key) {
    json_t *value = at(object, key);
    return json_is_null(value) ? NAN : json_number_value(value);
}

static double *reals(json_t *array) {
    double *out = sample_zeros((int64_t)json_array_size(array), 8);
    for (size_t i = 0; i < json_array_size(array); i++)
        out[i] = json_number_value(json_array_get(array, i));
    return out;
}

static void classes(int32_t *out, json_t *array) {
    for (size_t i = 0; i < json_array_size(array); i++)
        out[i] = (int32_t)json_integer_value(json_array_get(array, i));
}

static sample case_points(json_t *c) {
    sample s = sample_new(json_integer_value(at(c, "n")), json_integer_value(at(c, "K")));
    classes(s.truth, at(c, "truth"));
    classes(s.label, at(c, "label"));
    classes(s.vote, at(c, "vote"));
    s.probs = reals(at(c, "probs"));
    for (size_t i = 0; i < LLI_COUNT(by); i++)
        s.confidence[by[i].c] = reals(at(at(c, "confidence"), by[i].name));
    return s;
}

static sample case_out(json_t *c) {
    sample s = sample_new(json_integer_value(at(c, "n_out")), 0);
    for (size_t i = 0; i < LLI_COUNT(by); i++)
        s.confidence[by[i].c] = reals(at(at(c, "out"), by[i].name));
    return s;
}

static void near_or_undefined(double ours, double theirs) {
    if (isnan(theirs))
        assert_true(isnan(ours));
    else
        CHECK_NEAR(ours, theirs, EXACT);
}

static void selective_agrees(const ll_selective *ours, json_t *theirs) {
    CHECK_NEAR(ours->aurc, real_at(theirs, "aurc"), EXACT);
    CHECK_NEAR(ours->best, real_at(theirs, "best"), EXACT);
    CHECK_NEAR(ours->worst, real_at(theirs, "worst"), EXACT);
    CHECK_NEAR(ours->eaurc, real_at(theirs, "eaurc"), EXACT);
    CHECK_NEAR(ours->augrc, real_at(theirs, "augrc"), EXACT);
    near_or_undefined(ours->failure_auroc, real_at(theirs, "failure_auroc"));
    assert_int_equal(ours->ties, json_is_true(at(theirs, "ties")));
    if (!json_is_null(at(theirs, "expected")))
        CHECK_NEAR(ours->expected, real_at(theirs, "expected"), EXACT);
}

/* One evaluation of a case with options of its own. */
typedef struct setting {
    ll_context *ctx;
    ll_evaluation *e;
    ll_outcome points, out;
    json_t *c, *expect;
} setting;

static void defaults_agree(setting *t) {
    CHECK_OK(t->ctx, lli_evaluate(t->e, t->ctx, &t->points, &t->out, NULL, NULL));
    assert_int_equal(t->e->errors, json_integer_value(at(t->expect, "errors")));
    CHECK_NEAR(t->e->accuracy, 1 - (double)t->e->errors / (double)t->e->n, EXACT);
    CHECK_NEAR(t->e->nll, real_at(t->expect, "nll"), EXACT);
    CHECK_NEAR(t->e->brier, real_at(t->expect, "brier"), EXACT);
    CHECK_NEAR(t->e->base_rate, real_at(t->expect, "base_rate"), EXACT);
    double least = INFINITY;
    for (size_t i = 0; i < LLI_COUNT(by); i++) {
        json_t *ood = at(at(t->expect, "ood"), by[i].name);
        const ll_ood *ours = &t->e->ood[by[i].c];
        selective_agrees(&t->e->selective[by[i].c], at(at(t->expect, "selective"), by[i].name));
        CHECK_NEAR(ours->auroc, real_at(ood, "auroc"), EXACT);
        CHECK_NEAR(ours->fpr95, real_at(ood, "fpr95"), EXACT);
        CHECK_NEAR(ours->aupr_in, real_at(at(ood, "aupr_in"), "step"), EXACT);
        CHECK_NEAR(ours->aupr_out, real_at(at(ood, "aupr_out"), "step"), EXACT);
        least = fmin(least, t->e->selective[by[i].c].aurc);
    }
    assert_true(t->e->min_aurc == least);
    assert_true(isnan(t->e->selective[LL_CONFIDENCE_MI].aurc) && isnan(t->e->ood[LL_CONFIDENCE_MI].auroc));
}

static void bins_agree(setting *t) {
    size_t i;
    json_t *theirs;
    json_array_foreach(at(t->expect, "calibration"), i, theirs) {
        ll_evaluate_options options = ll_evaluate_options_default();
        options.bins = json_integer_value(at(theirs, "m"));
        options.edges = json_string_value(at(theirs, "edges"));
        options.compat = json_is_true(at(theirs, "drop_one")) ? "brosse" : "none";
        CHECK_OK(t->ctx, lli_evaluate(t->e, t->ctx, &t->points, NULL, &options, NULL));
        CHECK_NEAR(t->e->ece, real_at(theirs, "ece"), EXACT);
        CHECK_NEAR(t->e->mce, real_at(theirs, "mce"), EXACT);
        json_t *count = at(theirs, "count");
        assert_int_equal(t->e->bins, json_array_size(count));
        for (int64_t j = 0; j < t->e->bins; j++)
            assert_int_equal(t->e->bin[j].n, json_integer_value(json_array_get(count, (size_t)j)));
    }
}

static void variants_agree(setting *t) {
    ll_evaluate_options options = ll_evaluate_options_default();
    options.aupr = "trapezoid";
    options.classifier = "votes";
    CHECK_OK(t->ctx, lli_evaluate(t->e, t->ctx, &t->points, &t->out, &options, NULL));
    for (size_t i = 0; i < LLI_COUNT(by); i++) {
        json_t *ood = at(at(t->expect, "ood"), by[i].name);
        selective_agrees(&t->e->selective[by[i].c], at(at(t->expect, "votes"), by[i].name));
        CHECK_NEAR(t->e->ood[by[i].c].aupr_in, real_at(at(ood, "aupr_in"), "trapezoid"), EXACT);
        CHECK_NEAR(t->e->ood[by[i].c].aupr_out, real_at(at(ood, "aupr_out"), "trapezoid"), EXACT);
    }
    double *costs = reals(at(t->c, "costs"));
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){t->points.classes, t->points.classes});
    CHECK_OK(t->ctx, lli_evaluate(t->e, t->ctx, &t->points, NULL, NULL, &matrix));
    CHECK_NEAR(t->e->cost, real_at(t->expect, "cost"), EXACT);
    assert_int_equal(t->e->errors, json_integer_value(at(t->expect, "cost_errors")));
    free(costs);
}

/* The conventions of the paper's code: hq by votes, ties in expectation, Brier over K, bare trapezoids. */
static void brosse_agrees(setting *t) {
    ll_evaluate_options options = ll_evaluate_options_default();
    options.compat = "brosse";
    CHECK_OK(t->ctx, lli_evaluate(t->e, t->ctx, &t->points, &t->out, &options, NULL));
    CHECK_NEAR(t->e->brier, real_at(t->expect, "brier") / (double)t->points.classes, EXACT);
    for (size_t i = 0; i < LLI_COUNT(by); i++) {
        json_t *ood = at(at(t->expect, "ood"), by[i].name);
        json_t *errors_of = at(t->expect, by[i].c == LL_CONFIDENCE_HQ ? "votes" : "selective");
        json_t *theirs = at(errors_of, by[i].name);
        const ll_selective *ours = &t->e->selective[by[i].c];
        assert_true(ours->aurc == ours->expected);
        CHECK_NEAR(ours->best, real_at(theirs, "best"), EXACT);
        CHECK_NEAR(ours->augrc, real_at(theirs, "augrc"), EXACT);
        if (!json_is_null(at(theirs, "expected")))
            CHECK_NEAR(ours->aurc, real_at(theirs, "expected"), EXACT);
        CHECK_NEAR(t->e->ood[by[i].c].aupr_in, real_at(at(ood, "aupr_in"), "bare"), EXACT);
        CHECK_NEAR(t->e->ood[by[i].c].aupr_out, real_at(at(ood, "aupr_out"), "bare"), EXACT);
    }
}

static void threshold_is(const ll_threshold *ours, json_t *row, const ll_outcome *points) {
    bool found = !json_is_null(json_array_get(row, 1));
    assert_int_equal(ours->found, found);
    assert_int_equal(ours->n, points->n);
    if (!found) {
        assert_true(isnan(ours->cut) && ours->coverage == 0 && ours->accepted == 0);
        return;
    }
    CHECK_NEAR(ours->coverage, json_number_value(json_array_get(row, 1)), EXACT);
    CHECK_NEAR(ours->risk, json_number_value(json_array_get(row, 2)), EXACT);
    assert_true(ours->cut == json_number_value(json_array_get(row, 3)));
    CHECK_NEAR((double)ours->accepted_errors, ours->risk * (double)ours->accepted, 1e-9);
}

static void thresholds_agree(setting *t) {
    for (size_t i = 0; i < LLI_COUNT(by); i++) {
        json_t *theirs = at(at(t->expect, "thresholds"), by[i].name), *row;
        ll_threshold ours;
        size_t j;
        json_array_foreach(at(theirs, "at_risk"), j, row) {
            CHECK_OK(t->ctx, ll_threshold_at_risk(&ours, t->ctx, &t->points, by[i].c, json_number_value(json_array_get(row, 0))));
            threshold_is(&ours, row, &t->points);
        }
        json_array_foreach(at(theirs, "at_coverage"), j, row) {
            CHECK_OK(t->ctx, ll_threshold_at_coverage(&ours, t->ctx, &t->points, by[i].c, json_number_value(json_array_get(row, 0))));
            threshold_is(&ours, row, &t->points);
        }
    }
}

static void for_each_case(void (*agree)(setting *)) {
    json_t *root = fixture(), *c;
    ll_evaluation *e = sample_evaluation();
    size_t i;
    assert_true(json_array_size(at(root, "cases")) >= 6);
    json_array_foreach(at(root, "cases"), i, c) {
        sample points = case_points(c), out = case_out(c);
        setting t = {
            .ctx = check_context(2), .e = e, .points = sample_view(&points), .out = sample_view(&out), .c = c, .expect = at(c, "expect")};
        agree(&t);
        ll_context_free(t.ctx);
        sample_free(&points);
        sample_free(&out);
    }
    sample_evaluation_free(e);
    json_decref(root);
}

static void defaults(void **state) {
    (void)state;
    for_each_case(defaults_agree);
}

static void bins(void **state) {
    (void)state;
    for_each_case(bins_agree);
}

static void variants(void **state) {
    (void)state;
    for_each_case(variants_agree);
}

static void brosse(void **state) {
    (void)state;
    for_each_case(brosse_agrees);
}

static void thresholds(void **state) {
    (void)state;
    for_each_case(thresholds_agree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(bins),       cmocka_unit_test(variants),
        cmocka_unit_test(brosse),   cmocka_unit_test(thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
