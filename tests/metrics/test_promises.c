/* SPDX-License-Identifier: MIT */
/* The ends of promises: p-values and ranks against sums of the binomial's terms, the order of tests, the search of SGR step by step, scores
 * of more than five classes, what a certificate says beside its cut, and memory that runs out. */
#include <math.h>

#include "check.h"
#include "metrics/certificate.h"
#include "metrics/conformal.h"
#include "metrics/sample.h"
#include "metrics/sets.h"
#include "metrics/special.h"

/* P[Bin(n, p) <= k]. */
static double cdf(int64_t k, int64_t n, double p) {
    double sum = 0;
    for (int64_t x = 0; x <= k && x <= n; x++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)x + 1) - lgamma((double)(n - x) + 1) + (double)x * log(p) +
                   (double)(n - x) * log1p(-p));
    return fmin(1, sum);
}

/* Hoeffding's and Bentkus' bounds, the smaller one; e is Euler's number. Without a row nothing is known. */
static void p_values(void **state) {
    (void)state;
    static const double risks[] = {0.05, 0.3, 0.9};
    for (size_t r = 0; r < LLI_COUNT(risks); r++)
        for (int64_t m = 1; m <= 40; m += 13)
            for (int step = 0; step <= 20; step++) {
                double loss = (double)m * step / 20, a = fmin(step / 20.0, risks[r]), b = risks[r];
                double divergence = (a > 0 ? a * log(a / b) : 0) + (1 - a) * log((1 - a) / (1 - b));
                double expected = fmin(-(double)m * divergence, 1 + log(cdf((int64_t)ceil(loss), m, b)));
                CHECK_NEAR(lli_certify_log_p(loss, m, b, false), fmin(0, expected), 1e-9);
                if (loss == floor(loss))
                    CHECK_NEAR(lli_certify_log_p(loss, m, b, true), log(cdf((int64_t)loss, m, b)), 1e-9);
            }
    CHECK_NEAR(lli_certify_log_p(0, 0, 0.1, false), 0, 0);
    CHECK_NEAR(lli_certify_log_p(0, 0, 0.1, true), 0, 0);
}

/* The least m with (1 - r)^m <= delta, where the power is delta itself and where rounding is near it. */
static void needed_rows(void **state) {
    (void)state;
    assert_int_equal(lli_certify_needed(0.5, 0.5), 1);
    assert_int_equal(lli_certify_needed(0.5, 0.25), 2);
    assert_int_equal(lli_certify_needed(0.5, 0.0625), 4);
    assert_int_equal(lli_certify_needed(2.5e-16, 0.05), (int64_t)1 << 53); /* 1.2e16 rows */
    for (int i = 1; i < 100; i++)
        for (int64_t m = 1; m < 60; m++) {
            double r = i / 100.0, delta = exp((double)m * log1p(-r));
            int64_t found = lli_certify_needed(r, delta);
            assert_true((double)found * log1p(-r) <= log(delta) && (found == m || found == m + 1));
        }
}

/* The first places of a shuffle by the seed's own stream. */
static void who_proposes(void **state) {
    (void)state;
    enum { N = 100 };
    ll_context *ctx = check_context(1);
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint8_t proposes[N], expected[N] = {0};
        int row[N];
        lli_stream stream = lli_rng_stream(seed, LLI_PURPOSE_CERTIFY, 0, 0);
        for (int i = 0; i < N; i++)
            row[i] = i;
        for (int i = 0; i < N / 3; i++) {
            int j = i + (int)lli_rng_below(stream, (uint64_t)i, (uint64_t)(N - i)), taken = row[j];
            row[j] = row[i];
            row[i] = taken;
            expected[taken] = 1;
        }
        CHECK_OK(ctx, lli_certify_split(ctx, proposes, N, seed));
        assert_memory_equal(proposes, expected, N);
    }
    ll_context_free(ctx);
}

