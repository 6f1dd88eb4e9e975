/* SPDX-License-Identifier: MIT */
/* compare on a real head, whose point estimate has known numbers; which rows choose and which report; warnings and refusals. */
#include "base/memory.h"
#include "comparing.h"
#include "data/split.h"

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
    o.protocol = "paper";
    o.temperature = "none";
    ll_comparison *c;
    CHECK_OK(ctx, ll_compare(&c, ctx, train, test, head, &o));
    check_rows(c, 5, false, false);
    const ll_evaluation *point = ll_comparison_row(c, 0)->evaluation;
    assert_int_equal(point->n, 10000);
    CHECK_NEAR(point->accuracy, 0.9339, 1e-12);
    CHECK_NEAR(point->selective[LL_CONFIDENCE_SR].aurc, 0.00773, 5e-6);
    CHECK_NEAR(point->nll, 0.3458, 5e-5);
    CHECK_NEAR(point->brier, 0.1107, 5e-5);
    const ll_threshold *cut = &ll_comparison_row(c, 0)->threshold[LL_CONFIDENCE_SR];
    assert_true(cut->found && cut->risk <= 0.01 && cut->coverage > 0.5);
    for (int64_t i = 1; i < ll_comparison_count(c); i++) { /* a few samples around theta* stay near it; half the features costs some */
        const ll_compare_row *row = ll_comparison_row(c, i);
        CHECK_NEAR(row->evaluation->accuracy, 0.9339, 0.02);
        assert_true(row->evaluation->selective[LL_CONFIDENCE_SR].aurc < (has_masks(row->method) ? 0.025 : 0.0085));
    }
    ll_comparison_free(c);
    ll_head_free(head);
    ll_dataset_free(train);
    ll_dataset_free(test);
    ll_context_free(ctx);
}

/* Row i of a data set is labelled y[i], or another class where `wrong` says so. */
static ll_dataset *relabelled(ll_context *ctx, const problem *p, const bool *wrong) {
    int64_t *y = problem_room(p->N, sizeof *y);
    for (int64_t i = 0; i < p->N; i++)
        y[i] = wrong[i] ? (p->y[i] + 1) % p->K : p->y[i];
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &p->N);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(p->z, LL_DTYPE_F32, 2, (int64_t[]){p->N, p->D}), &labels, p->K));
    free(y);
    return data;
}

/* Labels of the rows that choose move the recommendation, the cut and the temperature, and no number without one; labels of the others
 * move numbers alone. */
static void test_rows_that_choose(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 400, 4, 3);
    bool *wrong = problem_room(400, 1);
    int64_t *halves;
    CHECK_OK(ctx, lli_split_half(&halves, ctx, 400, 5, LLI_PURPOSE_SPLIT));
    ll_compare_options o = ll_compare_options_default();
    ll_comparison *plain = compare(ctx, &p, p.data, o), *changed[2];
    for (int h = 0; h < 2; h++) {
        for (int64_t i = 0; i < 400; i++)
            wrong[halves[i]] = (i >= 200) == h && i % 3 == 0;
        ll_dataset *data = relabelled(ctx, &p, wrong);
        changed[h] = compare(ctx, &p, data, o);
        ll_dataset_free(data);
    }
    const ll_recommendation *before = ll_comparison_recommendation(plain);
    assert_int_equal(before->n, 200);
    assert_false(before->same_rows);
    assert_string_equal(before->criterion, "aurc_sr");
    for (int64_t i = 0; i < ll_comparison_count(plain); i++) {
        const ll_compare_row *row = ll_comparison_row(plain, i), *other = ll_comparison_row(changed[0], i);
        assert_int_equal(row->evaluation->n, 200);
        assert_int_equal(isnan(row->temperature), i != 1); /* point+T */
        if (isnan(row->temperature))
            assert_true(same_numbers(row, other));
        else
            assert_true(row->temperature != other->temperature && row->evaluation->errors == other->evaluation->errors);
        assert_false(same_numbers(row, ll_comparison_row(changed[1], i)));
        assert_true(isnan(row->temperature) || row->temperature == ll_comparison_row(changed[1], i)->temperature);
    }
    const ll_recommendation *after = ll_comparison_recommendation(changed[1]);
    assert_true(after->row == before->row && after->value == before->value && after->best_value == before->best_value);
    assert_true(ll_comparison_recommendation(changed[0])->value != before->value);
    ll_comparison_free(plain);
    ll_comparison_free(changed[0]);
    ll_comparison_free(changed[1]);
    lli_memory_free(halves);
    free(wrong);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Two, three rows: a table all the same, or a sentence. */
