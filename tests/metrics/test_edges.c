/* SPDX-License-Identifier: MIT */
/* The ends of what outcomes may hold, numbers that do not exist, curves, closed intervals, calls that are interrupted. */
#include <math.h>

#include "heard.h"
#include "metrics/calibration.h"
#include "metrics/conformal.h"
#include "metrics/coverage_draw.h"
#include "metrics/interval.h"
#include "metrics/miscalibration.h"
#include "metrics/outcome.h"
#include "metrics/proper_scores.h"
#include "metrics/resample.h"
#include "metrics/sample.h"
#include "metrics/statistic.h"

/* Neither confidences nor probabilities nor the number of classes. */
static void only_classes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const int32_t label[] = {0, 1, 5, 2}, truth[] = {0, 1, 5, 9};
    const ll_outcome points = {.struct_size = sizeof points, .n = 4, .label = label, .truth = truth};
    ll_evaluation *e;
    CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, NULL, NULL));
    assert_true(e->n == 4 && e->errors == 1 && e->accuracy == 0.75 && e->classes == 0 && e->bins == 0 && !e->has_ood && e->n_out == 0);
    const double missing[] = {
        e->nll, e->brier, e->ece, e->mce, e->cost, e->min_aurc, e->base_rate, e->ece_p, e->l2_debiased, e->class_cut, e->majority_accuracy};
    for (size_t i = 0; i < LLI_COUNT(missing); i++)
        assert_true(isnan(missing[i]));
    assert_true(e->majority == -1 && !e->by_class);
    for (int c = 0; c < LL_CONFIDENCE_MAX; c++) {
        const ll_selective *s = &e->selective[c];
        const ll_ood *o = &e->ood[c];
        assert_true(isnan(s->aurc) && isnan(s->best) && isnan(s->expected) && isnan(s->worst) && isnan(s->eaurc) && isnan(s->augrc));
        assert_true(isnan(s->failure_auroc) && !s->ties && isnan(e->coverage_at_risk[c]));
        assert_true(isnan(o->auroc) && isnan(o->aupr_in) && isnan(o->aupr_out) && isnan(o->fpr95));
    }
    const ll_interval *all = (const ll_interval *)&e->intervals; /* the first is that of the accuracy */
    for (size_t i = 0; i < sizeof e->intervals / sizeof *all; i++)
        assert_int_equal(isnan(all[i].lo) && isnan(all[i].hi), &all[i] != &e->intervals.accuracy);
    lli_evaluate_release(e); /* and again in free */
    ll_evaluation_free(e);
    ll_evaluation_free(NULL);
    ll_context_free(ctx);
}

/* The least AURC is that of the confidences that the paper shows: sr, std, hq, and maxmin where its conventions are asked for. */
static void least_aurc(void **state) {
    (void)state;
    enum { N = 200 };
    for (int best = 0; best < LL_CONFIDENCE_COUNT; best++)
        for (int brosse = 0; brosse < 2; brosse++) {
            ll_context *ctx = check_context(1);
            sample s = sample_random(30, N, 0.4, 0);
            for (int c = 1; c < LL_CONFIDENCE_COUNT; c++)
                s.confidence[c] = sample_zeros(N, 8);
            for (int i = 0; i < N; i++)
                for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) /* the best one knows all errors */
                    s.confidence[c][i] = c == best ? 1 - 0.5 * s.truth[i] : check_uniform(31 + c, i);
            ll_outcome points = sample_view(&s);
            ll_evaluate_options o = ll_evaluate_options_default();
            o.interval = 0;
            o.risk = 0.3;
            o.compat = brosse ? "brosse" : "none";
            ll_evaluation *e;
            CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, NULL, &o));
            double least = fmin(fmin(e->selective[0].aurc, e->selective[1].aurc), e->selective[2].aurc);
            assert_true(e->min_aurc == (brosse ? fmin(least, e->selective[LL_CONFIDENCE_MAXMIN].aurc) : least));
            for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
                ll_threshold t;
                CHECK_OK(ctx, ll_threshold_at_risk(&t, ctx, &points, c, 0.3));
                assert_true(brosse && c == LL_CONFIDENCE_HQ ? true : e->coverage_at_risk[c] == t.coverage);
            }
            points.vote = NULL;
            ll_evaluation *other = e;
            if (brosse)
                CHECK_FAILS(ctx, LL_ERR_USAGE, "compat=brosse measures hq by the votes", ll_evaluate(&other, ctx, &points, NULL, &o));
            assert_true(!brosse || !other);
            ll_evaluation_free(e);
            sample_free(&s);
            ll_context_free(ctx);
        }
}

