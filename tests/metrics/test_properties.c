/* SPDX-License-Identifier: MIT */
/* What must hold for any outcome. */
#include "metrics/sample.h"

#include <math.h>

#include "metrics/curve.h"
#include "metrics/evaluate.h"
#include "metrics/selective.h"
#include "metrics/sort.h"

enum { CASES = 60 };

/* Case number i: sizes from 1 to 400, risks from 0 to 1, no ties to heavy ties. */
static sample random_case(int64_t i) {
    static const int64_t levels[] = {0, 0, 50, 10, 3, 1};
    return sample_random(100 + i, 1 + (int64_t)(400 * check_uniform(7, i)), check_uniform(8, i), levels[i % 6]);
}

static ll_selective measure(const sample *s) {
    ll_context *ctx = check_context(1);
    ll_evaluation *e = sample_evaluation();
    ll_outcome points = sample_view(s);
    ll_evaluate_options numbers = ll_evaluate_options_default();
    numbers.interval = 0;
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, &numbers, NULL));
    ll_selective out = e->selective[LL_CONFIDENCE_SR];
    sample_evaluation_free(e);
    ll_context_free(ctx);
    return out;
}

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void assert_same(const ll_selective *a, const ll_selective *b) {
    assert_true(same_bits(a->aurc, b->aurc) && same_bits(a->best, b->best) && same_bits(a->expected, b->expected));
    assert_true(same_bits(a->worst, b->worst) && same_bits(a->eaurc, b->eaurc) && same_bits(a->augrc, b->augrc));
    assert_true(same_bits(a->failure_auroc, b->failure_auroc) && a->ties == b->ties);
}

static void swap_rows(sample *s, int64_t i, int64_t j) {
    double *sr = s->confidence[LL_CONFIDENCE_SR], c = sr[i];
    int32_t y = s->truth[i];
    sr[i] = sr[j];
    sr[j] = c;
    s->truth[i] = s->truth[j];
    s->truth[j] = y;
    for (int64_t k = 0; s->probs && k < s->K; k++) {
        double p = s->probs[i * s->K + k];
        s->probs[i * s->K + k] = s->probs[j * s->K + k];
        s->probs[j * s->K + k] = p;
    }
}

static void shuffle(sample *s, int64_t stream) {
    for (int64_t i = s->n - 1; i > 0; i--)
        swap_rows(s, i, (int64_t)(check_uniform(stream, i) * (double)(i + 1)));
}

static void add_probs(sample *s) {
    s->probs = sample_zeros(s->n * s->K, 8);
    for (int64_t i = 0; i < s->n; i++) {
        s->probs[i * s->K] = 0.001 + 0.998 * check_uniform(11, i);
        s->probs[i * s->K + 1] = 1 - s->probs[i * s->K];
    }
}

/* Those of means are sums over rows, the same but for rounding; all others are the same bits. */
static void same_intervals(const ll_intervals *a, const ll_intervals *b) {
    const ll_interval *x = (const ll_interval *)a, *y = (const ll_interval *)b;
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++)
        if (&x[i] == &a->nll || &x[i] == &a->brier)
            assert_true(isnan(x[i].lo) ? isnan(y[i].lo) : fabs(x[i].lo - y[i].lo) < 1e-12 && fabs(x[i].hi - y[i].hi) < 1e-12);
        else
            assert_true(same_bits(x[i].lo, y[i].lo) && same_bits(x[i].hi, y[i].hi));
}

