/* SPDX-License-Identifier: MIT */
#include "metrics/sample.h"

#include <math.h>

#include "metrics/evaluate.h"

/* The bytes after the 128-byte header of a version 1 .npy file. */
static void *npy_body(const char *name, size_t bytes) {
    FILE *file = fopen(check_data(name), "rb");
    assert_non_null(file);
    void *body = sample_zeros((int64_t)bytes, 1);
    assert_int_equal(fseek(file, 128, SEEK_SET), 0);
    assert_int_equal(fread(body, 1, bytes, file), bytes);
    fclose(file);
    return body;
}

/* Softmax of a VGG-16 on the CIFAR-10 test set; the values are known to four digits. */
static void check_vector(void **state) {
    (void)state;
    enum { N = 10000, K = 10 };
    float *probs = npy_body("cifar10-vgg16/probs.npy", N * K * sizeof *probs);
    int64_t *labels = npy_body("cifar10-vgg16/labels.npy", N * sizeof *labels);
    sample s = sample_new(N, K);
    double *sr = s.confidence[LL_CONFIDENCE_SR] = sample_zeros(N, 8);
    for (int i = 0; i < N; i++) {
        s.truth[i] = (int32_t)labels[i];
        for (int k = 1; k < K; k++)
            if (probs[i * K + k] > probs[i * K + s.label[i]])
                s.label[i] = k;
        sr[i] = (double)probs[i * K + s.label[i]];
    }
    ll_outcome points = sample_view(&s);
    points.probs = ll_array_view(probs, LL_DTYPE_F32, 2, (int64_t[]){N, K});
    ll_context *ctx = check_context(1);
    ll_evaluation *e = sample_evaluation();
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    const ll_selective *by_sr = &e->selective[LL_CONFIDENCE_SR];
    assert_int_equal(e->errors, 641);
    CHECK_NEAR(e->accuracy, .9359, 1e-12);
    CHECK_NEAR(by_sr->aurc, 6.658e-3, .5e-6);
    CHECK_NEAR(by_sr->eaurc, 4.555e-3, .5e-6);
    CHECK_NEAR(by_sr->augrc, 6.005e-3, .5e-6);
    CHECK_NEAR(by_sr->failure_auroc, .93415, .5e-5);
    CHECK_NEAR(e->ece, .03991, .5e-5);
    CHECK_NEAR(e->mce, .28608, .5e-5);
    CHECK_NEAR(e->nll, .25706, .5e-5);
    CHECK_NEAR(e->brier, .10545, .5e-5);
    const ll_intervals *in = &e->intervals; /* at 95 %, standard errors 4.25e-4, 3.14e-4, 3.62e-4 */
    CHECK_NEAR(log(in->aurc[0].hi / in->aurc[0].lo) * by_sr->aurc / (2 * 1.95996), 4.25e-4, .5e-6);
    CHECK_NEAR((in->eaurc[0].hi - in->eaurc[0].lo) / (2 * 1.95996), 3.14e-4, .5e-6);
    CHECK_NEAR(log(in->augrc[0].hi / in->augrc[0].lo) * by_sr->augrc / (2 * 1.95996), 3.62e-4, .5e-6);
    CHECK_NEAR(in->accuracy.lo, .930930059861578, 1e-12); /* R's prop.test */
    CHECK_NEAR(in->accuracy.hi, .940535170358866, 1e-12);
    assert_true(in->nll.lo < e->nll && e->nll < in->nll.hi && in->ece.lo < e->ece && e->ece < in->ece.hi);
    CHECK_NEAR(e->coverage_at_risk[LL_CONFIDENCE_SR], .82, .005);
    assert_true(e->ece_p < 1e-3 && e->l2_debiased > 0 && isnan(in->aurc[LL_CONFIDENCE_STD].lo));
    sample_evaluation_free(e);
    sample_free(&s);
    free(probs);
    free(labels);
    ll_context_free(ctx);
}

/* A sentence from the log, kept by the callback. */
static void keep(void *user, ll_log_level level, const char *sentence) {
    if (level == LL_LOG_WARNING)
        snprintf(user, 256, "%s", sentence);
}

