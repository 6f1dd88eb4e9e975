/* SPDX-License-Identifier: MIT */
/* Methods side by side: what their table has is what each metric says alone, with tests corrected for their number; and the options of this
 * room, which take what their ends say and no more. */
#include "heard.h"
#include "metrics/certificate.h"
#include "metrics/comparison.h"
#include "metrics/sample.h"
#include "option_ends.h"

enum { METHODS = 4, N = 400 };

/* Methods on the same rows, the later ones worse; two classes, with probabilities. */
static void make(sample out[METHODS], int64_t n) {
    for (int m = 0; m < METHODS; m++) {
        sample *s = &out[m];
        *s = sample_new(n, 2);
        s->confidence[LL_CONFIDENCE_SR] = sample_zeros(n, 8);
        s->probs = sample_zeros(2 * n, 8);
        for (int64_t i = 0; i < n; i++) {
            double u = check_uniform(70, 2 * i), noise = 0.2 * m * check_uniform(71 + m, i),
                   sure = 0.5 + 0.5 * fabs(u + noise - 0.5) / (1 + noise);
            s->truth[i] = check_uniform(70, 2 * i + 1) < u;
            s->label[i] = u + noise > 0.5 + 0.1 * m;
            s->confidence[LL_CONFIDENCE_SR][i] = sure;
            s->probs[2 * i + s->label[i]] = sure;
            s->probs[2 * i + 1 - s->label[i]] = 1 - sure;
        }
    }
}

static void drop(sample s[METHODS]) {
    for (int m = 0; m < METHODS; m++)
        sample_free(&s[m]);
}

/* Holm by its definition: the k-th smallest of n times n - k + 1, never less than one before it, at most 1. */
static double holm(const double *p, int64_t n, int64_t of) {
    double most = 0;
    if (isnan(p[of]))
        return NAN;
    int64_t defined = 0;
    for (int64_t i = 0; i < n; i++)
        defined += !isnan(p[i]);
    for (int64_t i = 0; i < n; i++) {
        int64_t less = 0;
        for (int64_t j = 0; j < n; j++)
            less += p[j] < p[i];
        if (p[i] <= p[of])
            most = fmax(most, fmin(1, (double)(defined - less) * p[i]));
    }
    return most;
}

static void same(double a, double b) {
    if (!(isnan(a) && isnan(b)))
        CHECK_NEAR(a, b, 1e-12);
}

/* The mean difference of NLL or Brier on the same rows, between its ends at 90 %. */
static void check_scores(const ll_difference *d, const sample *a, const sample *b, bool brier) {
    double mean = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < N; i++) {
            double p = a->probs[2 * i + a->truth[i]], q = b->probs[2 * i + b->truth[i]];
            double one = brier ? 2 * (1 - q) * (1 - q) - 2 * (1 - p) * (1 - p) : log(p / q);
            if (pass)
                squares += (one - mean) * (one - mean);
            else
                mean += one / N;
        }
    double half = 1.6448536269514722 * sqrt(squares / N / (N - 1));
    CHECK_NEAR(d->value, mean, 1e-12);
    CHECK_NEAR(d->interval.lo, mean - half, 1e-9);
    CHECK_NEAR(d->interval.hi, mean + half, 1e-9);
}