static void order_of_input_does_not_matter(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_evaluation *a = sample_evaluation(), *b = sample_evaluation();
    ll_evaluate_options options = ll_evaluate_options_default();
    for (int64_t i = 0; i < CASES; i++) {
        options.interval = i % 10 ? 0 : 0.9; /* they take their time */
        sample s = random_case(i);
        add_probs(&s);
        ll_outcome points = sample_view(&s);
        CHECK_OK(ctx, lli_evaluate(a, ctx, &points, NULL, &options, NULL));
        shuffle(&s, 1000 + i);
        CHECK_OK(ctx, lli_evaluate(b, ctx, &points, NULL, &options, NULL));
        assert_same(&a->selective[LL_CONFIDENCE_SR], &b->selective[LL_CONFIDENCE_SR]);
        assert_true(same_bits(a->ece, b->ece) && same_bits(a->mce, b->mce) && a->errors == b->errors);
        same_intervals(&a->intervals, &b->intervals);
        assert_true(same_bits(a->ece_p, b->ece_p) && same_bits(a->l2_debiased, b->l2_debiased));
        CHECK_NEAR(a->nll, b->nll, 1e-15 * a->nll);
        CHECK_NEAR(a->brier, b->brier, 1e-15 * a->brier);
        sample_free(&s);
    }
    sample_evaluation_free(a);
    sample_evaluation_free(b);
    ll_context_free(ctx);
}

/* Only the ranking counts: x/2 + x^3/4 rises, and keeps ties and [0,1]. */
static void monotone_maps_do_not_matter(void **state) {
    (void)state;
    for (int64_t i = 0; i < CASES; i++) {
        sample s = random_case(i);
        ll_selective before = measure(&s), after;
        for (int64_t j = 0; j < s.n; j++) {
            double x = s.confidence[LL_CONFIDENCE_SR][j];
            s.confidence[LL_CONFIDENCE_SR][j] = x / 2 + x * x * x / 4;
        }
        after = measure(&s);
        assert_same(&before, &after);
        sample_free(&s);
    }
}

static void identities_and_bounds(void **state) {
    (void)state;
    for (int64_t i = 0; i < CASES; i++) {
        sample s = random_case(i);
        ll_selective m = measure(&s);
        double errors = 0;
        for (int64_t j = 0; j < s.n; j++)
            errors += s.label[j] != s.truth[j];
        double rho = errors / (double)s.n;
        if (rho > 0 && rho < 1)
            CHECK_NEAR(m.augrc, (1 - m.failure_auroc) * rho * (1 - rho) + rho * rho / 2, 1e-13);
        else
            assert_true(isnan(m.failure_auroc));
        assert_true(m.eaurc >= 0);
        assert_true(m.best <= m.expected * (1 + 1e-14) && m.expected <= m.worst * (1 + 1e-14));
        if (!m.ties) {
            CHECK_NEAR(m.best, m.aurc, 1e-14);
            CHECK_NEAR(m.worst, m.aurc, 1e-14);
        }
        sample_free(&s);
    }
}

/* Copying every point keeps all rates: same risk at every threshold, same chances. */
static void copies_do_not_matter(void **state) {
    (void)state;
    for (int64_t i = 0; i < CASES; i++) {
        sample s = random_case(i), twice = sample_new(2 * s.n, 2);
        twice.confidence[LL_CONFIDENCE_SR] = sample_zeros(twice.n, 8);
        for (int64_t j = 0; j < twice.n; j++) {
            twice.truth[j] = s.truth[j / 2];
            twice.confidence[LL_CONFIDENCE_SR][j] = s.confidence[LL_CONFIDENCE_SR][j / 2];
        }
        ll_selective once = measure(&s), both = measure(&twice);
        CHECK_NEAR(once.aurc, both.aurc, 1e-14);
        CHECK_NEAR(once.augrc, both.augrc, 1e-14);
        if (!isnan(once.failure_auroc))
            CHECK_NEAR(once.failure_auroc, both.failure_auroc, 1e-14);
        assert_true(both.ties);
        sample_free(&s);
        sample_free(&twice);
    }
}