/* Tests go by rising p-value on the proposing rows, ties to more accepted rows; for out rows alone from the strictest cut down. */
static void order_of_tests(void **state) {
    (void)state;
    enum { N = 400 };
    ll_context *ctx = check_context(1);
    double confidence[N], loss[N];
    uint8_t proposes[N];
    for (int kind = 0; kind < 4; kind++) { /* errors among the sure, everywhere, nowhere; out rows */
        int64_t proposing = 0;
        for (int i = 0; i < N; i++) {
            confidence[i] = check_uniform(50, 3 * i);
            proposes[i] = check_uniform(50, 3 * i + 1) < 0.4;
            loss[i] = kind == 1 || (kind == 0 && check_uniform(50, 3 * i + 2) < 0.3 * confidence[i]);
            proposing += proposes[i];
        }
        const lli_certify_rows rows = {N, confidence, loss, proposes, true, confidence, kind == 3 ? N : 0};
        const lli_certify_promise promise = {
            .risk = kind == 3 ? NAN : 0.3, .coverage = NAN, .out = kind == 3 ? 0.5 : NAN, .delta = 0.1, .rule = LLI_CERTIFY_BONFERRONI};
        lli_certify_result r;
        CHECK_OK(ctx, lli_certify_run(ctx, &r, &rows, &promise));
        assert_true(r.cuts == LLI_CERTIFY_CUTS && r.n == N - proposing && r.n_proposing == proposing);
        CHECK_NEAR(r.level, 0.1 / LLI_CERTIFY_CUTS, 1e-15);
        assert_int_equal(r.needed, kind == 3 ? 0 : (int64_t)ceil(log(0.1 / LLI_CERTIFY_CUTS) / log(0.7)));
        for (int64_t t = 0; t < r.cuts; t++) {
            int64_t accepted = 0, wrong = 0, testing = 0, lost = 0;
            for (int i = 0; i < N; i++)
                if (confidence[i] >= r.test[t].cut) {
                    *(proposes[i] ? &accepted : &testing) += 1;
                    *(proposes[i] ? &wrong : &lost) += loss[i] != 0;
                }
            assert_true(r.test[t].proposed_accepted == accepted && r.test[t].accepted == testing && r.test[t].loss == (double)lost);
            if (kind < 3)
                CHECK_NEAR(r.test[t].proposed_order, log(cdf(wrong, accepted, 0.3)), 1e-9);
            if (t == 0)
                continue;
            const lli_certify_test *before = &r.test[t - 1], *here = &r.test[t];
            assert_true(kind == 3 ? before->cut > here->cut
                                  : before->proposed_order < here->proposed_order ||
                                        (before->proposed_order == here->proposed_order && before->proposed_accepted > accepted));
        }
        assert_true(r.certified == (kind != 1) && (r.winner >= 0) == r.certified && isnan(r.bound) == (kind == 1 || kind == 3));
    }
    ll_context_free(ctx);
}