static void test_contrast(void **state) {
    (void)state;
    sample s[METHODS], far[METHODS];
    ll_outcome in[METHODS], out[METHODS];
    const ll_outcome *points[METHODS], *outside[METHODS];
    lli_contrast_side side[METHODS];
    static const char *const names[] = {"one", "two", "three", "four"};
    make(s, N);
    make(far, 90);
    for (int m = 0; m < METHODS; m++) {
        in[m] = sample_view(&s[m]);
        out[m] = sample_view(&far[m]);
        side[m] = (lli_contrast_side){points[m] = &in[m], outside[m] = &out[m]};
    }
    heard h;
    ll_context *ctx = heard_context(&h);
    ll_contrast *c;
    ll_evaluate_options o = ll_evaluate_options_default();
    o.interval = 0.9;
    o.risk = 0.2;
    o.seed = 5;
    CHECK_OK(ctx, ll_contrast_new(&c, ctx, names, points, outside, METHODS, LL_CONFIDENCE_SR, &o));
    assert_true(ll_contrast_count(c) == METHODS && ll_contrast_count(NULL) == 0);
    assert_true(ll_contrast_by(c) == LL_CONFIDENCE_SR && ll_contrast_by(NULL) == LL_CONFIDENCE_SR);
    const lli_contrast_plan plan = {LL_CONFIDENCE_SR, 0.9, 0.2, 5};
    ll_difference alone[METHODS][LL_METRIC_COUNT];
    for (int m = 1; m < METHODS; m++)
        CHECK_OK(ctx, lli_contrast_measure(alone[m], ctx, &side[0], &side[m], &plan));
    for (int m = 0; m < METHODS; m++) {
        ll_evaluation *e;
        assert_string_equal(ll_contrast_name(c, m), names[m]);
        CHECK_OK(ctx, ll_evaluate(&e, ctx, points[m], outside[m], &o));
        const ll_evaluation *of = ll_contrast_evaluation(c, m);
        assert_true(of->accuracy == e->accuracy && of->nll == e->nll && of->ood[0].auroc == e->ood[0].auroc);
        assert_true(of->intervals.aurc[0].lo == e->intervals.aurc[0].lo);
        ll_evaluation_free(e);
        if (m > 0) {
            check_scores(ll_contrast_difference(c, m, LL_METRIC_NLL), &s[0], &s[m], false);
            check_scores(ll_contrast_difference(c, m, LL_METRIC_BRIER), &s[0], &s[m], true);
        }
        for (int metric = 0; metric < LL_METRIC_COUNT; metric++) {
            const ll_difference *d = ll_contrast_difference(c, m, (ll_metric)metric);
            if (m == 0) {
                assert_null(d);
                continue;
            }
            double p[] = {alone[1][metric].p, alone[2][metric].p, alone[3][metric].p};
            same(d->value, alone[m][metric].value);
            same(d->interval.lo, alone[m][metric].interval.lo);
            same(d->p, p[m - 1]);
            same(d->p_adjusted, holm(p, METHODS - 1, m - 1));
            bool less = metric != LL_METRIC_ACCURACY && metric != LL_METRIC_FAILURE_AUROC && metric != LL_METRIC_COVERAGE_AT_RISK &&
                        metric != LL_METRIC_OOD_AUROC;
            assert_string_equal(d->word, d->p_adjusted >= 0.1 ? "within noise" : (d->value < 0) == less ? "better" : "worse");
        }
    }
    assert_true(!ll_contrast_name(c, -1) && !ll_contrast_name(c, METHODS) && !ll_contrast_name(NULL, 0));
    assert_true(!ll_contrast_evaluation(c, -1) && !ll_contrast_evaluation(c, METHODS));
    assert_true(!ll_contrast_difference(c, METHODS, LL_METRIC_NLL) && !ll_contrast_difference(c, 1, LL_METRIC_COUNT));
    ll_contrast_free(c);
    ll_contrast_free(NULL);
    ll_context_free(ctx);
    drop(s);
    drop(far);
}