static void a_zero_probability_makes_nll_infinite(void **state) {
    (void)state;
    char warning[256] = "";
    ll_context_options options = ll_context_options_default();
    options.log = keep;
    options.user = warning;
    ll_context *ctx;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    sample s = sample_random(1, 4, 0.5, 0);
    s.probs = sample_zeros(8, 8);
    for (int i = 0; i < 4; i++)
        s.probs[2 * i + (i < 2 ? s.truth[i] : 1 - s.truth[i])] = 1;
    ll_outcome points = sample_view(&s);
    ll_evaluation *e = sample_evaluation();
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    assert_true(isinf(e->nll) && e->nll > 0);
    CHECK_NEAR(e->brier, 1, 1e-15); /* two points right, two at distance (1,-1) */
    assert_non_null(strstr(warning, "2 of 4 points"));
    sample_evaluation_free(e);
    sample_free(&s);
    ll_context_free(ctx);
}

/* Where sr rounds to 1 the tail still ranks; calibration and thresholds stay with sr. */
static void the_tail_ranks_sr(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    enum { N = 8 };
    sample s = sample_new(N, 2);
    s.confidence[LL_CONFIDENCE_SR] = sample_zeros(N, 8);
    s.sr_tail = sample_zeros(N, 8);
    for (int i = 0; i < N; i++) {
        s.sr_tail[i] = exp2(-60 - i);
        s.confidence[LL_CONFIDENCE_SR][i] = 1 - s.sr_tail[i]; /* = 1 */
        s.truth[i] = i < 2;                                   /* the two longest tails are wrong */
    }
    ll_outcome points = sample_view(&s), out = points;
    out.truth = NULL;
    ll_evaluation *e = sample_evaluation();
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    assert_true(!e->selective[LL_CONFIDENCE_SR].ties && e->selective[LL_CONFIDENCE_SR].eaurc == 0);
    CHECK_NEAR(e->selective[LL_CONFIDENCE_SR].failure_auroc, 1, 0);
    CHECK_NEAR(e->ece, 0.25, 1e-15);
    double far[N];
    for (int i = 0; i < N; i++)
        far[i] = 2 * s.sr_tail[0] + exp2(-58 - i);
    out.sr_tail = far;
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, &out, NULL, NULL));
    CHECK_NEAR(e->ood[LL_CONFIDENCE_SR].auroc, 1, 0);
    out.sr_tail = NULL; /* known on one side only: both are ranked by sr */
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, &out, NULL, NULL));
    CHECK_NEAR(e->ood[LL_CONFIDENCE_SR].auroc, 0.5, 0);
    ll_threshold t;
    CHECK_OK(ctx, ll_threshold_at_coverage(&t, ctx, &points, LL_CONFIDENCE_SR, 0.5));
    assert_true(t.cut == 1 && t.coverage == 1 && t.accepted_errors == 2);
    CHECK_OK(ctx, ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 0.1));
    assert_false(t.found);
    sample_evaluation_free(e);
    sample_free(&s);
    ll_context_free(ctx);
}

