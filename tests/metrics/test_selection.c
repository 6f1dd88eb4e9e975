/* SPDX-License-Identifier: MIT */
/* Which trial is taken, by hand-made scores: words, splits, ties, divergence, the numbers of the paper's tables. */
#include <math.h>

#include "check.h"
#include "metrics/selection.h"
#include "metrics/trial_score.h"

static void test_words(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_selection s;
    CHECK_OK(ctx, lli_selection_parse(&s, ctx, NULL, NULL));
    assert_true(s.rule == LLI_SELECTION_AURC && s.chooses == LL_SPLIT_VAL && s.reports == LL_SPLIT_TEST);
    CHECK_OK(ctx, lli_selection_parse(&s, ctx, "honest", "aurc-hq"));
    assert_true(s.rule == LLI_SELECTION_AURC_HQ && s.chooses == LL_SPLIT_VAL && s.reports == LL_SPLIT_TEST);
    CHECK_OK(ctx, lli_selection_parse(&s, ctx, "paper", "auroc"));
    assert_true(s.rule == LLI_SELECTION_AUROC && s.chooses == LL_SPLIT_ALL && s.reports == LL_SPLIT_ALL);
    CHECK_OK(ctx, lli_selection_parse(&s, ctx, "paper", NULL));
    assert_true(s.rule == LLI_SELECTION_AURC && s.chooses == LL_SPLIT_ALL);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "expected honest or paper", lli_selection_parse(&s, ctx, "lucky", NULL));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "expected aurc, aurc-hq or auroc", lli_selection_parse(&s, ctx, "paper", "luck"));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "only", lli_selection_parse(&s, ctx, "honest", "auroc"));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "only", lli_selection_parse(&s, ctx, NULL, "auroc"));
    assert_string_equal(ll_split_name(LL_SPLIT_VAL), "val");
    assert_string_equal(ll_split_name(LL_SPLIT_TEST), "test");
    assert_string_equal(ll_split_name(LL_SPLIT_ALL), "all");
    assert_string_equal(ll_split_name(LL_SPLIT_COUNT), "");
    ll_context_free(ctx);
}

/* A trial of these AURCs of sr, std and hq on the validation rows. */
static ll_trial trial_of(const char *method, double sr, double std, double hq) {
    ll_trial t = {.method = method};
    t.score[LL_SPLIT_VAL].aurc[LL_CONFIDENCE_SR] = sr;
    t.score[LL_SPLIT_VAL].aurc[LL_CONFIDENCE_STD] = std;
    t.score[LL_SPLIT_VAL].aurc[LL_CONFIDENCE_HQ] = hq;
    return t;
}

static void test_best(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_trial trials[] = {trial_of("sgd", 0.3, 0.4, 0.1), trial_of("sgld", 0.2, NAN, NAN), trial_of("sgd", 0.5, 0.2, 0.6),
                         trial_of("sgd", NAN, NAN, NAN), trial_of("sgld", 0.01, 0.01, 0.01)};
    trials[4].diverged = true;
    enum { COUNT = sizeof trials / sizeof trials[0] };
    const lli_selection plain = {LLI_SELECTION_AURC, LL_SPLIT_VAL, LL_SPLIT_TEST};
    const lli_selection hq = {LLI_SELECTION_AURC_HQ, LL_SPLIT_VAL, LL_SPLIT_TEST};
    assert_int_equal(lli_selection_best(&plain, trials, COUNT, NULL), 1); /* the first of two equal ones */
    assert_int_equal(lli_selection_best(&plain, trials, COUNT, "sgd"), 2);
    assert_int_equal(lli_selection_best(&hq, trials, COUNT, NULL), 0);
    assert_int_equal(lli_selection_best(&plain, trials, COUNT, "dropout"), -1);
    assert_int_equal(lli_selection_best(&plain, trials + 3, 2, NULL), -1); /* nothing defined */
    assert_true(lli_selection_value(&plain, &trials[3]) == INFINITY && lli_selection_value(&plain, &trials[4]) == INFINITY);
    int64_t order[COUNT];
    CHECK_OK(ctx, lli_selection_order(order, ctx, &plain, trials, COUNT));
    static const int64_t expected[COUNT] = {1, 2, 0, 3, 4};
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(order[i], expected[i]);
    lli_selection_peers peers[COUNT];
    CHECK_OK(ctx, lli_selection_group(peers, ctx, &plain, trials, COUNT));
    for (int i = 0; i < COUNT; i++) {
        bool sgd = strcmp(trials[i].method, "sgd") == 0;
        assert_true(peers[i].first == (sgd ? 0 : 1) && peers[i].best == (sgd ? 2 : 1));
    }
    ll_context_free(ctx);
}

