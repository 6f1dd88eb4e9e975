/* SPDX-License-Identifier: MIT */
/* One draw of the bootstrap, against loops over the definition; draws by counts, against all draws that there are and against binomials;
 * the ends of intervals, against the draws that they are the middle of. */
#include <math.h>

#include "metrics/calibration.h"
#include "metrics/contrast.h"
#include "metrics/coverage_draw.h"
#include "metrics/digits.h"
#include "metrics/miscalibration.h"
#include "metrics/resample.h"
#include "metrics/sample.h"
#include "metrics/special.h"
#include "metrics/statistic.h"

/* Sums over the first `end` places: points, and the marked ones among them. */
typedef struct sums {
    int64_t points, marked;
} sums;

static sums first_places(const uint8_t *code, const uint8_t *weight, const int64_t *place, int64_t end) {
    sums s = {0};
    for (int64_t i = 0; i < end; i++) {
        int64_t w = weight[place ? place[i] : i];
        s.points += w;
        s.marked += code[i] & LLI_STATISTIC_MARK ? w : 0;
    }
    return s;
}

/* The most that a cut accepts at this risk, in points. */
static int64_t most_accepted(const uint8_t *code, const uint8_t *weight, const int64_t *place, int64_t n, double risk) {
    for (int64_t end = n; end > 0; end--) {
        sums s = first_places(code, weight, place, end);
        if ((end == n || code[end] & LLI_STATISTIC_FIRST) && (s.points == 0 || (double)s.marked / (double)s.points <= risk))
            return s.points;
    }
    return 0;
}

static void shuffled(int64_t *place, int64_t n, int64_t stream) {
    for (int64_t i = 0; i < n; i++)
        place[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(check_uniform(stream, i) * (double)(i + 1)), keep = place[i];
        place[i] = place[j];
        place[j] = keep;
    }
}

/* Blocks of 128 places are left out at once: lists that end beside them, cuts before, in and behind them. */
static void coverage_of_a_draw(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 127, 128, 129, 255, 256, 257, 640};
    static const double risks[] = {0, 0.05, 0.2, 0.4, 1}, joined[] = {0, 0.6, 0.99};
    for (size_t z = 0; z < LLI_COUNT(sizes); z++)
        for (int64_t c = 0; c < 12; c++) {
            int64_t n = sizes[z], *place = sample_zeros(n, 8);
            uint8_t *code = sample_zeros(n, 1), *weight = sample_zeros(n, 1);
            for (int64_t i = 0; i < n; i++) {
                double share = (double)(i + 1) / (double)n, chance = c % 4 == 0 ? share * share : c % 4 == 1 ? 0.05 + (share > 0.9) : 0.3;
                code[i] = (uint8_t)((check_uniform(40 + c, 2 * i) < chance) * LLI_STATISTIC_MARK |
                                    (i == 0 || check_uniform(40 + c, 2 * i + 1) >= joined[c % 3]) * LLI_STATISTIC_FIRST);
            }
            shuffled(place, n, 60 + c);
            for (int64_t draw = 0; draw < 4; draw++) {
                lli_resample_weights(weight, n, 3, draw, LLI_RESAMPLE_POINTS);
                for (size_t r = 0; r < LLI_COUNT(risks); r++)
                    for (int moved = 0; moved < 2; moved++) {
                        const lli_statistic_cut cut = {code, moved ? place : NULL, n, risks[r]};
                        int64_t expected = most_accepted(code, weight, cut.place, n, risks[r]);
                        assert_true(lli_statistic_coverage(&cut, weight, NULL) == (double)expected / (double)n);
                    }
            }
            free(place), free(code), free(weight);
        }
}

