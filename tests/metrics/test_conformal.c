/* SPDX-License-Identifier: MIT */
/* Conformal sets: ranks against SciPy, scores against a plain loop, coverage against the beta-binomial law that they must have exactly. */
#include "fixture.h"

#include <math.h>

#include "metrics/conformal.h"

enum { K = 4 };

static const lli_conformal_rule PLAIN = {.alpha = 0.1, .delta = NAN, .allow_empty = true, .seed = 3};

/* Rows of random probabilities, and classes drawn from them. */
static void draw(double *probs, int32_t *truth, int64_t n, int64_t stream) {
    for (int64_t i = 0; i < n; i++) {
        double sum = 0, x = check_uniform(stream, i * (K + 1) + K);
        for (int k = 0; k < K; k++)
            sum += probs[i * K + k] = pow(check_uniform(stream, i * (K + 1) + k), 3) + 1e-9;
        truth[i] = K - 1;
        for (int k = 0; k < K; k++)
            probs[i * K + k] /= sum;
        for (int k = 0; k < K; k++) {
            x -= probs[i * K + k];
            if (x < 0) {
                truth[i] = k;
                break;
            }
        }
    }
}

static ll_array view(const double *probs, int64_t n) {
    return ll_array_view(probs, LL_DTYPE_F64, 2, (int64_t[]){n, K});
}

static void test_ranks(void **state) {
    (void)state;
    json_t *root = fixture_read("certify"), *c;
    size_t i;
    json_array_foreach(fixture_get(root, "ranks"), i, c) assert_int_equal(
        lli_conformal_rank(fixture_integer(c, "n"), fixture_real(c, "alpha"), fixture_real(c, "delta")), fixture_integer(c, "rank"));
    json_decref(root);
    /* alpha = a/1000: ceil((n+1)(1000-a)/1000) in whole numbers */
    for (int64_t n = 1; n < 1200; n++)
        for (int64_t a = 1; a < 1000; a += 7)
            assert_int_equal(lli_conformal_rank(n, (double)a / 1000, NAN), ((n + 1) * (1000 - a) + 999) / 1000);
}

/* The set of row i by the definition; u is read off the product's own stream. */
static bool is_in(const double *p, int k, lli_conformal_score score, double quantile, double u) {
    if (score == LLI_CONFORMAL_LAC)
        return 1 - p[k] <= 1 + quantile + 1e-15;
    double sum = p[k] * (1 - u);
    int rank = 1;
    for (int j = 0; j < K; j++)
        if (p[j] > p[k] || (p[j] == p[k] && j < k)) {
            sum += p[j];
            rank++;
        }
    return sum + (score == LLI_CONFORMAL_RAPS && rank > 5 ? 0.01 * (rank - 5) : 0) <= quantile + 1e-12;
}

static void test_definition(void **state) {
    (void)state;
    enum { N = 500 };
    ll_context *ctx = check_context(2);
    double probs[2][N * K];
    int32_t truth[2][N], size[N];
    uint8_t set[N];
    draw(probs[0], truth[0], N, 1);
    draw(probs[1], truth[1], N, 2);
    ll_array calibration = view(probs[0], N), fresh = view(probs[1], N);
    for (int score = LLI_CONFORMAL_LAC; score <= LLI_CONFORMAL_RAPS; score++) {
        lli_conformal_rule rule = PLAIN;
        rule.score = (lli_conformal_score)score;
        lli_conformal c;
        CHECK_OK(ctx, lli_conformal_fit(ctx, &c, &calibration, truth[0], &rule));
        CHECK_OK(ctx, lli_conformal_sets(ctx, &c, &fresh, 100, set, size));
        int64_t below = 0; /* of the calibration rows, as many are in as the rank says */
        for (int i = 0; i < N; i++) {
            double u = (double)(lli_rng_draw(lli_rng_stream(rule.seed, LLI_PURPOSE_SETS, 0, 0), (uint64_t)i) >> 11) * 0x1p-53;
            below += is_in(probs[0] + i * K, truth[0][i], rule.score, c.pooled, u);
            u = (double)(lli_rng_draw(lli_rng_stream(rule.seed, LLI_PURPOSE_SETS, 0, 1), (uint64_t)(100 + i)) >> 11) * 0x1p-53;
            int count = 0;
            for (int k = 0; k < K; k++) {
                bool in = is_in(probs[1] + i * K, k, rule.score, c.pooled, u);
                assert_int_equal(lli_conformal_has(set + i, k), in);
                count += in;
            }
            assert_int_equal(size[i], count);
        }
        assert_int_equal(below, c.rank);
        lli_conformal_release(&c);
    }
    ll_context_free(ctx);
}