/* A low level has intervals too; one error has, and the warnings of classes are said. */
static void narrow_intervals(void **state) {
    (void)state;
    enum { N = 300 };
    heard h;
    ll_context *ctx = heard_context(&h);
    sample s = sample_random(9, N, 0.3, 0);
    s.probs = sample_zeros(2 * N, 8);
    for (int i = 0; i < N; i++) {
        s.probs[2 * i] = 0.3 + 0.6 * check_uniform(8, i);
        s.probs[2 * i + 1] = 1 - s.probs[2 * i];
    }
    ll_outcome points = sample_view(&s);
    ll_evaluate_options o = ll_evaluate_options_default();
    o.interval = 0.1;
    ll_evaluation *e;
    CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, NULL, &o));
    const ll_intervals *i = &e->intervals;
    assert_true(i->accuracy.lo < i->accuracy.hi && i->nll.lo < e->nll && e->nll < i->nll.hi && i->brier.lo < e->brier && i->aurc[0].lo > 0);
    ll_evaluation_free(e);
    double least = 2;
    int64_t lowest = 0;
    for (int64_t k = 0; k < N; k++) {
        s.truth[k] = 0;
        lowest = s.confidence[0][k] < least ? k : lowest;
        least = fmin(least, s.confidence[0][k]);
    }
    s.truth[lowest] = 1;
    o.interval = 0.95;
    o.risk = 0;
    CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, NULL, &o)); /* the least sure of all is in a draw or not */
    assert_true(e->intervals.coverage_at_risk[0].lo < 1 && e->intervals.coverage_at_risk[0].hi == 1);
    ll_evaluation_free(e);
    h = (heard){0};
    for (int64_t k = 0; k < N; k++)
        s.truth[k] = (s.confidence[0][k] > 0.5) != (k % 9 == 0);
    CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, NULL, &o));
    assert_non_null(strstr(h.text, "sr ranks backwards here"));
    ll_evaluation_free(e);
    sample_free(&s);
    ll_context_free(ctx);
}

/* Numbers may leave their range by 1e-3 and no more; sr not below 0; a logarithm that is not known may be NaN, others not. */
static void ends_of_an_outcome(void **state) {
    (void)state;
    enum { N = 700 };
    ll_context *ctx = check_context(1);
    double sr[N], tail[N], sr_log[N], margin_log[N], true_log[N], probs[2 * N];
    for (int i = 0; i < N; i++) {
        sr[i] = tail[i] = probs[2 * i] = probs[2 * i + 1] = 0.5;
        sr_log[i] = margin_log[i] = true_log[i] = -1;
    }
    ll_outcome o = {.n = N, .classes = 2, .sr_tail = tail, .sr_logtail = sr_log, .margin_logtail = margin_log, .log_true = true_log};
    o.confidence[LL_CONFIDENCE_SR] = sr;
    o.probs = ll_array_view(probs, LL_DTYPE_F64, 2, (int64_t[]){N, 2});
    const double over = 1 + 1e-3, under = -1e-3;
    const struct {
        double *x, good, bad;
        const char *sentence;
    } cases[] = {{&sr[N - 1], over, nextafter(over, 2), "sr is 1.001 in row 699"},
                 {&sr[0], 0, -1e-300, "sr is -1e-300 in row 0"},
                 {&tail[0], over, nextafter(over, 2), "sr_tail is 1.001 in row 0"},
                 {&tail[N - 1], under, nextafter(under, -1), "sr_tail is -0.001 in row 699"},
                 {&tail[5], 0, NAN, "sr_tail is nan in row 5"},
                 {&sr_log[0], 1e-3, 0.0011, "sr_logtail is 0.0011 in row 0"},
                 {&sr_log[N - 1], -INFINITY, NAN, "sr_logtail is nan in row 699"},
                 {&margin_log[4], 1e-3, 0.0011, "margin_logtail is 0.0011 in row 4"},
                 {&margin_log[4], -800, NAN, "margin_logtail is nan in row 4"},
                 {&true_log[N - 1], NAN, 0.0011, "log_true is 0.0011 in row 699"},
                 {&probs[2 * N - 1], over, nextafter(over, 2), "probs has 1.001 in row 699, class 1"},
                 {&probs[0], under, nextafter(under, -1), "probs has -0.001 in row 0, class 0"}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        double before = *cases[c].x;
        *cases[c].x = cases[c].good;
        CHECK_OK(ctx, lli_outcome_check(ctx, "these", &o));
        *cases[c].x = cases[c].bad;
        CHECK_FAILS(ctx, LL_ERR_DATA, cases[c].sentence, lli_outcome_check(ctx, "these", &o));
        *cases[c].x = before;
    }
    sr[2] = sr[600] = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "confidence sr is NaN in row 2;", lli_outcome_check(ctx, "these", &o));
    o.confidence[LL_CONFIDENCE_SR] = NULL;
    int32_t class[N] = {0};
    const int32_t **all[] = {&o.label, &o.truth, &o.vote};
    static const char *const names[] = {"the decided class is ", "the true class is ", "the vote is "};
    for (int k = 0; k < 3; k++) {
        *all[k] = class;
        class[N - 1] = 1;
        CHECK_OK(ctx, lli_outcome_check(ctx, "these", &o));
        class[N - 1] = 2;
        CHECK_FAILS(ctx, LL_ERR_DATA, names[k], lli_outcome_check(ctx, "these", &o));
        class[N - 1] = -1;
        CHECK_FAILS(ctx, LL_ERR_DATA, names[k], lli_outcome_check(ctx, "these", &o));
        class[N - 1] = 0;
        if (k < 2)
            CHECK_FAILS(ctx, LL_ERR_DATA, k ? "they have no decided classes" : "they have no true classes",
                        lli_outcome_check_truth(ctx, "these", &o));
        *all[k] = NULL;
    }
    ll_outcome taken, negative = {.struct_size = sizeof negative, .n = -1};
    CHECK_FAILS(ctx, LL_ERR_USAGE, "n is -1 and classes is 0", lli_outcome_take(&taken, ctx, &negative));
    negative = (ll_outcome){.struct_size = sizeof negative, .classes = -1};
    CHECK_FAILS(ctx, LL_ERR_USAGE, "n is 0 and classes is -1", lli_outcome_take(&taken, ctx, &negative));
    ll_context_free(ctx);
}