/* The share of out points at the first cut that accepts 95 % of the others. */
static void false_positives_of_a_draw(void **state) {
    (void)state;
    enum { MOST = 400 };
    static const int64_t sizes[][2] = {{1, 1}, {20, 5}, {40, 3}, {200, 100}, {100, 300}};
    for (size_t z = 0; z < LLI_COUNT(sizes); z++)
        for (int64_t c = 0; c < 30; c++) {
            int64_t n = sizes[z][0], n_out = sizes[z][1], in = n, out = n_out, place[MOST], out_place[MOST];
            uint8_t code[MOST], weight[MOST], out_weight[MOST];
            for (int64_t i = 0; i < n + n_out; i++) { /* out points stand lower, but not all */
                bool mark = in == 0 || (out > 0 && check_uniform(100 + c, 2 * i) < 0.15 + 0.7 * (double)i / (double)(n + n_out));
                *(mark ? &out : &in) -= 1;
                bool first = i == 0 || check_uniform(100 + c, 2 * i + 1) < (c % 2 ? 1 : 0.5);
                code[i] = (uint8_t)(mark * LLI_STATISTIC_MARK | first * LLI_STATISTIC_FIRST);
            }
            shuffled(place, n, 60 + c);
            shuffled(out_place, n_out, 61 + c);
            for (int64_t i = 0; i < n; i++)
                weight[i] = 1;
            for (int64_t i = 0; i < n_out; i++)
                out_weight[i] = 1;
            for (int64_t draw = -1; draw < 4; draw++) /* -1: each point once */
                for (int moved = 0; moved < 2; moved++) {
                    if (draw >= 0) {
                        lli_resample_weights(weight, n, 3, draw, LLI_RESAMPLE_POINTS);
                        lli_resample_weights(out_weight, n_out, 3, draw, LLI_RESAMPLE_OUT);
                    }
                    int64_t kept = 0, passed = 0, i = 0, next[2] = {0};
                    do {
                        bool mark = code[i] & LLI_STATISTIC_MARK;
                        int64_t at = next[mark]++;
                        if (mark)
                            passed += out_weight[moved ? out_place[at] : at];
                        else
                            kept += weight[moved ? place[at] : at];
                        i++;
                    } while (i < n + n_out && (!(code[i] & LLI_STATISTIC_FIRST) || (double)kept / (double)n < 0.95));
                    const lli_statistic_out far = {code, moved ? place : NULL, moved ? out_place : NULL, n, n_out};
                    assert_true(lli_statistic_fpr95(&far, weight, out_weight) == (double)passed / (double)n_out);
                }
        }
}

/* Marks and first places of a list with ties, marked points behind the others of their group. */
static void codes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const double x[] = {0.5, 0.9, 0.5, 0.1, 0.9, 0.5, 0.3};
    const uint8_t mark[] = {1, 1, 0, 0, 0, 1, 1}, expected[] = {2, 1, 2, 1, 1, 3, 2};
    uint8_t code[7];
    lli_curve curve;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, 7));
    lli_curve_add(&curve, x, 7, false, mark, false);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    lli_statistic_code(code, &curve);
    assert_memory_equal(code, expected, 7);
    lli_curve_release(&curve);
    ll_context_free(ctx);
}

/* Four places, all marks and all groups: the share of draws of each coverage against all 256 draws. */
static void draws_of_few_places(void **state) {
    (void)state;
    enum { N = 4, LISTS = 128, ALL = 256 };
    static const double risks[] = {0, 0.25, 0.34, 0.5};
    static uint8_t code[LISTS][N];
    static double values[LISTS * LLI_RESAMPLE_DRAWS];
    const uint8_t *lists[LISTS];
    ll_context *ctx = check_context(1);
    for (int k = 0; k < LISTS; k++) {
        lists[k] = code[k];
        for (int i = 0; i < N; i++)
            code[k][i] = (uint8_t)((k >> i & 1) * LLI_STATISTIC_MARK | (i == 0 || k >> (3 + i) & 1) * LLI_STATISTIC_FIRST);
    }
    for (size_t r = 0; r < LLI_COUNT(risks); r++) {
        CHECK_OK(ctx, lli_coverage_draw(values, ctx, lists, LISTS, N, risks[r], 11));
        for (int k = 0; k < LISTS; k++) {
            double chance[N + 1] = {0}, share[N + 1] = {0};
            for (int d = 0; d < ALL; d++) {
                uint8_t weight[N] = {0};
                for (int i = 0; i < N; i++)
                    weight[d >> (2 * i) & 3]++;
                chance[most_accepted(code[k], weight, NULL, N, risks[r])] += 1.0 / ALL;
            }
            for (int d = 0; d < LLI_RESAMPLE_DRAWS; d++) {
                double points = values[k * LLI_RESAMPLE_DRAWS + d] * N;
                assert_true(points == floor(points) && points >= 0 && points <= N);
                share[(int)points]++;
            }
            for (int c = 0; c <= N; c++)
                CHECK_NEAR(share[c] / LLI_RESAMPLE_DRAWS, chance[c], 4.5 * sqrt(chance[c] * (1 - chance[c]) / LLI_RESAMPLE_DRAWS));
        }
    }
    ll_context_free(ctx);
}