static void test_tiny(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 4, 3);
    for (int64_t n = 1; n <= 5; n++) {
        problem few = problem_new(ctx, n < 3 ? 3 : n, 4, 3);
        ll_dataset *test;
        ll_array labels = ll_array_view(few.y, LL_DTYPE_I64, 1, &n);
        CHECK_OK(ctx, ll_dataset_new(&test, ctx, ll_array_view(few.z, LL_DTYPE_F32, 2, (int64_t[]){n, 4}), &labels, 3));
        ll_compare_options o = ll_compare_options_default();
        ll_comparison *c;
        if (n == 1) {
            CHECK_FAILS(ctx, LL_ERR_DATA, "one test row cannot both choose and report", ll_compare(&c, ctx, p.data, test, p.head, &o));
        } else {
            c = compare(ctx, &p, test, o);
            char *text;
            CHECK_OK(ctx, ll_comparison_text(&text, ctx, c, LL_TEXT_JSON));
            assert_non_null(ll_comparison_recommendation(c));
            ll_text_free(text);
            ll_comparison_free(c);
        }
        ll_dataset_free(test);
        problem_free(&few);
    }
    problem_free(&p);
    ll_context_free(ctx);
}

static void count_warnings(void *user, ll_log_level level, const char *sentence) {
    *(int *)user += level == LL_LOG_WARNING && !strstr(sentence, "diffusion time");
}

/* compare warns once for each method that gives reason. */
static void test_warnings(void **state) {
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        int warnings = 0;
        ll_context_options options = ll_context_options_default();
        ll_context *ctx;
        options.threads = 2;
        options.log = count_warnings;
        options.user = &warnings;
        assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
        problem p = problem_new(ctx, 600, 16, 4);
        ll_compare_options o = ll_compare_options_default();
        ll_fit_options fit = ll_fit_options_default();
        fit.samples = 5;
        fit.epochs = 5;
        fit.lr = broken ? 1e-13 : 0;
        fit.dropout = 0.1;
        o.fit = &fit;
        ll_comparison *compared;
        CHECK_OK(ctx, ll_compare(&compared, ctx, p.data, p.data, NULL, &o));
        assert_int_equal(warnings, broken ? 3 : 0); /* sgd, sgld, bootstrap */
        ll_comparison_free(compared);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

static void keep_nearness(void *user, ll_log_level level, const char *sentence) {
    if (level == LL_LOG_NOTE && strstr(sentence, "as wide as the posterior"))
        snprintf(user, 512, "%s", sentence);
}

/* Of few features and many rows the posterior is near the Gaussian of laplace, and sgld at a tiny lr stays at theta*; the note says so,
 * also where no method is near. */
static void test_nearness(void **state) {
    (void)state;
    const char *methods[] = {"laplace,sgld,hmc", "laplace,sgld", "laplace,bootstrap"};
    const char *expected[] = {"head: hmc (", "no sampler here is as wide", ""};
    for (int i = 0; i < 3; i++) {
        char said[512] = "";
        ll_context_options options = ll_context_options_default();
        ll_context *ctx;
        options.threads = 1;
        options.log = keep_nearness;
        options.user = said;
        assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
        problem p = problem_new(ctx, 600, 3, 4);
        ll_compare_options o = ll_compare_options_default();
        ll_fit_options fit = ll_fit_options_default();
        fit.samples = 40;
        fit.lr = 1e-6;
        o.fit = &fit;
        o.methods = methods[i];
        ll_comparison *compared;
        CHECK_OK(ctx, ll_compare(&compared, ctx, p.data, p.data, NULL, &o));
        assert_non_null(strstr(said, expected[i]));
        assert_int_equal(said[0] == '\0', i == 2);
        assert_null(strstr(said, "laplace ("));
        assert_null(strstr(said, "sgld ("));
        ll_comparison_free(compared);
        problem_free(&p);
        ll_context_free(ctx);
    }
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
    CHECK_FAILS(ctx, LL_ERR_USAGE, "risk is 1.5", ll_compare(&c, ctx, p.data, p.data, NULL, &o));
    o = ll_compare_options_default();
    ll_fit_options fit = ll_fit_options_default();
    fit.lr = -1;
    o.fit = &fit;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "lr is", ll_compare(&c, ctx, p.data, p.data, NULL, &o));
    o = ll_compare_options_default();
    o.struct_size = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "ll_compare_options_default()", ll_compare(&c, ctx, p.data, p.data, NULL, &o));
    o = ll_compare_options_default();
    fit = ll_fit_options_default();
    fit.samples = 2;
    fit.epochs = 1;
    o.fit = &fit;
    for (int64_t n = 1;; n += 1 + n / 64) { /* each of the first allocations, then some */
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
        cmocka_unit_test(test_real_head), cmocka_unit_test(test_rows_that_choose), cmocka_unit_test(test_tiny),
        cmocka_unit_test(test_warnings),  cmocka_unit_test(test_nearness),         cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