/* What ranks: the logarithm of the tail, the tail, the confidence, the first that is there on both sides. */
static void rankings(void **state) {
    (void)state;
    const double sr[] = {1}, margin[] = {2}, tail[] = {3}, sr_log[] = {4}, margin_log[] = {5};
    for (int has = 0; has < 8; has++)
        for (int beside = -1; beside < 8; beside++)
            for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
                ll_outcome o[2] = {{.n = 1}, {.n = 1}};
                for (int k = 0; k < 2; k++) {
                    int bits = k ? beside : has;
                    o[k].confidence[LL_CONFIDENCE_SR] = sr;
                    o[k].confidence[LL_CONFIDENCE_MARGIN] = margin;
                    o[k].sr_tail = bits & 1 ? tail : NULL;
                    o[k].sr_logtail = bits & 2 ? sr_log : NULL;
                    o[k].margin_logtail = bits & 4 ? margin_log : NULL;
                }
                int both = beside < 0 ? has : has & beside;
                const double *expected = c == LL_CONFIDENCE_SR       ? both & 2   ? sr_log
                                                                       : both & 1 ? tail
                                                                                  : sr
                                         : c == LL_CONFIDENCE_MARGIN ? both & 4 ? margin_log : margin
                                                                     : NULL;
                bool falling;
                assert_ptr_equal(lli_outcome_ranking(&falling, &o[0], c, beside < 0 ? NULL : &o[1]), expected);
                assert_int_equal(falling, expected && expected != sr && expected != margin);
            }
}