/* Halving, with the bound of the binomial at delta over the number of rounds. */
static void search_of_sgr(void **state) {
    (void)state;
    enum { MOST = 300 };
    static const int64_t sizes[] = {1, 2, 3, 64, 65, MOST};
    ll_context *ctx = check_context(1);
    for (size_t z = 0; z < LLI_COUNT(sizes); z++)
        for (int c = 0; c < 12; c++) {
            int64_t n = sizes[z], low = 1, high = n, best = 0, errors = 0, rounds = 0;
            double x[MOST], loss[MOST], risk = c % 3 == 2 ? 0.4 : 0.1 + 0.05 * (c % 3);
            for (int64_t i = 0; i < n; i++) {
                double u = check_uniform(80 + c, 2 * i);
                x[i] = c % 2 ? u : floor(12 * u) / 12;
                loss[i] = check_uniform(80 + c, 2 * i + 1) < (c < 3 ? 0 : c == 3 ? 1 : 0.5 * (1 - u));
            }
            for (int64_t reach = 1; reach < n; reach *= 2)
                rounds++;
            for (int64_t i = 0; i < rounds; i++) {
                int64_t middle = (low + high + 1) / 2, m = 0, wrong = 0;
                double cut = INFINITY;
                for (int64_t j = 0; j < n; j++) { /* the middle-th from above */
                    int64_t above = 0, same = 0;
                    for (int64_t k = 0; k < n; k++) {
                        above += x[k] > x[j];
                        same += x[k] == x[j];
                    }
                    cut = above < middle && middle <= above + same ? x[j] : cut;
                }
                for (int64_t j = 0; j < n; j++) {
                    m += x[j] >= cut;
                    wrong += x[j] >= cut && loss[j] != 0;
                }
                if (wrong == m || cdf(wrong, m, risk) > 0.05 / (double)rounds) {
                    high = middle;
                    continue;
                }
                low = middle;
                errors = m > best ? wrong : errors;
                best = LLI_MAX(best, m);
            }
            lli_certify_sgr s;
            CHECK_OK(ctx, lli_certify_sgr_run(ctx, &s, x, loss, n, risk, 0.05));
            assert_true(s.found == (best > 0) && s.accepted == best && s.errors == errors);
            if (s.found)
                CHECK_NEAR(cdf(errors, best, s.bound), 0.05 / (double)rounds, 1e-9);
            else
                assert_true(isnan(s.cut) && isnan(s.bound));
            int64_t over = 0;
            for (int64_t j = 0; j < n; j++)
                over += x[j] >= s.cut;
            assert_int_equal(over, best);
        }
    ll_context_free(ctx);
}

/* ---- sets ---- */

/* The least rank with P[Bin(n, 1 - alpha) >= rank] <= delta, and the least n that has one; alpha that is no decimal is taken as it is. */
static void ranks(void **state) {
    (void)state;
    static const double alphas[] = {0.02, 0.1, 0.37, 0.8, 0.99}, deltas[] = {0.011, 0.05, 0.3, 0.9};
    for (size_t a = 0; a < LLI_COUNT(alphas); a++)
        for (size_t d = 0; d < LLI_COUNT(deltas); d++) {
            int64_t least = 0;
            for (int64_t n = 1; n <= 300; n += n < 40 || !least ? 1 : 29) {
                int64_t rank = 1;
                while (rank <= n && 1 - cdf(rank - 1, n, 1 - alphas[a]) > deltas[d])
                    rank++;
                assert_int_equal(lli_conformal_rank(n, alphas[a], deltas[d]), rank);
                least = !least && rank <= n ? n : least;
            }
            assert_int_equal(lli_conformal_needed(alphas[a], deltas[d]), least);
        }
    for (int64_t a = 1; a < 100; a++) /* ceil((n+1)(1-alpha)) <= n */
        assert_int_equal(lli_conformal_needed((double)a / 100, NAN), (100 + a - 1) / a - 1 + (a == 100));
    assert_int_equal(lli_conformal_rank(9, 0.1, NAN), 9);
    assert_int_equal(lli_conformal_rank(9, 0.1 * (1 - 1.25e-14), NAN), 10);
}

/* RAPS adds 0.01 for each class after the fifth. Of the rows that made the quantile, as many are in as its rank says, and the first of
 * equal classes alone is in a set that would be empty. */