/* Two groups, right ones and wrong ones, that part at the end of a run of 4096 places or beside it: all is accepted when the binomial
 * number of errors is small enough, else the first group; and one group alone, which is accepted or not. */
static void draws_of_two_groups(void **state) {
    (void)state;
    static const int64_t firsts[] = {4095, 4096, 4097, 8192, 9000};
    static double values[LLI_RESAMPLE_DRAWS];
    ll_context *ctx = check_context(1);
    for (size_t f = 0; f < LLI_COUNT(firsts); f++)
        for (int alone = 0; alone < 2; alone++) {
            int64_t first = firsts[f], n = first + 60, all = 0, none = 0, most = 60;
            uint8_t *code = sample_zeros(n, 1);
            code[0] = LLI_STATISTIC_FIRST;
            for (int64_t i = first; i < n; i++)
                code[i] = LLI_STATISTIC_MARK;
            code[first] |= alone ? 0 : LLI_STATISTIC_FIRST;
            double risk = ((double)most + 0.5) / (double)n, errors = 0, squares = 0;
            CHECK_OK(ctx, lli_coverage_draw(values, ctx, (const uint8_t *const[]){code}, 1, n, risk, 12));
            for (int d = 0; d < LLI_RESAMPLE_DRAWS; d++) {
                double missing = (1 - values[d]) * (double)n;
                all += values[d] == 1;
                none += values[d] == 0;
                if (values[d] == 1 || alone)
                    continue;
                assert_true(missing > (double)most && missing < 200);
                errors += missing;
                squares += missing * missing;
            }
            double chance = exp(lli_special_log_binomial_cdf(most, n, 60.0 / (double)n)), D = LLI_RESAMPLE_DRAWS;
            CHECK_NEAR((double)all / D, chance, 4.5 * sqrt(chance * (1 - chance) / D));
            assert_int_equal(none, alone ? LLI_RESAMPLE_DRAWS - all : 0);
            double above = 0, mean = 0; /* of the binomial, beyond what is accepted */
            for (int64_t e = most + 1; e < 200; e++) {
                double p = exp(lli_special_log_binomial_pmf(e, n, 60.0 / (double)n));
                above += p;
                mean += p * (double)e;
            }
            if (!alone) {
                double count = D - (double)all;
                CHECK_NEAR(errors / count, mean / above, 4.5 * sqrt((squares / count - errors * errors / count / count) / count));
            }
            free(code);
        }
    ll_context_free(ctx);
}

/* ---- numbers ---- */

/* 53 digits of two words; what is certain takes none; shares of the uniform number are closed on the left. */
static void numbers(void **state) {
    (void)state;
    for (int64_t d = 0; d < 200; d++) {
        lli_digits one = lli_digits_of(9, LLI_DIGITS_BINS, d), other = one;
        for (int i = 0; i < 5; i++) {
            uint64_t high = lli_digits_next(&one), low = lli_digits_next(&one);
            assert_true(lli_digits_share(&other) == ldexp((double)(((high << 32) + low) / 2048), -53));
        }
        lli_philox block = lli_rng_block(lli_rng_stream(9, LLI_PURPOSE_INTERVAL, LLI_DIGITS_BINS, d), 0);
        lli_digits start = lli_digits_of(9, LLI_DIGITS_BINS, d);
        assert_int_equal(lli_digits_next(&start), block.lane[0]);
        lli_digits certain = one;
        assert_true(lli_digits_binomial(&certain, 0, 0.5) == 0 && lli_digits_binomial(&certain, 7, 0) == 0 &&
                    lli_digits_binomial(&certain, 7, 1) == 7);
        assert_memory_equal(&certain, &one, sizeof one);
    }
    assert_int_equal(lli_digits_binomial_at(0.5, 1, 0.5), 0); /* the mode, 1, has [0, 1/2) */
    assert_int_equal(lli_digits_binomial_at(0.5 - 0x1p-54, 1, 0.5), 1);
    double mode = exp(lli_special_log_binomial_pmf(1, 2, 0.5)); /* then 2 has half as much, and 0 the rest */
    assert_int_equal(lli_digits_binomial_at(1.5 * mode, 2, 0.5), 0);
    assert_int_equal(lli_digits_binomial_at(nextafter(1.5 * mode, 0), 2, 0.5), 2);
    assert_int_equal(lli_digits_binomial_at(0.9375, 2, 0.75), 0); /* 2 has 9/16, 1 has 6/16 */
    assert_int_equal(lli_digits_binomial_at(nextafter(0.9375, 0), 2, 0.75), 1);
}