/* A method without a trial that counts has no best one; no trials have no groups and no order; the first of equals leads its group. */
static void test_groups(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const lli_selection plain = {LLI_SELECTION_AURC, LL_SPLIT_VAL, LL_SPLIT_TEST};
    const ll_trial trials[] = {trial_of("map", NAN, NAN, 0.1), trial_of("sgd", 0.3, 0.3, 0.1), trial_of("map", NAN, NAN, 0.1),
                               trial_of("sgd", 0.4, 0.3, 0.1), trial_of("laplace", 0.3, 0.5, 0.1)};
    static const int64_t first[] = {0, 1, 0, 1, 4}, best[] = {-1, 1, -1, 1, 4}, expected[] = {1, 3, 4, 0, 2};
    lli_selection_peers peers[5];
    int64_t order[5];
    CHECK_OK(ctx, lli_selection_group(peers, ctx, &plain, trials, 5));
    CHECK_OK(ctx, lli_selection_order(order, ctx, &plain, trials, 5));
    for (int i = 0; i < 5; i++)
        assert_true(peers[i].first == first[i] && peers[i].best == best[i] && order[i] == expected[i]);
    CHECK_OK(ctx, lli_selection_group(peers, ctx, &plain, trials, 0));
    CHECK_OK(ctx, lli_selection_order(order, ctx, &plain, trials, 0));
    assert_int_equal(lli_selection_best(&plain, trials, 0, NULL), -1);
    assert_int_equal(lli_selection_best(&plain, trials, 5, "map"), -1);
    ll_context_free(ctx);
}

static void test_numbers(void **state) {
    (void)state;
    ll_score score = {.accuracy = 0.9, .nll = 0.3, .ece = 0.02}, point = {0};
    score.aurc[LL_CONFIDENCE_SR] = 0.03;
    score.aurc[LL_CONFIDENCE_STD] = 0.02;
    score.aurc[LL_CONFIDENCE_HQ] = 0.01;
    point.aurc[LL_CONFIDENCE_SR] = 0.04;
    assert_true(lli_selection_metric("accuracy", &score, NULL, false) == 0.9 && lli_selection_metric("nll", &score, NULL, false) == 0.3);
    assert_true(lli_selection_metric("ece", &score, NULL, false) == 0.02 && lli_selection_metric("aurc_hq", &score, NULL, false) == 0.01);
    assert_true(lli_selection_metric("min_aurc", &score, NULL, false) == 0.02);
    CHECK_NEAR(lli_selection_metric("ratio_aurc", &score, &point, false), 0.5, 1e-15);
    assert_true(isnan(lli_selection_metric("ratio_aurc", &score, NULL, false)));
    static const char *const unknown[] = {"min_nll",   "max_ece",  "ratio_nll",  "nll_sr", "luck",
                                          "aurc_luck", "min_luck", "ratio_luck", "aurc",   ""};
    for (size_t i = 0; i < LLI_COUNT(unknown); i++)
        assert_true(isnan(lli_selection_metric(unknown[i], &score, &point, false)));
}