/* 0/1 costs decide the most probable class; a dear mistake moves the decision. */
static void costs_decide(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    enum { N = 600 };
    sample s = sample_random(2, N, 0.4, 0);
    s.probs = sample_zeros(N * 2, 8);
    for (int i = 0; i < N; i++) {
        s.probs[2 * i] = check_uniform(3, i);
        s.probs[2 * i + 1] = 1 - s.probs[2 * i];
        s.label[i] = s.probs[2 * i] < s.probs[2 * i + 1];
    }
    ll_outcome points = sample_view(&s);
    ll_evaluation *plain = sample_evaluation(), *cost = sample_evaluation();
    CHECK_OK(ctx, lli_evaluate(plain, ctx, &points, NULL, NULL, NULL));
    assert_true(isnan(plain->cost));
    ll_array zero_one = ll_array_view((const uint8_t[]){0, 1, 1, 0}, LL_DTYPE_U8, 2, (int64_t[]){2, 2});
    CHECK_OK(ctx, lli_evaluate(cost, ctx, &points, NULL, NULL, &zero_one));
    assert_int_equal(cost->errors, plain->errors);
    CHECK_NEAR(cost->cost, 1 - plain->accuracy, 1e-15);
    ll_array free_of_charge = ll_array_view((const double[4]){0}, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    CHECK_OK(ctx, lli_evaluate(cost, ctx, &points, NULL, NULL, &free_of_charge)); /* all tied: class 0 */
    int64_t ones = 0;
    for (int i = 0; i < N; i++)
        ones += s.truth[i];
    assert_int_equal(cost->errors, ones);
    /* Deciding 0 when 1 is true costs 9: decide 0 only where p_1 * 9 <= p_0. */
    ll_array dear = ll_array_view((const float[]){0, 1, 9, 0}, LL_DTYPE_F32, 2, (int64_t[]){2, 2});
    CHECK_OK(ctx, lli_evaluate(cost, ctx, &points, NULL, NULL, &dear));
    int64_t errors = 0;
    double sum = 0;
    for (int i = 0; i < N; i++) {
        int decided = s.probs[2 * i + 1] * 9 > s.probs[2 * i];
        errors += decided != s.truth[i];
        sum += decided == s.truth[i] ? 0 : decided ? 1 : 9;
    }
    assert_int_equal(cost->errors, errors);
    CHECK_NEAR(cost->cost, sum / N, 1e-13);
    sample_evaluation_free(plain);
    sample_evaluation_free(cost);
    sample_free(&s);
    ll_context_free(ctx);
}

/* Four classes of six points each, counted by hand; class 3 is decided but never surely. */
static void classes_are_counted(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    enum { N = 24 };
    sample s = sample_new(N, 4);
    double *sr = s.confidence[LL_CONFIDENCE_SR] = sample_zeros(N, 8);
    for (int i = 0; i < N; i++) {
        s.truth[i] = i / 6;
        s.label[i] = i % 6 == 5 ? (i / 6 + 1) % 4 : i / 6; /* the last point of each class goes to the next */
        sr[i] = s.label[i] == 3 ? 0.5 : i % 6 == 5 ? 0.4 : 0.9;
    }
    ll_outcome points = sample_view(&s);
    ll_evaluate_options options = ll_evaluate_options_default();
    options.risk = 0;
    ll_evaluation *e = sample_evaluation();
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, &options, NULL));
    assert_true(e->class_cut == 0.9 && e->coverage_at_risk[LL_CONFIDENCE_SR] == 15.0 / 24);
    assert_true(e->majority == 0 && e->majority_accuracy == 0.25);
    for (int k = 0; k < 4; k++) {
        const ll_class_score *c = &e->by_class[k];
        assert_true(c->n == 6 && c->decided == 6 && c->right == 5 && c->precision == 5.0 / 6 && c->recall == 5.0 / 6);
        assert_int_equal(c->answered, k < 3 ? 5 : 0);
        assert_int_equal(c->answered_right, c->answered);
        assert_int_equal(c->answers, c->answered);
        assert_true(c->coverage == (k < 3 ? 5.0 / 6 : 0) && (k < 3 ? c->risk == 0 : isnan(c->risk)));
    }
    for (int i = 0; i < N; i++)
        sr[i] = s.label[i] == s.truth[i] ? 0.1 : 0.9; /* the surest are the wrong ones: no cut keeps the risk */
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, &options, NULL));
    assert_true(isnan(e->class_cut) && e->by_class[0].answered == 0 && e->coverage_at_risk[LL_CONFIDENCE_SR] == 0);
    sample_evaluation_free(e);
    sample_free(&s);
    ll_context_free(ctx);
}

