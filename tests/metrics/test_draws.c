/* SPDX-License-Identifier: MIT */
/* One draw of the bootstrap, against loops over the definition; draws by counts, against all draws that there are and against binomials;
 * the ends of intervals, against the draws that they are the middle of. */
#include <math.h>

#include "metrics/calibration.h"
#include "metrics/coverage_draw.h"
#include "metrics/digits.h"
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
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_of_a_draw),  cmocka_unit_test(false_positives_of_a_draw), cmocka_unit_test(codes),
        cmocka_unit_test(draws_of_few_places), cmocka_unit_test(draws_of_two_groups),       cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