static void test_contrast_refuses(void **state) {
    (void)state;
    sample s[METHODS];
    ll_outcome in[2];
    const ll_outcome *points[] = {&in[0], &in[1]}, *outside[] = {NULL, &in[0]};
    const char *names[] = {"one", "two"};
    make(s, N);
    in[0] = sample_view(&s[0]);
    in[1] = sample_view(&s[1]);
    ll_context *ctx = check_context(1);
    ll_contrast *c;
    ll_evaluate_options o = ll_evaluate_options_default();
    double costs[] = {0, 1, 1, 0};
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
#define REFUSED(status, words) CHECK_FAILS(ctx, status, words, ll_contrast_new(&c, ctx, names, points, NULL, 2, LL_CONFIDENCE_SR, &o))
    CHECK_FAILS(ctx, LL_ERR_USAGE, "count is 1; expected two", ll_contrast_new(&c, ctx, names, points, NULL, 1, LL_CONFIDENCE_SR, &o));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "no confidence number", ll_contrast_new(&c, ctx, names, points, NULL, 2, LL_CONFIDENCE_COUNT, &o));
    CHECK_FAILS(ctx, LL_ERR_DATA, "two has out-of-distribution points and one has none",
                ll_contrast_new(&c, ctx, names, points, outside, 2, LL_CONFIDENCE_SR, &o));
    outside[0] = &in[0];
    outside[1] = NULL;
    CHECK_FAILS(ctx, LL_ERR_DATA, "one has out-of-distribution points and two has none",
                ll_contrast_new(&c, ctx, names, points, outside, 2, LL_CONFIDENCE_SR, &o));
    ll_outcome fewer = in[1];
    fewer.n--;
    fewer.probs.data = NULL;
    outside[1] = &fewer;
    CHECK_FAILS(ctx, LL_ERR_DATA, "one has 400 out-of-distribution points and two has 399",
                ll_contrast_new(&c, ctx, names, points, outside, 2, LL_CONFIDENCE_SR, &o));
    o.costs = &matrix;
    REFUSED(LL_ERR_USAGE, "costs are not for several methods");
    o.costs = NULL;
    o.classifier = "votes";
    REFUSED(LL_ERR_USAGE, "classifier=votes is not for several methods");
    o.classifier = "mean";
    o.compat = "brosse";
    REFUSED(LL_ERR_USAGE, "compat=brosse");
    o.compat = "none";
    o.interval = 0;
    REFUSED(LL_ERR_USAGE, "interval is 0");
    o.interval = 0.5;
    names[1] = NULL;
    REFUSED(LL_ERR_USAGE, "method 1 has no name");
    names[1] = "two";
    points[1] = NULL;
    REFUSED(LL_ERR_USAGE, "method 1 has no points");
    points[1] = &fewer;
    REFUSED(LL_ERR_DATA, "one has 400 points and two has 399; expected predictions of the same rows");
    points[1] = &in[1];
    s[1].truth[N - 1] ^= 1;
    REFUSED(LL_ERR_DATA, "the true class of row 399 is");
    assert_null(c);
    ll_context_free(ctx);
    drop(s);
}