/* No errors, errors only, one point, intervals that are not asked for. */
static void undefined_intervals(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    ll_evaluate_options none = ll_evaluate_options_default();
    none.interval = 0;
    ll_evaluation *e = sample_evaluation();
    sample s = sample_random(9, 50, 0.5, 0);
    ll_outcome points = sample_view(&s);
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    assert_true(e->intervals.aurc[0].lo > 0 && e->intervals.coverage_at_risk[0].hi <= 1 && !isnan(e->ece_p));
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, &none, NULL));
    assert_true(isnan(e->intervals.accuracy.lo) && isnan(e->intervals.aurc[0].lo) && isnan(e->ece_p) && !isnan(e->l2_debiased));
    for (int wrong = 0; wrong < 2; wrong++) {
        for (int i = 0; i < 50; i++)
            s.truth[i] = wrong;
        CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
        assert_true(isnan(e->intervals.aurc[0].lo) && isnan(e->intervals.eaurc[0].lo) && isnan(e->intervals.augrc[0].hi));
        assert_true(isnan(e->intervals.failure_auroc[0].lo) && isnan(e->intervals.coverage_at_risk[0].lo));
        assert_true(wrong ? e->intervals.accuracy.lo == 0 : e->intervals.accuracy.hi == 1);
    }
    points.n = 1;
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    assert_true(isnan(e->intervals.aurc[0].lo) && e->intervals.accuracy.hi < 1);
    sample_evaluation_free(e);
    sample_free(&s);
    ll_context_free(ctx);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample s = sample_random(4, 10, 0.3, 0), o = sample_random(5, 10, 0.3, 0);
    s.probs = sample_zeros(20, 8);
    for (int i = 0; i < 20; i++)
        s.probs[i] = 0.5;
    double *std = s.confidence[LL_CONFIDENCE_STD] = sample_zeros(10, 8);
    ll_evaluation *e = sample_evaluation();
    ll_outcome points = sample_view(&s), bad = points, out = sample_view(&o);
    ll_evaluate_options options = ll_evaluate_options_default();
    ll_threshold t;

    e->n = -7;
    std[3] = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "std is NaN in row 3", lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    assert_int_equal(e->n, -7); /* untouched by a failure */
    for (int i = 0; i < 10; i++)
        std[i] = NAN; /* S = 1: does not exist */
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    assert_true(isnan(e->selective[LL_CONFIDENCE_STD].aurc) && !isnan(e->selective[LL_CONFIDENCE_SR].aurc));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "no confidence std; it needs at least two members",
                ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_STD, 0.1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "no confidence margin", ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_MARGIN, 0.1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "confidence number 16", ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_COUNT, 0.1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "risk is -0.1", ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, -0.1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "coverage is 0", ll_threshold_at_coverage(&t, ctx, &points, LL_CONFIDENCE_SR, 0));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "coverage is nan", ll_threshold_at_coverage(&t, ctx, &points, LL_CONFIDENCE_SR, NAN));

    o.confidence[LL_CONFIDENCE_SR][9] = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "distribution points: confidence sr is NaN in row 9", lli_evaluate(e, ctx, &points, &out, NULL, NULL));
    out.n = 0;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the out-of-distribution points: there is no point", lli_evaluate(e, ctx, &points, &out, NULL, NULL));
    bad.n = 0;
    CHECK_FAILS(ctx, LL_ERR_DATA, "no point", lli_evaluate(e, ctx, &bad, NULL, NULL, NULL));
    bad = points;
    bad.truth = NULL;
    CHECK_FAILS(ctx, LL_ERR_DATA, "no true classes", lli_evaluate(e, ctx, &bad, NULL, NULL, NULL));
    bad = points;
    bad.probs.shape[0] = 9;
    CHECK_FAILS(ctx, LL_ERR_DATA, "probs is [9,2] f64; expected [10,2]", lli_evaluate(e, ctx, &bad, NULL, NULL, NULL));
    bad = points;
    bad.vote = NULL;
    options.classifier = "votes";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "classifier=votes needs", lli_evaluate(e, ctx, &bad, NULL, &options, NULL));

    ll_array costs = ll_array_view((const double[]){0, 1, NAN, 0}, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    CHECK_FAILS(ctx, LL_ERR_USAGE, "classifier=votes and costs", lli_evaluate(e, ctx, &points, NULL, &options, &costs));
    CHECK_FAILS(ctx, LL_ERR_DATA, "row 1, column 0", lli_evaluate(e, ctx, &points, NULL, NULL, &costs));
    costs.rank = 1;
    CHECK_FAILS(ctx, LL_ERR_DATA, "expected [2,2]", lli_evaluate(e, ctx, &points, NULL, NULL, &costs));
    bad = points;
    bad.probs.data = NULL;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "costs needs probabilities", lli_evaluate(e, ctx, &bad, NULL, NULL, &costs));
    CHECK_OK(ctx, lli_evaluate(e, ctx, &bad, NULL, NULL, NULL));
    assert_true(isnan(e->nll) && isnan(e->brier) && !isnan(e->ece));

    options = ll_evaluate_options_default();
    options.bins = LL_BINS_MAX + 1;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "bins is 1001", lli_evaluate(e, ctx, &points, NULL, &options, NULL));
    options = ll_evaluate_options_default();
    options.edges = "wide";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "edges is wide", lli_evaluate(e, ctx, &points, NULL, &options, NULL));
    options.struct_size = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "struct_size", lli_evaluate(e, ctx, &points, NULL, &options, NULL));

    s.truth[2] = 2;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the true class is 2 in row 2; expected a class of 0..1",
                lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    s.truth[2] = 0;
    s.probs[7] = -1;
    CHECK_FAILS(ctx, LL_ERR_DATA, "row 3, class 1", lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    s.probs[7] = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "row 3, class 1", lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    s.probs[7] = 0.5;
    /* What evaluate refuses, a threshold does too, whatever confidence it cuts. */
    const struct {
        ll_confidence c;
        double x;
        const char *sentence;
    } wrong[] = {{LL_CONFIDENCE_SR, 1.5, "the predictions: confidence sr is 1.5 in row 1"},
                 {LL_CONFIDENCE_SR, INFINITY, "the predictions: confidence sr is infinite in row 1"},
                 {LL_CONFIDENCE_STD, -INFINITY, "the predictions: confidence std is infinite in row 1"},
                 {LL_CONFIDENCE_STD, NAN, "the predictions: confidence std is NaN in row 1"}};
    for (int i = 0; i < 10; i++)
        std[i] = -0.1;
    for (size_t i = 0; i < LLI_COUNT(wrong); i++) {
        double *x = &s.confidence[wrong[i].c][1], good = *x;
        *x = wrong[i].x;
        CHECK_FAILS(ctx, LL_ERR_DATA, wrong[i].sentence, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
        CHECK_FAILS(ctx, LL_ERR_DATA, wrong[i].sentence, ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 0.1));
        CHECK_FAILS(ctx, LL_ERR_DATA, wrong[i].sentence, ll_threshold_at_coverage(&t, ctx, &points, LL_CONFIDENCE_STD, 0.9));
        *x = good;
    }
    /* Without probabilities nothing but the sorting looks at the cancel flag. */
    ll_context *stopped = check_context(1);
    ll_outcome bare = points;
    bare.probs.data = NULL;
    CHECK_OK(stopped, lli_evaluate(e, stopped, &bare, NULL, NULL, NULL));
    ll_context_cancel(stopped);
    CHECK_FAILS(stopped, LL_ERR_CANCELLED, "interrupted", lli_evaluate(e, stopped, &bare, NULL, NULL, NULL));
    CHECK_FAILS(stopped, LL_ERR_CANCELLED, "interrupted", ll_threshold_at_risk(&t, stopped, &bare, LL_CONFIDENCE_SR, 0.1));
    ll_context_free(stopped);
    s.probs[7] = 1.5;
    CHECK_FAILS(ctx, LL_ERR_DATA, "probs has 1.5 in row 3, class 1", ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 0.1));
    sample_evaluation_free(e);
    sample_free(&s);
    sample_free(&o);
    ll_context_free(ctx);
}