/* The expected value of the band is the mean over random orders; each order is one without ties. */
static void expectation_is_the_mean_over_orders(void **state) {
    (void)state;
    enum { ORDERS = 4000 };
    sample s = sample_random(5, 30, 0.5, 4);
    ll_selective exact = measure(&s);
    double *tied = sample_zeros(s.n, 8), sum = 0, squares = 0;
    memcpy(tied, s.confidence[LL_CONFIDENCE_SR], (size_t)s.n * 8);
    for (int64_t t = 0; t < ORDERS; t++) {
        for (int64_t j = 0; j < s.n; j++)
            s.confidence[LL_CONFIDENCE_SR][j] = tied[j] + 0.2 * check_uniform(20000 + t, j);
        ll_selective m = measure(&s);
        assert_true(!m.ties && m.aurc >= exact.best - 1e-14 && m.aurc <= exact.worst + 1e-14);
        sum += m.aurc;
        squares += m.aurc * m.aurc;
    }
    double mean = sum / ORDERS, error = sqrt((squares / ORDERS - mean * mean) / ORDERS);
    assert_true(exact.ties && exact.best < exact.expected && exact.expected < exact.worst);
    CHECK_NEAR(mean, exact.expected, 4 * error);
    free(tied);
    sample_free(&s);
}

static void extremes(void **state) {
    (void)state;
    sample s = sample_random(6, 50, 0, 0); /* no errors */
    ll_selective m = measure(&s);
    assert_true(m.aurc == 0 && m.eaurc == 0 && m.augrc == 0 && isnan(m.failure_auroc));
    for (int64_t i = 0; i < s.n; i++)
        s.truth[i] = 1; /* all errors */
    m = measure(&s);
    assert_true(m.aurc == 1 && m.eaurc == 0 && m.augrc == 0.5 && isnan(m.failure_auroc));
    for (int64_t i = 0; i < s.n; i++) {
        s.truth[i] = i % 5 == 0; /* all tied: the risk of all at every threshold */
        s.confidence[LL_CONFIDENCE_SR][i] = 0.5;
    }
    m = measure(&s);
    CHECK_NEAR(m.aurc, 0.2, 1e-15);
    CHECK_NEAR(m.expected, 0.2, 1e-14);
    CHECK_NEAR(m.augrc, 0.1, 1e-15);
    CHECK_NEAR(m.failure_auroc, 0.5, 1e-15);
    sample_free(&s);

    s = sample_new(1, 2); /* one point */
    s.confidence[LL_CONFIDENCE_SR] = sample_zeros(1, 8);
    m = measure(&s);
    assert_true(m.aurc == 0 && m.eaurc == 0 && !m.ties);
    s.truth[0] = 1;
    m = measure(&s);
    assert_true(m.aurc == 1 && m.eaurc == 0);
    sample_free(&s);
}

static int compare_falling(const void *a, const void *b) {
    const lli_sort_item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Against the C library, on every kind of double; equal keys keep their order. */
static void sort_is_exact(void **state) {
    (void)state;
    enum { N = 5000 };
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, 0x1p-1074, -0x1p-1074, 1, -1, 1 - 0x1p-53, 1e300, -1e300};
    lli_sort_item *ours = sample_zeros(N, sizeof *ours), *theirs = sample_zeros(N, sizeof *ours), *scratch = sample_zeros(N, sizeof *ours);
    for (int64_t n = 0; n <= N; n = n < 20 ? n + 1 : n * 3 + 1) {
        for (int64_t i = 0; i < n; i++) {
            double u = check_uniform(30 + n, 2 * i), v = check_uniform(30 + n, 2 * i + 1);
            double key = u < 0.2   ? odd[(int)(v * (double)LLI_COUNT(odd))]
                         : u < 0.5 ? floor(20 * v) - 10
                                   : (v - 0.5) * exp2(600 * (u - 0.75));
            theirs[i] = ours[i] = (lli_sort_item){key, i};
        }
        lli_sort_descending(ours, scratch, n);
        qsort(theirs, (size_t)n, sizeof *theirs, compare_falling);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(ours[i].tag, theirs[i].tag);
    }
    free(ours);
    free(theirs);
    free(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_input_does_not_matter),
        cmocka_unit_test(monotone_maps_do_not_matter),
        cmocka_unit_test(identities_and_bounds),
        cmocka_unit_test(copies_do_not_matter),
        cmocka_unit_test(expectation_is_the_mean_over_orders),
        cmocka_unit_test(extremes),
        cmocka_unit_test(sort_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
