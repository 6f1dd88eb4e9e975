/* SPDX-License-Identifier: MIT */
/* All methods side by side on a real head, whose point estimate has known numbers; divergence is a row, not a failure. */
#include <math.h>

#include "check.h"
#include "problem.h"

enum { HEAD_METHODS = 5 }; /* the sixth trains whole networks */

static void check_rows(const ll_comparison *found, int64_t samples) {
    assert_int_equal(ll_comparison_count(found), HEAD_METHODS);
    assert_null(ll_comparison_row(found, HEAD_METHODS));
    for (size_t i = 0; i < HEAD_METHODS; i++) {
        const ll_compare_row *r = ll_comparison_row(found, (int64_t)i);
        assert_string_equal(r->method, ll_method_get(i)->name);
        assert_false(r->diverged);
        assert_int_equal(r->samples, i ? samples : 1);
        assert_true(r->seconds_fit >= 0 && r->seconds_predict >= 0);
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            bool exists = i || !ll_confidence_needs_members((ll_confidence)c);
            assert_int_equal(isnan(r->evaluation->selective[c].aurc), !exists);
        }
    }
}

static void test_real_head(void **state) {
    (void)state;
    const char *data = check_data("cifar10-resnet56/features.npz");
    char names[4][4200];
    static const char *const arrays[] = {"features_train", "labels_train", "features_test", "labels_test"};
    for (int i = 0; i < 4; i++)
        snprintf(names[i], sizeof names[i], "%s:%s", data, arrays[i]);
    ll_context *ctx = check_context(2);
    ll_dataset *train, *test;
    ll_head *head;
    CHECK_OK(ctx, ll_dataset_read(&train, ctx, names[0], names[1], 0));
    CHECK_OK(ctx, ll_dataset_read(&test, ctx, names[2], names[3], 0));
    assert_int_equal(ll_dataset_features(test), 64);
    CHECK_OK(ctx, ll_head_read(&head, ctx, data, NULL, 64, LL_HEAD_LAYOUT_AUTO));
    assert_int_equal(ll_head_classes(head), 10);
    ll_compare_options o = ll_compare_options_default();
    ll_fit_options fit = ll_fit_options_default();
    fit.samples = 5;
    fit.epochs = 2;
    o.fit = &fit;
    ll_comparison *c;
    CHECK_OK(ctx, ll_compare(&c, ctx, train, test, head, &o));
    check_rows(c, 5);
    const ll_evaluation *point = ll_comparison_row(c, 0)->evaluation;
    assert_int_equal(point->n, 10000);
    CHECK_NEAR(point->accuracy, 0.9339, 1e-12);
    CHECK_NEAR(point->selective[LL_CONFIDENCE_SR].aurc, 0.00773, 5e-6);
    CHECK_NEAR(point->nll, 0.3458, 5e-5);
    CHECK_NEAR(point->brier, 0.1107, 5e-5);
    const ll_threshold *cut = &ll_comparison_row(c, 0)->threshold[LL_CONFIDENCE_SR];
    assert_true(cut->found && cut->risk <= 0.01 && cut->coverage > 0.5);
    for (int64_t i = 1; i < HEAD_METHODS; i++) { /* a few samples around theta* stay near it; half the features costs some */
        const ll_compare_row *row = ll_comparison_row(c, i);
        CHECK_NEAR(row->evaluation->accuracy, 0.9339, 0.02);
        assert_true(row->evaluation->selective[LL_CONFIDENCE_SR].aurc < (strcmp(row->method, "dropout") == 0 ? 0.025 : 0.0085));
    }
    ll_comparison_free(c);
    ll_head_free(head);
    ll_dataset_free(train);
    ll_dataset_free(test);
    ll_context_free(ctx);
}