static void scores_of_many_classes(void **state) {
    (void)state;
    enum { N = 300, K = 9 };
    ll_context *ctx = check_context(2);
    static double probs[N * K];
    static uint8_t set[2 * N];
    int32_t truth[N], size[N];
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += probs[i * K + k] = 0.2 + check_uniform(91, i * K + k);
        for (int k = 0; k < K; k++)
            probs[i * K + k] /= sum;
        truth[i] = (int32_t)(check_uniform(92, i) * K);
    }
    ll_array rows = ll_array_view(probs, LL_DTYPE_F64, 2, (int64_t[]){N, K});
    for (int score = LLI_CONFORMAL_LAC; score <= LLI_CONFORMAL_RAPS; score++) {
        const lli_conformal_rule rule = {.score = (lli_conformal_score)score, .alpha = 0.3, .delta = NAN, .allow_empty = true, .seed = 3};
        lli_conformal c;
        CHECK_OK(ctx, lli_conformal_fit(ctx, &c, &rows, truth, &rule));
        CHECK_OK(ctx, lli_conformal_sets(ctx, &c, &rows, 7, set, size));
        int64_t below = 0, in = 0;
        for (int i = 0; i < N; i++)
            for (int step = 0; step < 2; step++) {
                lli_stream stream = lli_rng_stream(rule.seed, LLI_PURPOSE_SETS, 0, step);
                double u = ldexp((double)(lli_rng_draw(stream, (uint64_t)(step ? 7 + i : i)) >> 11), -53);
                for (int k = 0; k < K; k++) {
                    double before = 0, p = probs[i * K + k];
                    int rank = 1;
                    for (int j = 0; j < K; j++)
                        if (probs[i * K + j] > p) {
                            before += probs[i * K + j];
                            rank++;
                        }
                    double value = score == LLI_CONFORMAL_LAC
                                       ? -p
                                       : before + (1 - u) * p + (score == LLI_CONFORMAL_RAPS && rank > 5 ? 0.01 * (rank - 5) : 0);
                    if (step == 0 && k == truth[i])
                        below += value <= c.pooled + 1e-12;
                    if (step == 1 && fabs(value - c.pooled) > 1e-12)
                        assert_int_equal(lli_conformal_has(set + 2 * i, k), value <= c.pooled);
                }
                in += step && lli_conformal_has(set + 2 * i, truth[i]);
            }
        assert_int_equal(below, c.rank);
        if (score == LLI_CONFORMAL_LAC) /* nothing random: the row of the quantile is in */
            assert_int_equal(in, c.rank);
        lli_conformal_release(&c);
    }
    const double sure[] = {0.9, 0.1, 0.8, 0.2}, equal[] = {0.5, 0.5};
    const int32_t first[] = {0, 0};
    ll_array few = ll_array_view(sure, LL_DTYPE_F64, 2, (int64_t[]){2, 2}), tied = ll_array_view(equal, LL_DTYPE_F64, 2, (int64_t[]){1, 2});
    for (int empty = 0; empty < 2; empty++) {
        const lli_conformal_rule rule = {.alpha = 0.4, .delta = NAN, .allow_empty = empty};
        lli_conformal c;
        CHECK_OK(ctx, lli_conformal_fit(ctx, &c, &few, first, &rule));
        CHECK_NEAR(c.pooled, -0.8, 0);
        CHECK_OK(ctx, lli_conformal_sets(ctx, &c, &tied, 0, set, size));
        assert_true(set[0] == !empty && size[0] == !empty);
        lli_conformal_release(&c);
    }
    ll_context_free(ctx);
}

/* ---- certificates ---- */

enum { ROWS = 900 };

static sample answers(void) {
    sample s = sample_random(60, ROWS, 0.2, 0);
    s.probs = sample_zeros(2 * ROWS, 8);
    for (int i = 0; i < ROWS; i++) {
        s.label[i] = i % 2;
        s.truth[i] = s.truth[i] ? 1 - s.label[i] : s.label[i];
        s.probs[2 * i + s.label[i]] = 0.5 + s.confidence[0][i] / 2;
        s.probs[2 * i + 1 - s.label[i]] = 0.5 - s.confidence[0][i] / 2;
    }
    return s;
}