/* Each distinct confidence is a cut: what it accepts, and how much of that is wrong. */
static void whole_curve(void **state) {
    (void)state;
    enum { N = 90 };
    ll_context *ctx = check_context(1);
    sample s = sample_random(33, N, 0.5, 12);
    ll_outcome points = sample_view(&s);
    ll_risk_coverage *r;
    CHECK_OK(ctx, ll_risk_coverage_new(&r, ctx, &points, LL_CONFIDENCE_SR));
    int64_t count = ll_risk_coverage_count(r);
    const double *cut = ll_risk_coverage_cut(r);
    int64_t last = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t accepted = 0, wrong = 0;
        for (int i = 0; i < N; i++) {
            accepted += s.confidence[0][i] >= cut[k];
            wrong += s.confidence[0][i] >= cut[k] && s.truth[i];
        }
        assert_true(accepted > last && (k == 0 || cut[k] < cut[k - 1]));
        CHECK_NEAR(ll_risk_coverage_coverage(r)[k], (double)accepted / N, 0);
        CHECK_NEAR(ll_risk_coverage_risk(r)[k], (double)wrong / (double)accepted, 0);
        last = accepted;
    }
    assert_int_equal(last, N);
    ll_risk_coverage_free(r);
    ll_risk_coverage_free(NULL);
    assert_true(ll_risk_coverage_count(NULL) == 0 && !ll_risk_coverage_cut(NULL) && !ll_risk_coverage_coverage(NULL) &&
                !ll_risk_coverage_risk(NULL));
    ll_threshold t;
    CHECK_OK(ctx, ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 1));
    assert_true(t.found && t.coverage == 1);
    CHECK_OK(ctx, ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 0));
    CHECK_OK(ctx, ll_threshold_at_coverage(&t, ctx, &points, LL_CONFIDENCE_SR, 1));
    assert_true(t.found && t.accepted == N);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "risk is 1.1", ll_threshold_at_risk(&t, ctx, &points, LL_CONFIDENCE_SR, 1.1));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "coverage is 1.1", ll_threshold_at_coverage(&t, ctx, &points, LL_CONFIDENCE_SR, 1.1));
    for (int64_t at = 1;; at++) {
        r = NULL;
        lli_memory_fail_at(ctx, at);
        ll_status status = ll_risk_coverage_new(&r, ctx, &points, LL_CONFIDENCE_SR);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK)
            break;
        assert_true(status == LL_ERR_MEMORY && !r);
    }
    ll_risk_coverage_free(r);
    sample_free(&s);
    ll_context_free(ctx);
}

/* A confidence that is an edge belongs to the bin above it, or to the one below with right edges; the last and the first bin are closed. */
static void edges_of_bins(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static ll_bin bin[60];
    lli_curve curve;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, 1));
    for (int64_t m = 1; m <= 60; m++)
        for (int64_t j = -1; j <= m + 1; j++)
            for (int right = 0; right < 2; right++) {
                double ece, mce, c = j < 0 ? -1e-4 : j > m ? 1 + 1e-4 : (double)j / (double)m;
                int64_t in = j - right;
                lli_curve_clear(&curve);
                lli_curve_add(&curve, &c, 1, false, NULL, false);
                CHECK_OK(ctx, lli_curve_close(ctx, &curve));
                assert_int_equal(
                    lli_calibration_measure(&ece, &mce, bin, &curve, m, right ? LLI_CALIBRATION_RIGHT : LLI_CALIBRATION_LEFT, false), m);
                for (int64_t k = 0; k < m; k++)
                    assert_int_equal(bin[k].n, k == LLI_MAX(0, LLI_MIN(in, m - 1)));
                CHECK_NEAR(ece, fabs(1 - c), 1e-15);
                CHECK_NEAR(mce, fabs(1 - c), 1e-15);
            }
    lli_curve_release(&curve);
    ll_context_free(ctx);
}

static bool none(ll_interval i) {
    return isnan(i.lo) && isnan(i.hi);
}

/* Where closed forms end: bounds of what is measured, no numbers, the exact test below 25 pairs. */
static void ends_of_intervals(void **state) {
    (void)state;
    assert_true(none(lli_interval_normal(1, NAN, 2)) && none(lli_interval_normal(NAN, 1, 2)) &&
                none(lli_interval_above_zero(1, INFINITY, 2)));
    assert_true(none(lli_interval_log(0, 0, 2)) && none(lli_interval_log(0.5, NAN, 2)) && none(lli_interval_log(-1, 1, 2)));
    assert_true(none(lli_interval_logit(0, 1, 2)) && none(lli_interval_logit(1, 1, 2)) && none(lli_interval_logit(0.5, NAN, 2)));
    assert_true(lli_interval_log(0.9, 1, 2).hi == 1 && lli_interval_above_zero(-3, 1, 2).hi == 0 &&
                lli_interval_above_zero(-3, 1, 2).lo == 0);
    assert_true(lli_interval_above_zero(0.5, 0.125, 2).lo == 0.25 && lli_interval_above_zero(0.5, 0.125, 2).hi == 0.75);
    assert_true(lli_interval_agresti_min(1, 0, 1, 2).hi == 1 && lli_interval_agresti_min(0, 1, 1, 2).lo == -1);
    assert_true(isnan(lli_interval_p(INFINITY, 1)) && isnan(lli_interval_p(1, INFINITY)) && isnan(lli_interval_p(0, NAN)));
    assert_true(lli_interval_wilson(0, 5, 2).lo == 0 && lli_interval_wilson(5, 5, 2).hi == 1);
    double sum = 0, term = 0x1p-24;
    for (int k = 0; k <= 8; k++) { /* P[Bin(24, 1/2) <= 8] */
        sum += term;
        term *= (24.0 - k) / (k + 1);
    }
    CHECK_NEAR(lli_interval_mcnemar(16, 8), 2 * sum, 1e-12);
    CHECK_NEAR(lli_interval_mcnemar(16, 9), erfc(6 / sqrt(50)), 1e-12);
    CHECK_NEAR(lli_interval_mcnemar(0, 0), 1, 0);
    CHECK_NEAR(lli_interval_mcnemar(13, 13), 1, 0);
}