/* The table is made of what fit, predict and evaluate give one by one, for any number of threads. */
static void test_same_as_alone(void **state) {
    (void)state;
    ll_comparison *all[4];
    for (int threads = 1; threads <= 3; threads++) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, 500, 5, 3);
        ll_compare_options o = ll_compare_options_default();
        ll_fit_options fit = ll_fit_options_default();
        fit.samples = 6;
        fit.epochs = 3;
        fit.seed = 9;
        o.fit = &fit;
        o.risk = 0.2;
        CHECK_OK(ctx, ll_compare(&all[threads], ctx, p.data, p.data, NULL, &o));
        check_rows(all[threads], 6);
        for (size_t i = 0; i < HEAD_METHODS; i++) {
            const ll_compare_row *row = ll_comparison_row(all[threads], (int64_t)i), *first = ll_comparison_row(all[1], (int64_t)i);
            if (threads > 1) {
                assert_memory_equal(row->evaluation, first->evaluation, sizeof *row->evaluation);
                assert_memory_equal(row->threshold, first->threshold, sizeof row->threshold);
                continue;
            }
            fit.method = ll_method_get(i)->name;
            ll_ensemble *e;
            CHECK_OK(ctx, ll_fit(&e, ctx, p.data, NULL, &fit));
            ll_predictor *predictor;
            CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
            int32_t *label = problem_room(500, sizeof *label);
            double *sr = problem_room(500, sizeof *sr);
            ll_prediction out = {.label = label, .confidence = {[LL_CONFIDENCE_SR] = sr}};
            CHECK_OK(ctx, ll_predictor_run(&out, predictor, p.z, 500, 0));
            int64_t errors = 0, accepted = 0, accepted_errors = 0;
            const ll_threshold *cut = &first->threshold[LL_CONFIDENCE_SR];
            for (int64_t r = 0; r < 500; r++) {
                errors += label[r] != p.y[r];
                accepted += cut->found && sr[r] >= cut->cut;
                accepted_errors += cut->found && sr[r] >= cut->cut && label[r] != p.y[r];
            }
            assert_int_equal(first->evaluation->errors, errors);
            assert_int_equal(cut->accepted, accepted);
            assert_int_equal(cut->accepted_errors, accepted_errors);
            free(label);
            free(sr);
            ll_predictor_free(predictor);
            ll_ensemble_free(e);
        }
        problem_free(&p);
        ll_context_free(ctx);
    }
    for (int threads = 1; threads <= 3; threads++)
        ll_comparison_free(all[threads]);
}

static void test_diverged_row(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 200, 4, 3);
    ll_head *map;
    CHECK_OK(ctx, ll_head_solve(&map, ctx, p.data, NULL));
    ll_compare_options o = ll_compare_options_default();
    ll_fit_options fit = ll_fit_options_default();
    fit.lr = 1e5;
    fit.batch_size = 200;
    fit.samples = 20;
    fit.epochs = 20;
    o.fit = &fit;
    ll_comparison *c;
    CHECK_OK(ctx, ll_compare(&c, ctx, p.data, p.data, map, &o));
    assert_false(ll_comparison_row(c, 0)->diverged);
    assert_true(ll_comparison_row(c, 0)->evaluation->accuracy > 0.4);
    for (int64_t i = 1; i < HEAD_METHODS; i++)
        assert_true(ll_comparison_row(c, i)->diverged);
    char *text;
    CHECK_OK(ctx, ll_comparison_text(&text, ctx, c, LL_TEXT_PLAIN));
    assert_non_null(strstr(text, "diverged"));
    ll_text_free(text);
    ll_comparison_free(c);
    ll_head_free(map);
    problem_free(&p);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 4, 3), wide = problem_new(ctx, 60, 5, 3), many = problem_new(ctx, 60, 4, 5);
    ll_dataset *bare;
    CHECK_OK(ctx, ll_dataset_new(&bare, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){60, 4}), NULL, 0));
    ll_comparison *c;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the test rows have no labels", ll_compare(&c, ctx, p.data, bare, NULL, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the test features have 5 columns and the training features 4",
                ll_compare(&c, ctx, p.data, wide.data, NULL, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the largest test label is 4, but there are 3 classes",
                ll_compare(&c, ctx, p.data, many.data, NULL, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "no labels to learn from", ll_compare(&c, ctx, bare, p.data, NULL, NULL));
    ll_compare_options o = ll_compare_options_default();
    o.risk = 1.5;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "--risk is 1.5", ll_compare(&c, ctx, p.data, p.data, NULL, &o));
    o = ll_compare_options_default();
    ll_fit_options fit = ll_fit_options_default();
    fit.lr = -1;
    o.fit = &fit;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "--lr", ll_compare(&c, ctx, p.data, p.data, NULL, &o));
    o = ll_compare_options_default();
    o.struct_size = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "ll_compare_options_default()", ll_compare(&c, ctx, p.data, p.data, NULL, &o));
    o = ll_compare_options_default();
    fit = ll_fit_options_default();
    fit.samples = 2;
    fit.epochs = 1;
    o.fit = &fit;
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_compare(&c, ctx, p.data, p.data, p.head, &o);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            assert_true(n > 100);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
    }
    ll_comparison_free(c);
    ll_dataset_free(bare);
    problem_free(&p);
    problem_free(&wide);
    problem_free(&many);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_head),
        cmocka_unit_test(test_same_as_alone),
        cmocka_unit_test(test_diverged_row),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