/* A maximum is over the confidences that the paper's table shows: of AUROC that is hq on CIFAR-100 only, of AUPR always. */
static void test_largest(void **state) {
    (void)state;
    ll_trial trials[2] = {{.method = "sgd"}, {.method = "sgd"}};
    ll_score *score = &trials[0].score[LL_SPLIT_ALL], *other = &trials[1].score[LL_SPLIT_ALL];
    double *kinds[] = {score->auroc, score->aupr_in, score->aupr_out};
    for (int k = 0; k < 3; k++) {
        kinds[k][LL_CONFIDENCE_SR] = 0.5;
        kinds[k][LL_CONFIDENCE_STD] = 0.6;
        kinds[k][LL_CONFIDENCE_HQ] = 0.9;
        kinds[k][LL_CONFIDENCE_MAXMIN] = 0.95;
    }
    CHECK_NEAR(lli_selection_metric("max_auroc", score, score, false), 0.6, 0);
    CHECK_NEAR(lli_selection_metric("max_auroc", score, score, true), 0.9, 0);
    CHECK_NEAR(lli_selection_metric("ratio_auroc", score, score, false), 0.6 / 0.5, 0);
    CHECK_NEAR(lli_selection_metric("max_aupr_in", score, score, false), 0.9, 0);
    CHECK_NEAR(lli_selection_metric("ratio_aupr_out", score, score, false), 0.9 / 0.5, 0);
    other->auroc[LL_CONFIDENCE_STD] = 0.7;
    const lli_selection shown = {LLI_SELECTION_AUROC, LL_SPLIT_ALL, LL_SPLIT_ALL},
                        with_hq = {LLI_SELECTION_AUROC_HQ, LL_SPLIT_ALL, LL_SPLIT_ALL};
    assert_int_equal(lli_selection_best(&shown, trials, 2, "sgd"), 1);
    assert_int_equal(lli_selection_best(&with_hq, trials, 2, "sgd"), 0);
}

static void test_spread(void **state) {
    (void)state;
    double mean, spread;
    lli_selection_spread(&mean, &spread, (double[]){0.0077253, 0.0077253, 0.0077253}, 3);
    assert_true(mean == 0.0077253 && spread == 0);
    lli_selection_spread(&mean, &spread, (double[]){1, 2, 6}, 3);
    CHECK_NEAR(mean, 3, 1e-15);
    CHECK_NEAR(spread, sqrt(7), 1e-15);
    lli_selection_spread(&mean, &spread, (double[]){5}, 1);
    assert_true(mean == 5 && isnan(spread));
    lli_selection_spread(&mean, &spread, (double[]){5, 7}, 2);
    CHECK_NEAR(mean, 6, 0);
    CHECK_NEAR(spread, sqrt(2), 1e-15);
    lli_selection_spread(&mean, &spread, (double[]){5}, 0);
    assert_true(isnan(mean) && isnan(spread));
}

/* What a trial keeps of an evaluation, each number in its own place. */
static void test_taken(void **state) {
    (void)state;
    static ll_evaluation e;
    ll_score s;
    e = (ll_evaluation){.n = 7, .errors = 2, .accuracy = 0.5, .nll = 3, .brier = 4, .ece = 5, .mce = 6};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        e.selective[c].aurc = 10 + c;
        e.ood[c].auroc = 20 + c;
        e.ood[c].aupr_in = 30 + c;
        e.ood[c].aupr_out = 40 + c;
        e.ood[c].fpr95 = 50 + c;
    }
    lli_trial_score_take(&s, &e);
    assert_true(s.n == 7 && s.errors == 2 && s.accuracy == 0.5 && s.nll == 3 && s.brier == 4 && s.ece == 5 && s.mce == 6);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        assert_true(s.aurc[c] == 10 + c && s.auroc[c] == 20 + c && s.aupr_in[c] == 30 + c && s.aupr_out[c] == 40 + c &&
                    s.fpr95[c] == 50 + c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),   cmocka_unit_test(test_best),   cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_largest), cmocka_unit_test(test_spread), cmocka_unit_test(test_taken),
                                       cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