/* Whatever takes long looks whether it should stop. */
static void interrupted(void **state) {
    (void)state;
    enum { N = 40 };
    static double values[LLI_RESAMPLE_DRAWS];
    ll_context *ctx = check_context(1);
    uint8_t code[N] = {LLI_STATISTIC_FIRST}, set[N];
    int32_t decision[N], size[N], truth[N] = {0};
    double x[N], probs[2 * N], ece, mce, p;
    for (int i = 0; i < N; i++)
        x[i] = probs[2 * i] = probs[2 * i + 1] = 0.5;
    const lli_statistic_cut cut = {.code = code, .n = N, .risk = 0.1};
    lli_statistic *const functions[] = {lli_statistic_coverage};
    const lli_resample plan = {.n = N, .count = 1, .statistic = functions, .arg = (const void *const[]){&cut}};
    const ll_array rows = ll_array_view(probs, LL_DTYPE_F64, 2, (int64_t[]){N, 2});
    const lli_conformal_rule rule = {.alpha = 0.1, .delta = NAN};
    lli_conformal fitted, other;
    lli_curve curve;
    ll_bin bin[4];
    lli_bin_runs runs;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, N));
    lli_curve_add(&curve, x, N, false, NULL, false);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    int64_t bins = lli_calibration_measure(&ece, &mce, bin, &curve, 4, LLI_CALIBRATION_LEFT, false);
    CHECK_OK(ctx, lli_bin_runs_init(&runs, ctx, &curve, bin, bins));
    CHECK_OK(ctx, lli_conformal_fit(ctx, &fitted, &rows, truth, &rule));
    ll_outcome points = {.n = N, .classes = 2, .probs = rows};
    ll_context_cancel(ctx);
    assert_int_equal(lli_coverage_draw(values, ctx, (const uint8_t *const[]){code}, 1, N, 0.1, 1), LL_ERR_CANCELLED);
    assert_int_equal(lli_resample_run(values, ctx, &plan), LL_ERR_CANCELLED);
    assert_int_equal(lli_bin_runs_ece(values, ctx, &runs, 1), LL_ERR_CANCELLED);
    assert_int_equal(lli_miscalibration_p(&p, ctx, &runs, ece, 1), LL_ERR_CANCELLED);
    assert_int_equal(lli_proper_scores_decide(decision, ctx, &rows, (const double[]){0, 1, 1, 0}), LL_ERR_CANCELLED);
    assert_int_equal(lli_conformal_fit(ctx, &other, &rows, truth, &rule), LL_ERR_CANCELLED);
    assert_int_equal(lli_conformal_sets(ctx, &fitted, &rows, 0, set, size), LL_ERR_CANCELLED);
    assert_int_equal(lli_curve_close(ctx, &curve), LL_ERR_CANCELLED);
    assert_int_equal(lli_outcome_check(ctx, "these", &points), LL_ERR_CANCELLED);
    lli_conformal_release(&fitted);
    lli_conformal_release(&fitted); /* nothing is left to free */
    lli_bin_runs_release(&runs);
    lli_bin_runs_release(&runs);
    lli_curve_release(&curve);
    lli_curve_release(&curve);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_classes),       cmocka_unit_test(least_aurc),        cmocka_unit_test(narrow_intervals),
        cmocka_unit_test(ends_of_an_outcome), cmocka_unit_test(rankings),          cmocka_unit_test(whole_curve),
        cmocka_unit_test(edges_of_bins),      cmocka_unit_test(ends_of_intervals), cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
