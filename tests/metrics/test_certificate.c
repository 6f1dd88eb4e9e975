/* SPDX-License-Identifier: MIT */
/* Certificates of outcomes: cuts for each class and costs against lli_certify_run on the rows that they stand for, which test_certify.c
 * holds against SciPy; ties, few rows, no errors, nothing but errors; the order of classes and threads. */
#include "metrics/certificate.h"

#include <math.h>

#include "check.h"
#include "metrics/simulation.h"

enum { K = 4, N = 3000 };

typedef struct rows {
    float probs[N * K];
    int32_t label[N], truth[N];
    double sr[N];
} rows;

/* `levels`: so many different confidences; 0: all differ. Class 3 is decided rarely. */
static void fill(rows *r, int64_t n, int levels) {
    for (int64_t i = 0; i < n; i++) {
        double u = check_uniform(1, 4 * i), sr = levels ? 0.5 + ceil(u * levels) / levels / 2.1 : 0.5 + u / 2;
        int label = check_uniform(1, 4 * i + 1) < 0.01 ? 3 : (int)(check_uniform(1, 4 * i + 2) * 3);
        bool wrong = check_uniform(1, 4 * i + 3) < 0.4 * (1 - sr) * (label + 1);
        for (int k = 0; k < K; k++)
            r->probs[i * K + k] = (float)(k == label ? sr : (1 - sr) / (K - 1));
        r->label[i] = label;
        r->truth[i] = wrong ? (label + 1) % K : label;
        r->sr[i] = (double)r->probs[i * K + label];
    }
}

static ll_outcome outcome_of(const rows *r, int64_t n) {
    ll_outcome o = {.struct_size = sizeof o, .n = n, .classes = K, .label = r->label, .truth = r->truth};
    o.confidence[LL_CONFIDENCE_SR] = r->sr;
    o.probs = ll_array_view(r->probs, LL_DTYPE_F32, 2, (int64_t[]){n, K});
    return o;
}

/* The result of certifying the rows of `class` (-1: all) with these losses, by the function that SciPy was compared with. */
static lli_certify_result plain(ll_context *ctx, const rows *r, int64_t n, const double *loss, int class, double risk, double delta,
                                bool whole) {
    static uint8_t proposes[N], part[N];
    static double confidence[N], lost[N];
    int64_t count = 0;
    CHECK_OK(ctx, lli_certify_split(ctx, proposes, n, 0));
    for (int64_t i = 0; i < n; i++)
        if (class < 0 || r->label[i] == class) {
            confidence[count] = r->sr[i];
            lost[count] = loss ? loss[i] : r->label[i] != r->truth[i];
            part[count++] = proposes[i];
        }
    const lli_certify_rows given = {count, confidence, lost, part, whole, NULL, 0};
    const lli_certify_promise promise = {.risk = risk, .coverage = NAN, .out = NAN, .delta = delta};
    lli_certify_result out;
    CHECK_OK(ctx, lli_certify_run(ctx, &out, &given, &promise));
    return out;
}

static void check_same(const ll_certificate_info *i, const lli_certify_result *r) {
    assert_int_equal(i->certified, r->certified);
    assert_int_equal(i->n, r->n);
    assert_int_equal(i->needed, r->needed);
    if (!r->certified) {
        assert_true(isnan(i->cut) && i->accepted == 0);
        return;
    }
    assert_true(i->cut == r->test[r->winner].cut && i->p_value == exp(r->log_p));
    assert_int_equal(i->accepted, r->test[r->winner].accepted);
}