/* Rows of compare: numbers, cuts of other rows, differences to the first, tests of all of them together. */
static void test_comparison(void **state) {
    (void)state;
    sample s[METHODS], cuts[METHODS];
    make(s, N);
    make(cuts, N / 2);
    ll_context *ctx = check_context(1);
    for (int given = 0; given < 2; given++) {
        ll_comparison *c;
        CHECK_OK(ctx, lli_memory_new(ctx, &c, 1, sizeof *c));
        ll_compare_options o = ll_compare_options_default();
        o.risk = given ? 0.2 : NAN;
        o.interval = 0.9;
        CHECK_OK(ctx, lli_comparison_init(c, ctx, METHODS, &o));
        assert_null(ll_comparison_recommendation(c));
        CHECK_NEAR(c->risk, given ? 0.2 : 0.01, 0);
        ll_outcome reports[METHODS], on[METHODS];
        lli_candidate candidates[METHODS];
        double p[LL_METRIC_COUNT][METHODS];
        for (int m = 0; m < METHODS; m++) {
            reports[m] = sample_view(&s[m]);
            on[m] = sample_view(&cuts[m]);
            candidates[m] = (lli_candidate){&on[m], m, METHODS - m, false};
            assert_int_equal(lli_comparison_add(c, &(ll_compare_row){.method = "sgld", .samples = 10 + m, .temperature = 3}), m);
            const ll_compare_row *row = ll_comparison_row(c, m);
            assert_true(row->samples == 10 + m && isnan(row->temperature) && isnan(row->seconds_per_thousand));
            const lli_comparison_points points = {&reports[m], NULL, &on[m], m ? &reports[0] : NULL};
            CHECK_OK(ctx, lli_comparison_measure(c, ctx, m, &points, 6));
            ll_difference d[LL_METRIC_COUNT];
            const lli_contrast_side first = {.points = &reports[0]}, second = {.points = &reports[m]};
            const lli_contrast_plan plan = {LL_CONFIDENCE_SR, 0.9, c->risk, 6};
            CHECK_OK(ctx, lli_contrast_measure(d, ctx, &first, &second, &plan));
            for (int metric = 0; metric < LL_METRIC_COUNT; metric++) {
                p[metric][m] = m ? d[metric].p : NAN;
                same(c->differences[m].of[metric].value, m ? d[metric].value : NAN);
            }
            ll_threshold t;
            CHECK_OK(ctx, ll_threshold_at_risk(&t, ctx, &on[m], LL_CONFIDENCE_SR, c->risk));
            assert_int_equal(row->threshold[0].found, t.found);
            if (given)
                assert_true(t.found);
            int64_t accepted = 0, wrong = 0;
            for (int64_t i = 0; t.found && i < N; i++)
                if (s[m].confidence[0][i] >= t.cut) {
                    accepted++;
                    wrong += s[m].label[i] != s[m].truth[i];
                }
            if (t.found)
                assert_true(row->threshold[0].accepted == accepted && row->threshold[0].accepted_errors == wrong &&
                            row->threshold[0].cut == t.cut);
            int64_t right = 0;
            for (int64_t i = 0; i < N; i++)
                right += s[m].label[i] == s[m].truth[i];
            CHECK_NEAR(row->evaluation->accuracy, (double)right / N, 1e-15);
            assert_true(row->evaluation->rules.interval == 0.9 && row->evaluation->rules.risk == c->risk &&
                        row->evaluation->rules.seed == 6);
        }
        c->from = given ? LLI_CHOOSING_SAME : LLI_CHOOSING_HALF;
        CHECK_OK(ctx, lli_comparison_finish(c, ctx, NULL, 0, c->risk, 6));
        assert_null(ll_comparison_recommendation(c));
        CHECK_OK(ctx, lli_comparison_finish(c, ctx, candidates, METHODS, NAN, 6));
        for (int metric = 0; metric < LL_METRIC_COUNT; metric++)
            for (int m = 0; m < METHODS; m++)
                same(c->differences[m].of[metric].p_adjusted, holm(p[metric], METHODS, m));
        const ll_recommendation *best = ll_comparison_recommendation(c);
        assert_true(best->row == 0 && best->same_rows == given && best->n == N / 2);
        assert_true(ll_comparison_count(c) == METHODS && ll_comparison_count(NULL) == 0);
        assert_true(!ll_comparison_row(c, -1) && !ll_comparison_row(c, METHODS) && !ll_comparison_row(NULL, 0));
        ll_comparison_free(c);
        ll_comparison_free(NULL);
    }
    ll_context_free(ctx);
    drop(s);
    drop(cuts);
}

/* ---- options ---- */

static ll_status take_evaluate(ll_context *ctx, const void *options) {
    sample s = sample_random(80, 50, 0.3, 0);
    ll_outcome points = sample_view(&s);
    ll_evaluation *e = NULL;
    ll_status status = ll_evaluate(&e, ctx, &points, NULL, options);
    ll_evaluation_free(e);
    sample_free(&s);
    return status;
}

static ll_status take_certify(ll_context *ctx, const void *options) {
    ll_certify_options o;
    return lli_certify_options_take(ctx, &o, options);
}

static ll_status take_sets(ll_context *ctx, const void *options) {
    sample s[METHODS];
    make(s, 60);
    ll_outcome points = sample_view(&s[0]);
    ll_set_rule *rule = NULL;
    ll_status status = ll_set_rule_fit(&rule, ctx, &points, options);
    ll_set_rule_free(rule);
    drop(s);
    return status;
}

static ll_status take_compare(ll_context *ctx, const void *options) {
    ll_compare_options o = ll_compare_options_default();
    size_t count;
    const ll_option *table = ll_compare_options_table(&count);
    return LLI_OPTION_TAKE(ctx, ll_compare_options, &o, options, table, count);
}