static double log_beta(double a, double b) {
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

/* Covered rows of M new ones, over many draws of n calibration rows, are beta-binomial: chi-square of the counts. */
static double chi_square(ll_context *ctx, const lli_conformal_rule *rule, int64_t n, int trials, double *mean) {
    enum { M = 10, MOST = 128 };
    double probs[MOST * K], chi = 0;
    int32_t truth[MOST], size[M];
    uint8_t set[M];
    int count[M + 1] = {0}, covered = 0;
    for (int trial = 0; trial < trials; trial++) {
        lli_conformal_rule drawn = *rule;
        drawn.seed = (uint64_t)trial;
        draw(probs, truth, n + M, trial);
        ll_array calibration = view(probs, n), fresh = view(probs + n * K, M);
        lli_conformal c;
        CHECK_OK(ctx, lli_conformal_fit(ctx, &c, &calibration, truth, &drawn));
        CHECK_OK(ctx, lli_conformal_sets(ctx, &c, &fresh, 0, set, size));
        int in = 0;
        for (int i = 0; i < M; i++)
            in += lli_conformal_has(set + i, truth[n + i]);
        count[in]++;
        covered += in;
        lli_conformal_release(&c);
    }
    double a = (double)lli_conformal_rank(n, rule->alpha, rule->delta), b = (double)n + 1 - a;
    double seen = 0, expected = 0;
    for (int j = M; j >= 0; j--) { /* cells of few expected draws are joined */
        expected += trials * exp(lgamma(M + 1) - lgamma(j + 1) - lgamma(M - j + 1) + log_beta(j + a, M - j + b) - log_beta(a, b));
        seen += count[j];
        if (expected >= 20 || j == 0) {
            chi += (seen - expected) * (seen - expected) / expected;
            seen = expected = 0;
        }
    }
    *mean = (double)covered / trials / M;
    return chi;
}

static void test_coverage(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int trials = 1500 / check_step(10);
    static const int64_t sizes[] = {20, 50, 100};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++)
        for (int score = LLI_CONFORMAL_LAC; score <= LLI_CONFORMAL_RAPS; score++) {
            lli_conformal_rule rule = PLAIN;
            rule.score = (lli_conformal_score)score;
            double exact = (double)lli_conformal_rank(sizes[s], rule.alpha, NAN) / (double)(sizes[s] + 1), mean;
            double chi = chi_square(ctx, &rule, sizes[s], trials, &mean);
            if (chi > 30) /* at most 10 degrees of freedom: 0.1 % */
                fail_msg("n = %d, score %d: the counts are not beta-binomial, chi-square %g", (int)sizes[s], score, chi);
            CHECK_NEAR(mean, exact, 0.02 * sqrt(1500.0 / trials));
            rule.allow_empty = false;
            chi_square(ctx, &rule, sizes[s], trials, &mean);
            assert_true(mean > exact - 0.01 * sqrt(1500.0 / trials));
        }
    ll_context_free(ctx);
}

static bool within(const uint8_t *small, const uint8_t *large, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++)
        if (small[i] & ~large[i])
            return false;
    return true;
}