static void test_classes(void **state) {
    (void)state;
    static rows r;
    ll_context *ctx = check_context(2);
    int64_t sizes[] = {N, 700, 12, 1};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++)
        for (int levels = 0; levels <= 9; levels += 9) {
            fill(&r, sizes[s], levels);
            ll_outcome points = outcome_of(&r, sizes[s]);
            ll_certify_options o = ll_certify_options_default();
            o.risk = 0.1;
            o.per_class = true;
            ll_certificate *c;
            CHECK_OK(ctx, ll_certify(&c, ctx, &points, NULL, &o));
            const ll_certificate_info *all = ll_certificate_view(c);
            int64_t accepted = 0, errors = 0, certified = 0;
            double most = 0;
            assert_int_equal(all->classes, K);
            for (int k = 0; k < K; k++) {
                lli_certify_result expected = plain(ctx, &r, sizes[s], NULL, k, 0.1, (1 - o.confidence) / K, true);
                const ll_certificate_info *i = ll_certificate_class(c, k);
                check_same(i, &expected);
                if (i->certified) {
                    assert_int_equal(i->errors, (int64_t)expected.test[expected.winner].loss);
                    assert_true(i->bound == expected.bound);
                }
                accepted += i->accepted;
                errors += i->errors;
                certified += i->certified;
                most = i->certified ? fmax(most, i->p_value) : most;
            }
            int64_t proposing = 0;
            for (int k = 0; k < K; k++)
                proposing += c->class_tests[k].n_proposing;
            assert_true(c->result.n_proposing == proposing && all->n + proposing == sizes[s] && c->result.n == all->n);
            assert_true(all->accepted == accepted && all->errors == errors && all->certified == (certified > 0) && isnan(all->cut));
            assert_true(certified ? all->p_value == most : isnan(all->p_value));
            assert_int_equal(all->needed, lli_certify_needed(0.1, (1 - o.confidence) / K));
            if (sizes[s] == N) /* the good classes are answered, the rare one is not: it has some 20 testing rows and needs 42 */
                assert_true(ll_certificate_class(c, 0)->certified && !ll_certificate_class(c, 3)->certified);
            if (sizes[s] <= 12)
                assert_int_equal(certified, 0);
            assert_null(ll_certificate_class(c, K));
            assert_null(ll_certificate_class(c, -1));
            ll_certificate_free(c);
        }
    ll_context_free(ctx);
}

static const double costs[K * K] = {-1, 3, 3, 3, 5, -1, 3, 3, 5, 3, -1, 3, 9, 9, 9, -1};

static void test_costs(void **state) {
    (void)state;
    static rows r;
    static double loss[N];
    ll_context *ctx = check_context(1);
    fill(&r, N, 0);
    ll_outcome points = outcome_of(&r, N);
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){K, K});
    ll_certify_options o = ll_certify_options_default();
    o.risk = 0;
    o.costs = &matrix;
    static rows decided; /* the answer is the class of least expected cost */
    decided = r;
    int64_t changed = 0;
    for (int i = 0; i < N; i++) {
        double least = INFINITY;
        for (int k = 0; k < K; k++) {
            double expected = 0;
            for (int t = 0; t < K; t++)
                expected += (double)r.probs[i * K + t] * costs[t * K + k];
            if (expected < least) {
                least = expected;
                decided.label[i] = k;
            }
        }
        changed += decided.label[i] != r.label[i];
        loss[i] = (costs[r.truth[i] * K + decided.label[i]] + 1) / 10;
    }
    assert_true(changed > 50);
    for (int per_class = 0; per_class < 2; per_class++) {
        ll_certificate *c;
        o.per_class = per_class;
        CHECK_OK(ctx, ll_certify(&c, ctx, &points, NULL, &o));
        for (int k = per_class ? 0 : -1; k < (per_class ? K : 0); k++) {
            lli_certify_result expected = plain(ctx, &decided, N, loss, k, 0.1, (1 - o.confidence) / (per_class ? K : 1), false);
            const ll_certificate_info *i = per_class ? ll_certificate_class(c, k) : ll_certificate_view(c);
            check_same(i, &expected);
            if (!i->certified)
                continue;
            CHECK_NEAR(i->mean_cost, 10 * expected.test[expected.winner].loss / (double)i->accepted - 1, 1e-12);
            assert_true(i->mean_cost < 0 && isnan(i->bound));
        }
        assert_true(ll_certificate_view(c)->certified && ll_certificate_view(c)->mean_cost < 0);
        ll_certificate_free(c);
    }
    ll_context_free(ctx);
}