static void test_ends(void **state) {
    (void)state;
    size_t count;
    const ll_option *table;
    ll_context *ctx = check_context(1);
    table = ll_evaluate_options_table(&count);
    assert_ptr_equal(ll_evaluate_options_table(NULL), table);
    ll_evaluate_options evaluate = ll_evaluate_options_default();
    assert_true(evaluate.bins == 10 && evaluate.interval == 0.95 && evaluate.risk == 0.01 && !evaluate.per_class && evaluate.seed == 0);
    option_ends_check(ctx, table, count, &evaluate, take_evaluate,
                      (option_ends[]){{"bins", 1, 1000, false, false, false},
                                      {"interval", 0, 1, false, true, false},
                                      {"risk", 0, 1, false, false, false}},
                      3);
    table = ll_sets_options_table(&count);
    assert_ptr_equal(ll_sets_options_table(NULL), table);
    ll_sets_options sets = ll_sets_options_default();
    assert_true(sets.alpha == 0.1 && isnan(sets.confidence) && !sets.by_class && !sets.allow_empty && strcmp(sets.score, "lac") == 0);
    static const double alphas[] = {0.99e-9, 1e-9, 0.999999, 1}, confidences[] = {0, 1e-9, 0.999999, 1};
    for (int i = 0; i < 4; i++) {
        sets = ll_sets_options_default();
        sets.alpha = alphas[i];
        assert_int_equal(take_sets(ctx, &sets), i == 1 || i == 2 ? LL_OK : LL_ERR_USAGE);
        sets = ll_sets_options_default();
        sets.confidence = confidences[i];
        assert_int_equal(take_sets(ctx, &sets), i == 1 || i == 2 ? LL_OK : LL_ERR_USAGE);
    }
    table = ll_compare_options_table(&count);
    assert_ptr_equal(ll_compare_options_table(NULL), table);
    static const double risks[] = {-1e-9, 0, 1, 1.000001}, levels[] = {0, 1e-9, 0.999999, 1};
    for (int i = 0; i < 4; i++) {
        ll_compare_options compare = ll_compare_options_default();
        assert_true(isnan(compare.risk) && compare.interval == 0.95);
        compare.risk = risks[i];
        assert_int_equal(take_compare(ctx, &compare), i == 1 || i == 2 ? LL_OK : LL_ERR_USAGE);
        compare = ll_compare_options_default();
        compare.interval = levels[i];
        assert_int_equal(take_compare(ctx, &compare), i == 1 || i == 2 ? LL_OK : LL_ERR_USAGE);
    }
    table = ll_certify_options_table(&count);
    assert_ptr_equal(ll_certify_options_table(NULL), table);
    for (int i = 0; i < 4; i++)
        for (int which = 0; which < 3; which++) {
            ll_certify_options certify = ll_certify_options_default();
            assert_true(isnan(certify.risk) && isnan(certify.coverage) && isnan(certify.out_rate) && certify.confidence == 0.95);
            certify.risk = which == 2 ? 0.1 : NAN;
            *(which == 0 ? &certify.coverage : which == 1 ? &certify.out_rate : &certify.confidence) = levels[i];
            assert_int_equal(take_certify(ctx, &certify), i == 1 || i == 2 ? LL_OK : LL_ERR_USAGE);
        }
    ll_context_free(ctx);
}

static void test_certify_words(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double costs[] = {0, 1, 1, 0};
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    ll_certify_options o = ll_certify_options_default(), taken;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "nothing is promised; expected risk, coverage or out_rate", lli_certify_options_take(ctx, &taken, &o));
    o.coverage = 0.5;
    CHECK_OK(ctx, lli_certify_options_take(ctx, &taken, &o));
    o.per_class = true;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "per_class says how a risk is meant", lli_certify_options_take(ctx, &taken, &o));
    o.costs = &matrix;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "costs says how a risk is meant", lli_certify_options_take(ctx, &taken, &o));
    o.per_class = false;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "costs says how a risk is meant", lli_certify_options_take(ctx, &taken, &o));
    o.risk = 0.1;
    CHECK_OK(ctx, lli_certify_options_take(ctx, &taken, &o));
    o.per_class = true;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "per_class has a cut for each class, and coverage is a promise",
                lli_certify_options_take(ctx, &taken, &o));
    o.coverage = NAN;
    CHECK_OK(ctx, lli_certify_options_take(ctx, &taken, &o));
    o.out_rate = 0.1;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "per_class has a cut for each class, and out_rate is a promise",
                lli_certify_options_take(ctx, &taken, &o));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contrast), cmocka_unit_test(test_contrast_refuses), cmocka_unit_test(test_comparison),
        cmocka_unit_test(test_ends),     cmocka_unit_test(test_certify_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