/* ---- intervals ---- */

static void same_interval(ll_interval found, double lo, double hi) {
    assert_true(found.lo == lo && found.hi == hi);
}

/* Coverage and FPR95 have the middle of their draws; ECE has it mirrored at the ECE, and not below 0. */
static void intervals_come_from_draws(void **state) {
    (void)state;
    enum { N = 500, OUT = 200 };
    static double values[LLI_RESAMPLE_DRAWS];
    ll_context *ctx = check_context(2);
    for (int sure = 0; sure < 2; sure++) {
        sample s = sample_random(21, N, 0.3, 0), far = sample_random(22, OUT, 0.3, 0);
        double *sr = s.confidence[LL_CONFIDENCE_SR];
        uint8_t wrong[N], code[N + OUT];
        for (int i = 0; i < N; i++) { /* calibrated, or much too sure */
            sr[i] = 0.2 + 0.8 * sr[i];
            s.truth[i] = check_uniform(23, i) >= (sure ? 0.3 : sr[i]);
            wrong[i] = s.truth[i] != 0;
        }
        ll_outcome points = sample_view(&s), outside = sample_view(&far);
        ll_evaluate_options o = ll_evaluate_options_default();
        o.risk = 0.4;
        o.seed = 6;
        o.interval = 0.8;
        ll_evaluation *e;
        CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, &outside, &o));
        lli_curve curve;
        ll_bin bin[10];
        lli_bin_runs runs;
        double ece, mce, p;
        CHECK_OK(ctx, lli_curve_init(&curve, ctx, N + OUT));
        lli_curve_add(&curve, sr, N, false, wrong, false);
        CHECK_OK(ctx, lli_curve_close(ctx, &curve));
        lli_statistic_code(code, &curve);
        CHECK_OK(ctx, lli_coverage_draw(values, ctx, (const uint8_t *const[]){code}, 1, N, 0.4, 6));
        ll_interval middle = lli_resample_middle(values, 0.8);
        same_interval(e->intervals.coverage_at_risk[0], middle.lo, middle.hi);
        CHECK_OK(ctx, lli_bin_runs_init(&runs, ctx, &curve, bin,
                                        lli_calibration_measure(&ece, &mce, bin, &curve, 10, LLI_CALIBRATION_LEFT, false)));
        CHECK_OK(ctx, lli_bin_runs_ece(values, ctx, &runs, 6));
        middle = lli_resample_middle(values, 0.8);
        same_interval(e->intervals.ece, fmax(0, 2 * ece - middle.hi), fmax(0, 2 * ece - middle.lo));
        CHECK_OK(ctx, lli_miscalibration_p(&p, ctx, &runs, ece, 6));
        assert_true(e->ece == ece && e->mce == mce && e->ece_p == p && (e->intervals.ece.lo > 0) == sure && (p < 0.01) == sure);
        lli_curve_clear(&curve);
        lli_curve_add(&curve, sr, N, false, NULL, false);
        lli_curve_add(&curve, far.confidence[LL_CONFIDENCE_SR], OUT, false, NULL, true);
        CHECK_OK(ctx, lli_curve_close(ctx, &curve));
        lli_statistic_code(code, &curve);
        const lli_statistic_out at = {.code = code, .n = N, .n_out = OUT};
        lli_statistic *const functions[] = {lli_statistic_fpr95};
        const lli_resample plan = {.n = N, .n_out = OUT, .seed = 6, .count = 1, .statistic = functions, .arg = (const void *const[]){&at}};
        CHECK_OK(ctx, lli_resample_run(values, ctx, &plan));
        middle = lli_resample_middle(values, 0.8);
        same_interval(e->intervals.ood_fpr95[0], middle.lo, middle.hi);
        lli_bin_runs_release(&runs);
        lli_curve_release(&curve);
        ll_evaluation_free(e);
        sample_free(&s);
        sample_free(&far);
    }
    ll_context_free(ctx);
}