/* log P[X <= most], or P[X >= most] where `above`, of X ~ Bin(n, p), added up. */
static double log_tail(int64_t most, int64_t n, double p, bool above) {
    double sum = 0;
    for (int64_t x = above ? most : 0; x <= (above ? n : most); x++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)x + 1) - lgamma((double)(n - x) + 1) + (double)x * log(p) +
                   (double)(n - x) * log1p(-p));
    return log(sum);
}

/* A coverage and a share of answered out-of-distribution rows, alone and beside a risk. */
static void test_out_and_coverage(void **state) {
    (void)state;
    enum { OUT = 400 };
    static rows r, strange;
    ll_context *ctx = check_context(1);
    fill(&r, N, 0);
    fill(&strange, OUT, 0);
    for (int i = 0; i < OUT; i++)
        strange.sr[i] = 0.25 + 0.6 * check_uniform(9, i);
    ll_outcome points = outcome_of(&r, N), outside = outcome_of(&strange, OUT);
    for (int which = 1; which < 8; which++) {
        ll_certify_options o = ll_certify_options_default();
        o.risk = which & 1 ? 0.2 : NAN;
        o.coverage = which & 2 ? 0.1 : NAN;
        o.out_rate = which & 4 ? 0.2 : NAN;
        ll_certificate *c;
        CHECK_OK(ctx, ll_certify(&c, ctx, &points, &outside, &o));
        const ll_certificate_info *i = ll_certificate_view(c);
        int64_t over = 0, winners = 0;
        assert_int_equal(i->certified, which != 6); /* a coverage is best kept by answering all, and the sequence ends there */
        if (!i->certified) {
            ll_certificate_free(c);
            continue;
        }
        for (int k = 0; k < OUT; k++)
            over += strange.sr[k] >= i->cut;
        assert_int_equal(i->n_out, which & 4 ? OUT : 0);
        assert_int_equal(i->accepted_out, which & 4 ? over : 0);
        for (int64_t k = 0; k < c->result.cuts; k++) {
            const lli_certify_test *t = &c->result.test[k];
            if (!t->tested)
                continue;
            winners += t->cut == i->cut;
            double most = -INFINITY;
            if (which & 1)
                most = fmax(most, log_tail((int64_t)t->loss, t->accepted, 0.2, false));
            if (which & 2)
                most = fmax(most, log_tail(t->accepted, c->result.n, 0.1, true));
            if (which & 4)
                most = fmax(most, log_tail(t->accepted_out, OUT, 0.2, false));
            int promises = !!(which & 1) + !!(which & 2) + !!(which & 4);
            assert_int_equal(t->passed, most <= log((1 - o.confidence) / promises));
            if (t->passed) /* a coverage alone takes the highest cut, all else the lowest */
                assert_true(which == 2 ? t->cut <= i->cut : t->cut >= i->cut);
            if (t->cut == i->cut)
                CHECK_NEAR(i->p_value, exp(most), 1e-9 + 1e-6 * exp(most));
        }
        assert_int_equal(winners, 1);
        ll_certificate_free(c);
    }
    ll_certify_options o = ll_certify_options_default();
    ll_certificate *c;
    o.out_rate = 0.2;
    CHECK_FAILS(ctx, LL_ERR_DATA, "needs out-of-distribution rows", ll_certify(&c, ctx, &points, NULL, &o));
    points.confidence[LL_CONFIDENCE_MARGIN] = r.sr;
    o.by = "margin";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the out-of-distribution points have no confidence margin", ll_certify(&c, ctx, &points, &outside, &o));
    o.by = "std";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "no confidence std; it needs at least two members", ll_certify(&c, ctx, &points, &outside, &o));
    ll_context_free(ctx);
}