/* Sets grow as alpha falls, hold the first class unless asked otherwise, and do not depend on threads or, for LAC, on the order of rows. */
static void test_nested(void **state) {
    (void)state;
    enum { N = 700 };
    static const double alphas[] = {0.5, 0.3, 0.1, 0.05, 0.01, 0.001};
    ll_context *one = check_context(1), *four = check_context(4);
    static double probs[N * K], turned[N * K];
    int32_t truth[N], back[N], size[N], size4[N];
    uint8_t set[2][N], set4[N];
    draw(probs, truth, N, 5);
    for (int i = 0; i < N; i++) {
        memcpy(turned + i * K, probs + (N - 1 - i) * K, K * sizeof(double));
        back[i] = truth[N - 1 - i];
    }
    ll_array rows = view(probs, N), rows_back = view(turned, N);
    for (int score = LLI_CONFORMAL_LAC; score <= LLI_CONFORMAL_RAPS; score++)
        for (int by_class = 0; by_class < 2; by_class++)
            for (size_t a = 0; a < LLI_COUNT(alphas); a++) {
                lli_conformal_rule rule = {.score = (lli_conformal_score)score, .alpha = alphas[a], .delta = NAN, .by_class = by_class};
                lli_conformal c, same;
                uint8_t *here = set[a % 2], *before = set[1 - a % 2];
                CHECK_OK(one, lli_conformal_fit(one, &c, &rows, truth, &rule));
                CHECK_OK(one, lli_conformal_sets(one, &c, &rows, 0, here, size));
                CHECK_OK(four, lli_conformal_fit(four, &same, &rows, truth, &rule));
                CHECK_OK(four, lli_conformal_sets(four, &same, &rows, 0, set4, size4));
                assert_memory_equal(here, set4, N);
                assert_memory_equal(size, size4, sizeof size);
                lli_conformal_release(&same);
                if (score == LLI_CONFORMAL_LAC) {
                    CHECK_OK(one, lli_conformal_fit(one, &same, &rows_back, back, &rule));
                    assert_memory_equal(c.quantile, same.quantile, K * sizeof(double));
                    lli_conformal_release(&same);
                }
                for (int i = 0; i < N; i++) {
                    assert_true(size[i] >= 1);
                    assert_true(a == 0 || within(before + i, here + i, 1));
                }
                lli_conformal_release(&c);
            }
    ll_context_free(one);
    ll_context_free(four);
}

/* A class of 4 rows has no quantile of its own at alpha = .1; one of 9 has: its largest score. */
static void test_by_class(void **state) {
    (void)state;
    enum { N = 113 };
    ll_context *ctx = check_context(1);
    double probs[N * K], least = 2;
    int32_t truth[N];
    draw(probs, truth, N, 9);
    for (int i = 0; i < N; i++) {
        truth[i] = i < 4 ? 0 : i < 13 ? 1 : 2 + i % 2;
        least = truth[i] == 1 ? fmin(least, probs[i * K + 1]) : least;
    }
    ll_array rows = view(probs, N);
    lli_conformal_rule rule = PLAIN;
    rule.by_class = true;
    lli_conformal c;
    CHECK_OK(ctx, lli_conformal_fit(ctx, &c, &rows, truth, &rule));
    assert_true(c.few[0] && !c.few[1] && !c.few[2] && !c.few[3]);
    assert_true(c.quantile[0] == c.pooled && c.quantile[1] == -least);
    assert_int_equal(c.class_n[0], 4);
    lli_conformal_release(&c);
    rule.alpha = 0.001; /* nothing is left out */
    int32_t size[N];
    uint8_t set[N];
    CHECK_OK(ctx, lli_conformal_fit(ctx, &c, &rows, truth, &rule));
    CHECK_OK(ctx, lli_conformal_sets(ctx, &c, &rows, 0, set, size));
    for (int i = 0; i < N; i++)
        assert_int_equal(size[i], K);
    lli_conformal_release(&c);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),  cmocka_unit_test(test_definition), cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_nested), cmocka_unit_test(test_by_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