static void what_a_certificate_says(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample s = answers();
    ll_outcome points = sample_view(&s);
    points.struct_size = sizeof points;
    const double costs[] = {0, 1, 4, 1}, far[] = {0, 1e308, -1e308, 0};
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){2, 2}),
             wide = ll_array_view(far, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    for (int which = 0; which < 5; which++) { /* a risk; of each class; with costs; both; a coverage */
        ll_certify_options o = ll_certify_options_default();
        o.risk = which == 4 ? NAN : which & 2 ? 1.2 : 0.2;
        o.coverage = which == 4 ? 0.5 : NAN;
        o.per_class = which & 1;
        o.costs = which & 2 ? &matrix : NULL;
        o.seed = 5;
        ll_certificate *c;
        CHECK_OK(ctx, ll_certify(&c, ctx, &points, NULL, &o));
        const ll_certificate_info *i = ll_certificate_view(c);
        assert_true(i->certified && c->seed == 5 && (i->needed == 0) == (which == 4) && i->classes == (which & 1 ? 2 : 0));
        assert_string_equal(c->label_rule, which & 2 ? "costs" : "");
        assert_int_equal(c->sgr.found, which == 0);
        assert_int_equal(c->K, which & 2 ? 2 : 0);
        CHECK_NEAR(c->result.level, which & 1 ? 0.05 / 2 : 0.05, 1e-15);
        assert_true(isnan(i->mean_cost) == !(which & 2));
        double lost = 0;
        for (int k = 0; k < i->classes; k++) {
            const ll_certificate_info *one = ll_certificate_class(c, k);
            lost += one->certified ? one->mean_cost * (double)one->accepted : 0;
        }
        if (which == 3)
            CHECK_NEAR(i->mean_cost, lost / (double)i->accepted, 1e-12);
        ll_certificate_free(c);
    }
    ll_certify_options o = ll_certify_options_default();
    ll_certificate *c;
    for (int end = 0; end < 2; end++) {
        o.risk = end;
        CHECK_FAILS(ctx, LL_ERR_USAGE, "expected a number in (0,1)", ll_certify(&c, ctx, &points, NULL, &o));
        assert_null(c);
    }
    o.costs = &wide;
    CHECK_FAILS(ctx, LL_ERR_DATA, "which is too far for their difference", ll_certify(&c, ctx, &points, NULL, &o));
    assert_true(!ll_certificate_view(NULL) && !ll_certificate_class(NULL, 0));
    ll_certificate_free(NULL);
    sample_free(&s);
    ll_context_free(ctx);
}

/* Each allocation fails once: a status, nothing leaked (the sanitizer build watches). */
static void memory_may_run_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample s = answers();
    ll_outcome points = sample_view(&s);
    points.struct_size = sizeof points;
    const double costs[] = {0, 1, 4, 1};
    ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    ll_certify_options o = ll_certify_options_default();
    ll_sets_options by_class = ll_sets_options_default();
    ll_set_rule *kept;
    o.risk = 1.2;
    o.per_class = true;
    o.costs = &matrix;
    by_class.by_class = true;
    CHECK_OK(ctx, ll_set_rule_fit(&kept, ctx, &points, &by_class));
    for (int call = 0; call < 3; call++)
        for (int64_t at = 1;; at++) {
            ll_certificate *c = NULL;
            ll_set_rule *rule = NULL;
            ll_sets *sets = NULL;
            lli_memory_fail_at(ctx, at);
            ll_status status = call == 0   ? ll_certify(&c, ctx, &points, NULL, &o)
                               : call == 1 ? ll_set_rule_fit(&rule, ctx, &points, &by_class)
                                           : ll_sets_new(&sets, ctx, kept, &points, 0);
            lli_memory_fail_at(ctx, 0);
            assert_true(status == LL_OK ? c || rule || sets : status == LL_ERR_MEMORY && !c && !rule && !sets);
            ll_certificate_free(c);
            ll_set_rule_free(rule);
            ll_sets_free(sets);
            if (status == LL_OK)
                break;
        }
    ll_set_rule_free(kept);
    sample_free(&s);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_values),
        cmocka_unit_test(needed_rows),
        cmocka_unit_test(who_proposes),
        cmocka_unit_test(order_of_tests),
        cmocka_unit_test(search_of_sgr),
        cmocka_unit_test(ranks),
        cmocka_unit_test(scores_of_many_classes),
        cmocka_unit_test(what_a_certificate_says),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