static void refuse(ll_context *ctx, const ll_outcome *points, const ll_certify_options *o, ll_status expected, const char *word) {
    ll_certificate *c = NULL;
    assert_int_equal(ll_certify(&c, ctx, points, NULL, o), expected);
    assert_null(c);
    if (!strstr(ll_context_message(ctx), word))
        fail_msg("'%s' is not in: %s", word, ll_context_message(ctx));
}

static void test_refusals(void **state) {
    (void)state;
    static rows r;
    ll_context *ctx = check_context(1);
    fill(&r, 300, 0);
    ll_outcome points = outcome_of(&r, 300), bare = points;
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){K, K}),
             small = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    bare.probs.data = NULL;
    bare.classes = 0;
    ll_certify_options o = ll_certify_options_default();
    refuse(ctx, &points, &o, LL_ERR_USAGE, "nothing is promised");
    o.per_class = true;
    o.coverage = 0.5;
    refuse(ctx, &points, &o, LL_ERR_USAGE, "none is promised");
    o.risk = 0.1;
    refuse(ctx, &points, &o, LL_ERR_USAGE, "one cut");
    o.coverage = NAN;
    refuse(ctx, &bare, &o, LL_ERR_USAGE, "how many classes");
    o.costs = &matrix;
    refuse(ctx, &bare, &o, LL_ERR_USAGE, "probabilities");
    o.risk = 9;
    refuse(ctx, &points, &o, LL_ERR_USAGE, "between -1 and 9");
    o.risk = INFINITY;
    refuse(ctx, &points, &o, LL_ERR_USAGE, "between -1 and 9");
    o.costs = &small;
    refuse(ctx, &points, &o, LL_ERR_DATA, "[4,4]");
    o.costs = NULL;
    o.risk = 1;
    refuse(ctx, &points, &o, LL_ERR_USAGE, "(0,1)");
    ll_context_free(ctx);
}

/* Each hash knows its rows, and not those of the other: any confidence or decided class, any true class. */
static void test_hashes(void **state) {
    (void)state;
    static rows r;
    ll_context *ctx = check_context(1);
    fill(&r, 300, 0);
    ll_outcome points = outcome_of(&r, 300);
    ll_certify_options o = ll_certify_options_default();
    o.risk = 0.2;
    char before[2][LLI_HASH_TEXT] = {{0}};
    for (int change = 0; change < 7; change++) { /* nothing; then the first and the last of each */
        ll_certificate *c;
        rows kept = r;
        int64_t row = change % 2 ? 0 : 299;
        if (change > 4)
            r.truth[row] = (r.truth[row] + 1) % K;
        else if (change > 2)
            r.label[row] = (r.label[row] + 1) % K;
        else if (change > 0)
            r.sr[row] *= 1 - 1e-9;
        points.probs.data = NULL;
        CHECK_OK(ctx, ll_certify(&c, ctx, &points, NULL, &o));
        if (change == 0) {
            memcpy(before[0], c->rows_hash, sizeof before[0]);
            memcpy(before[1], c->labels_hash, sizeof before[1]);
        }
        assert_int_equal(strcmp(c->rows_hash, before[0]) != 0, change > 0 && change <= 4);
        assert_int_equal(strcmp(c->labels_hash, before[1]) != 0, change > 4);
        ll_certificate_free(c);
        r = kept;
    }
    ll_context_free(ctx);
}

/* Each class keeps its promise in all but a share delta of trials, together. */
static void test_simulated_classes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t trials = 300 / check_step(10);
    simulation_count count = simulation_classes(ctx, trials);
    double delta = SIMULATION_CLASS_DELTA, most = delta + 3 * sqrt(delta * (1 - delta) / (double)trials);
    assert_true((double)count.broken <= most * (double)trials);
    assert_true(count.certified > trials / 2);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes), cmocka_unit_test(test_costs),    cmocka_unit_test(test_out_and_coverage),
        cmocka_unit_test(test_hashes),  cmocka_unit_test(test_refusals), cmocka_unit_test(test_simulated_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