/* 19 of 20 is 95 %: the out point behind the 19th is not accepted. */
static void nineteen_of_twenty(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int last = 18; last <= 19; last++) {
        sample s = sample_random(24, 20, 0.5, 0), far = sample_random(25, 1, 0.5, 0);
        for (int i = 0; i < 20; i++)
            s.confidence[LL_CONFIDENCE_SR][i] = (i <= last ? 0.9 : 0.1) - 0.001 * i;
        far.confidence[LL_CONFIDENCE_SR][0] = last == 18 ? 0.5 : s.confidence[LL_CONFIDENCE_SR][18] + 0.0005;
        ll_outcome points = sample_view(&s), outside = sample_view(&far);
        ll_evaluation *e;
        CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, &outside, NULL));
        CHECK_NEAR(e->ood[0].fpr95, last == 19, 0);
        ll_evaluation_free(e);
        sample_free(&s);
        sample_free(&far);
    }
    ll_context_free(ctx);
}

/* One method is better in every draw: the draw at hand is the only one on the other side, and p counts both sides. */
static void better_in_every_draw(void **state) {
    (void)state;
    enum { N = 300 };
    ll_context *ctx = check_context(1);
    sample s[2];
    for (int k = 0; k < 2; k++) {
        s[k] = sample_random(26, N, 0, 0);
        for (int i = 0; i < N; i++) { /* 60 errors, the surest of one and the least sure of the other */
            s[k].truth[i] = i < 60;
            s[k].confidence[LL_CONFIDENCE_SR][i] = (k ? i : N - i) / (N + 1.0);
        }
    }
    ll_outcome points[] = {sample_view(&s[0]), sample_view(&s[1])};
    const lli_contrast_plan plan = {LL_CONFIDENCE_SR, 0.95, 0.05, 4};
    for (int k = 0; k < 2; k++) {
        ll_difference d[LL_METRIC_COUNT];
        const lli_contrast_side first = {.points = &points[k]}, second = {.points = &points[!k]};
        CHECK_OK(ctx, lli_contrast_measure(d, ctx, &first, &second, &plan));
        const ll_difference *c = &d[LL_METRIC_COVERAGE_AT_RISK];
        CHECK_NEAR(c->p, 2.0 / (LLI_RESAMPLE_DRAWS + 1), 1e-15);
        assert_true(k ? c->interval.hi < 0 && c->value < -0.8 : c->interval.lo > 0 && c->value > 0.8);
    }
    for (int64_t at = 1;; at++) { /* and memory that runs out */
        ll_contrast *c = NULL;
        const ll_outcome *both[] = {&points[0], &points[1]};
        ll_evaluate_options o = ll_evaluate_options_default();
        points[0].struct_size = points[1].struct_size = sizeof points[0];
        points[0].n = points[1].n = 20;
        lli_memory_fail_at(ctx, at);
        ll_status status = ll_contrast_new(&c, ctx, (const char *const[]){"one", "two"}, both, both, 2, LL_CONFIDENCE_SR, &o);
        lli_memory_fail_at(ctx, 0);
        assert_true(status == LL_OK ? c != NULL : status == LL_ERR_MEMORY && !c);
        ll_contrast_free(c);
        if (status == LL_OK)
            break;
    }
    sample_free(&s[0]);
    sample_free(&s[1]);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_of_a_draw),        cmocka_unit_test(false_positives_of_a_draw), cmocka_unit_test(codes),
        cmocka_unit_test(draws_of_few_places),       cmocka_unit_test(draws_of_two_groups),       cmocka_unit_test(numbers),
        cmocka_unit_test(intervals_come_from_draws), cmocka_unit_test(nineteen_of_twenty),        cmocka_unit_test(better_in_every_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
