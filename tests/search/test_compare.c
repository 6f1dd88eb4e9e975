/* SPDX-License-Identifier: MIT */
/* All methods side by side, for any number of threads; divergence is a row, not a failure. */
#include "comparing.h"

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
        o.protocol = "paper";
        o.temperature = "none";
        CHECK_OK(ctx, ll_compare(&all[threads], ctx, p.data, p.data, NULL, &o));
        check_rows(all[threads], 6, true, false);
        for (int64_t i = 0; i < ll_comparison_count(all[threads]); i++) {
            const ll_compare_row *row = ll_comparison_row(all[threads], i), *first = ll_comparison_row(all[1], i);
            if (threads > 1) {
                ll_evaluation a = *row->evaluation, b = *first->evaluation;
                assert_memory_equal(a.bin, b.bin, (size_t)a.bins * sizeof *a.bin);
                assert_memory_equal(a.by_class, b.by_class, (size_t)a.classes * sizeof *a.by_class);
                a.bin = b.bin = NULL;
                a.by_class = b.by_class = NULL;
                assert_memory_equal(&a, &b, sizeof a);
                assert_memory_equal(row->threshold, first->threshold, sizeof row->threshold);
                continue;
            }
            fit.method = row->method;
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
    for (int64_t i = 1; i < ll_comparison_count(c); i++) {
        const ll_compare_row *row = ll_comparison_row(c, i);
        assert_int_equal(row->diverged, has_chains(row->method));
        if (strcmp(row->method, "map") == 0) /* all of its work comes before its one task; saving that takes some 3e-6 s */
            assert_true(row->seconds_fit > 3e-5);
    }
    char *text;
    CHECK_OK(ctx, ll_comparison_text(&text, ctx, c, LL_TEXT_PLAIN));
    assert_non_null(strstr(text, "diverged"));
    ll_text_free(text);
    ll_comparison_free(c);
    ll_head_free(map);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Validation rows choose where there are some; temperatures of all methods; the same bits for any threads. */
static void test_validation_rows(void **state) {
    (void)state;
    ll_comparison *all[4];
    for (int threads = 1; threads <= 3; threads++) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, 300, 4, 3), val = problem_new(ctx, 90, 4, 3);
        ll_compare_options o = ll_compare_options_default();
        o.choose = val.data;
        o.temperature = "all";
        o.risk = 0.1;
        all[threads] = compare(ctx, &p, p.data, o);
        assert_int_equal(ll_comparison_recommendation(all[threads])->n, 90);
        assert_int_equal(ll_comparison_count(all[threads]) % 2, 0);
        for (int64_t i = 0; i < ll_comparison_count(all[threads]); i++) {
            const ll_compare_row *row = ll_comparison_row(all[threads], i), *first = ll_comparison_row(all[1], i);
            assert_int_equal(row->evaluation->n, 300);
            assert_int_equal(isnan(row->temperature), i % 2 == 0);
            assert_true(same_numbers(row, first));
            assert_memory_equal(&row->temperature, &first->temperature, sizeof row->temperature);
        }
        assert_int_equal(ll_comparison_recommendation(all[threads])->row, ll_comparison_recommendation(all[1])->row);
        problem_free(&p);
        problem_free(&val);
        ll_context_free(ctx);
    }
    for (int threads = 1; threads <= 3; threads++)
        ll_comparison_free(all[threads]);
}

/* All that apply, or those that are named: point is there anyway. */
static void test_chosen_methods(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 200, 4, 3);
    ll_compare_options o = ll_compare_options_default();
    o.protocol = "paper";
    o.temperature = "none";
    o.methods = "all";
    ll_comparison *c = compare(ctx, &p, p.data, o);
    check_rows(c, 4, true, true);
    /* W and b in f32 and a fingerprint, of which draws and masks store one; a weight for each member in f64 */
    for (int64_t i = 0; i < ll_comparison_count(c); i++) {
        const ll_compare_row *row = ll_comparison_row(c, i);
        bool one = row_of(row->method)->members != LLI_MEMBERS_STORED;
        int64_t factors = has_draws(row->method) ? 4 * (5 * 5 + 3 * 3 + 3 * 5) : 0;
        assert_int_equal(row->bytes, (one ? 1 : row->samples) * (4 * (3 * 4 + 3) + 64) + 8 * row->samples + factors);
    }
    ll_comparison_free(c);
    size_t last = 0;
    while (ll_compare_name(last + 1))
        last++;
    char two[128];
    snprintf(two, sizeof two, "%s,%s", ll_compare_name(last), ll_compare_name(last - 1));
    o.methods = two;
    o.temperature = "point";
    c = compare(ctx, &p, p.data, o);
    assert_int_equal(ll_comparison_count(c), 4);
    assert_string_equal(ll_comparison_row(c, 0)->name, ll_compare_name(0));
    assert_int_equal(ll_comparison_row(c, 1)->bytes, ll_comparison_row(c, 0)->bytes + 2 * 3 * 8); /* the temperature of each class */
    assert_string_equal(ll_comparison_row(c, 2)->name, ll_compare_name(last - 1));
    assert_string_equal(ll_comparison_row(c, 3)->name, ll_compare_name(last));
    ll_comparison_free(c);
    static const char *const wrong[] = {"", "nothing", "point,", ",point", "all,point", "sgld-", "default,all"};
    for (size_t i = 0; i < LLI_COUNT(wrong); i++) {
        o.methods = wrong[i];
        assert_int_equal(ll_compare(&c, ctx, p.data, p.data, NULL, &o), LL_ERR_USAGE);
        assert_non_null(strstr(ll_context_message(ctx), "methods lists"));
        assert_null(c);
    }
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_alone),
        cmocka_unit_test(test_diverged_row),
        cmocka_unit_test(test_validation_rows),
        cmocka_unit_test(test_chosen_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