/* Each allocation fails once: a clean status, nothing leaked (the sanitizer build watches). */
static void memory_may_run_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample s = sample_random(9, 20, 0.3, 0);
    s.probs = sample_zeros(40, 8);
    ll_outcome points = sample_view(&s);
    ll_array costs = ll_array_view((const double[]){0, 1, 1, 0}, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    ll_evaluation *e = sample_evaluation();
    ll_threshold t;
    int failures = 0;
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = lli_evaluate(e, ctx, &points, &points, NULL, &costs);
        if (status == LL_OK)
            break;
        assert_int_equal(status, LL_ERR_MEMORY);
        failures++;
    }
    assert_true(failures >= 9);
    for (int64_t n = 1; n <= 4; n++) {
        lli_memory_fail_at(ctx, n);
        assert_int_equal(ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 0.1), LL_ERR_MEMORY);
    }
    lli_memory_fail_at(ctx, 0);
    sample_evaluation_free(e);
    sample_free(&s);
    ll_context_free(ctx);
}

static void confidences_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"sr",     "std",      "hq",  "maxmin", "entropy", "mi",     "margin", "msp",
                                        "energy", "maxlogit", "mds", "mds++",  "rmds",    "rmds++", "knn",    "vim"};
    static const bool members[LL_CONFIDENCE_COUNT] = {false, true, true, true, false, true, false};
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        assert_string_equal(ll_confidence_name(c), names[c]);
        assert_int_equal(ll_confidence_needs_members(c), members[c]);
        assert_int_equal(ll_confidence_needs_scores(c), c >= LL_CONFIDENCE_MSP);
        assert_int_equal(ll_confidence_find(names[c]), c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_vector),           cmocka_unit_test(a_zero_probability_makes_nll_infinite),
        cmocka_unit_test(the_tail_ranks_sr),      cmocka_unit_test(costs_decide),
        cmocka_unit_test(classes_are_counted),    cmocka_unit_test(undefined_intervals),
        cmocka_unit_test(bad_input_is_refused),   cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(confidences_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
