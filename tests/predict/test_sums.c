/* SPDX-License-Identifier: MIT */
/* Prediction against ref: features and weights are small multiples of powers of two, so that logits are the same numbers in any order and
 * only exponentials differ, by their f32 ulps. And: what belongs to a row depends on that row alone, bit for bit. */
#include "kernels/shapes.h"

#include <math.h>

#include "base/half.h"
#include "predict/sums.h"

enum { S = 11, CHUNK = 8 };

typedef struct problem {
    int64_t n, D, K;
    uint32_t drop16;
    bool keyed; /* rows have keys of their own */
    float *z, *W, *b;
    uint16_t *half;
    int32_t *truth;
    uint64_t *key;
    double weight[S];
    int32_t share[S];
} problem;

static problem problem_new(int64_t n, int64_t D, int64_t K, uint32_t drop16, bool weighted) {
    problem p = {n,
                 D,
                 K,
                 drop16,
                 false,
                 floats(n * D),
                 floats(S * K * D),
                 floats(S * K),
                 array_new(n * D, sizeof(uint16_t)),
                 array_new(n, sizeof(int32_t)),
                 array_new(n, sizeof(uint64_t)),
                 {0},
                 {0}};
    fill_integers(p.z, n * D, 3, 1);
    fill_integers(p.W, S * K * D, 4, 2);
    fill_integers(p.b, S * K, 4, 3);
    for (int64_t i = S * K * D - 1; i >= 0; i--) /* members mostly agree */
        p.W[i] = (p.W[i % (K * D)] + 0.25f * p.W[i]) / (D > 100 ? 8 : 2);
    for (int64_t i = 0; i < n * D; i++)
        p.half[i] = lli_half_from_float(p.z[i]);
    for (int64_t i = 0; i < n; i++)
        p.truth[i] = (int32_t)(check_uniform(4, i) * (double)K);
    for (int64_t i = 0; i < n; i++) /* one wraps around */
        p.key[i] = i ? (uint64_t)(check_uniform(6, i) * 0x1p64) : UINT64_MAX - 3;
    for (int s = 0; s < S; s++)
        p.weight[s] = weighted ? 1 / (1.0 + s / 3) : 1;
    lli_sums_shares(p.share, p.weight, S);
    return p;
}

static void problem_free(problem *p) {
    free(p->z);
    free(p->W);
    free(p->b);
    free(p->half);
    free(p->truth);
    free(p->key);
}

/* Rows from..from+n-1 in chunks of `chunk` members; scores of all members in nll, brier, correct [S,n] unless NULL. */
static void run(lli_tally *t, ll_context *ctx, const lli_kernels *kernels, const problem *p, int64_t from, int64_t n, int64_t chunk,
                bool half, double *nll, double *brier, int32_t *correct) {
    CHECK_OK(ctx, lli_sums_init(ctx, t, n, p->D, p->K, chunk));
    lli_sums_clear(t, n);
    kernels->panels(t, half ? (const void *)p->half : p->z, half, from, p->drop16 ? 65536.0f / (float)(65536 - p->drop16) : 1);
    for (int64_t s = 0; s < S; s += chunk) {
        const lli_mask mask = {lli_rng_stream(9, LLI_PURPOSE_PREDICT_MASK, 0, s), 0, p->drop16};
        int64_t count = LLI_MIN(chunk, S - s), stored = p->drop16 ? 0 : s;
        const lli_members m = {
            .W = p->W + stored * p->K * p->D,
            .b = p->b + stored * p->K,
            .weight = p->weight + s,
            .share = p->share + s,
            .count = count,
            .mask = p->drop16 ? &mask : NULL,
            .row = 70 + from,
            .keys = p->keyed ? p->key + from : NULL,
            .truth = nll ? p->truth + from : NULL,
        };
        kernels->predict(t, &m);
        for (int64_t a = 0; nll && a < count; a++)
            for (int64_t i = 0; i < n; i++) {
                nll[(s + a) * n + i] = t->nll[a * lli_tally_padded(n) + i];
                brier[(s + a) * n + i] = t->brier[a * lli_tally_padded(n) + i];
                correct[(s + a) * n + i] = t->correct[a * lli_tally_padded(n) + i];
            }
    }
    kernels->finish(t);
}

static void near(double found, double expected, double tolerance, const char *what, const problem *p, int64_t i, int64_t k) {
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("n %d D %d K %d drop %u: %s of row %d class %d is %.9g, expected %.9g", (int)p->n, (int)p->D, (int)p->K, p->drop16, what,
                 (int)i, (int)k, found, expected);
}

static void check_rows(const lli_tally *found, const lli_tally *expected, const problem *p) {
    const double ulps = 8e-7; /* of the smallest odds */
    assert_int_equal(found->members, S);
    assert_true(found->weight == expected->weight);
    for (int64_t i = 0; i < p->n; i++) {
        assert_int_equal(found->first_top[i], expected->first_top[i]);
        assert_int_equal(found->label[i], expected->label[i]);
        assert_int_equal(found->overflow[i], 0);
        near(found->divergence[i], expected->divergence[i], ulps * expected->divergence[i], "divergence", p, i, 0);
        near(found->information[i], expected->information[i], ulps * expected->divergence[i], "information", p, i, 0);
        near(found->most[i], expected->most[i], ulps * expected->most[i], "most", p, i, 0);
        near(found->second[i], expected->second[i], ulps * expected->second[i], "second", p, i, 0);
        near(found->mixed[i], expected->mixed[i], ulps * expected->mixed[i], "mixed", p, i, 0);
        for (int64_t k = 0; k < p->K; k++) {
            int64_t at = lli_tally_place(i, k, p->K);
            double r = 0;
            assert_int_equal(found->votes[at], expected->votes[at]);
            for (int e = 0; e < LLI_EXTREME_COUNT; e++) {
                double x = (double)expected->extreme[e][at];
                near((double)found->extreme[e][at], x, ulps * fabs(x), "extreme", p, i, k);
                assert_int_equal(signbit(found->extreme[e][at]), signbit(expected->extreme[e][at]));
                r = fmax(r, fabs(x));
            }
            double rest = lli_tally_rest(expected, i, k);
            near(lli_tally_rest(found, i, k), rest, ulps * fmax(fabs(rest), r / LLI_TALLY_SCALE), "rest", p, i, k);
            near(found->square[at], expected->square[at],
                 ulps * (r * r * S + 4 * r * sqrt(expected->square[at] * S)) + 1e-13 * expected->square[at], "square", p, i, k);
        }
    }
}

static void predict_equals_ref(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 2},    {2, 3, 3},    {7, 8, 2},    {8, 9, 4},     {9, 20, 10},   {15, 31, 5},
                                        {16, 32, 6},  {17, 33, 7},  {31, 64, 8},  {33, 65, 11},  {40, 7, 2},    {5, 128, 16},
                                        {3, 129, 17}, {20, 255, 9}, {4, 256, 33}, {6, 257, 100}, {18, 600, 10}, {2, 10, 1000}};
    static const uint32_t rates[] = {0, 0, 32768, 49152, 49152};
    ll_context *ctx = check_context(1);
    for (size_t s = 0; s < LLI_COUNT(shapes); s++)
        for (size_t r = 0; r < LLI_COUNT(rates); r++) {
            problem p = problem_new(shapes[s][0], shapes[s][1], shapes[s][2], rates[r], r == 1);
            p.keyed = r == 4;
            double *nll[2], *brier[2];
            int32_t *correct[2];
            for (int i = 0; i < 2; i++) {
                nll[i] = array_new(S * p.n, sizeof(double));
                brier[i] = array_new(S * p.n, sizeof(double));
                correct[i] = array_new(S * p.n, sizeof(int32_t));
            }
            lli_tally expected, found;
            run(&expected, ctx, &lli_kernels_ref, &p, 0, p.n, 3, false, nll[0], brier[0], correct[0]);
            FOR_LEVELS(kernels, 1) for (int half = 0; half < 2; half++) {
                run(&found, ctx, kernels, &p, 0, p.n, half ? CHUNK : 3, half, nll[1], brier[1], correct[1]);
                check_rows(&found, &expected, &p);
                for (int64_t i = 0; i < S * p.n; i++) {
                    near(nll[1][i], nll[0][i], 1e-6 * fmax(1, fabs(nll[0][i])), "nll", &p, i, 0);
                    near(brier[1][i], brier[0][i], 1e-6, "brier", &p, i, 0);
                    assert_int_equal(correct[1][i], correct[0][i]);
                }
                lli_sums_release(&found);
            }
            lli_sums_release(&expected);
            for (int i = 0; i < 2; i++) {
                free(nll[i]);
                free(brier[i]);
                free(correct[i]);
            }
            problem_free(&p);
        }
    ll_context_free(ctx);
}

/* Alone, in a block, with scores or without: the same bits. */
static void rows_depend_on_themselves(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{20, 10}, {70, 4}, {300, 37}};
    static const uint32_t rates[] = {0, 19661, 19661};
    ll_context *ctx = check_context(1);
    FOR_LEVELS(kernels, 0) for (size_t s = 0; s < LLI_COUNT(shapes); s++) for (size_t r = 0; r < LLI_COUNT(rates); r++) {
        enum { N = 35 };
        problem p = problem_new(N, shapes[s][0], shapes[s][1], rates[r], true);
        p.keyed = r == 2;
        fill_reals(p.z, N * p.D, 1.7, 5);
        double nll[S * N], brier[S * N];
        int32_t correct[S * N];
        lli_tally whole, alone;
        run(&whole, ctx, kernels, &p, 0, N, CHUNK, false, nll, brier, correct);
        for (int64_t i = 0; i < N; i += 5) {
            run(&alone, ctx, kernels, &p, i, 1, CHUNK, false, NULL, NULL, NULL);
            for (int64_t k = 0; k < p.K; k++) {
                int64_t a = lli_tally_place(0, k, p.K), w = lli_tally_place(i, k, p.K);
                assert_true(alone.shift[a] == whole.shift[w] && alone.square[a] == whole.square[w] && alone.votes[a] == whole.votes[w]);
                for (int e = 0; e < LLI_EXTREME_COUNT; e++)
                    assert_true(alone.extreme[e][a] == whole.extreme[e][w]);
            }
            assert_true(alone.divergence[0] == whole.divergence[i] && alone.information[0] == whole.information[i]);
            assert_true(alone.mixed[0] == whole.mixed[i] && alone.label[0] == whole.label[i]);
            lli_sums_release(&alone);
        }
        lli_sums_release(&whole);
        problem_free(&p);
    }
    ll_context_free(ctx);
}

/* Gaps beyond the floor, and logits that overflow: the top class is one of the classes. */
static void huge_logits(void **state) {
    (void)state;
    static const float sizes[] = {100, 1e4f, 1e30f, 3e38f};
    ll_context *ctx = check_context(1);
    FOR_LEVELS(kernels, 0) for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
        problem p = problem_new(20, 3, 5, 0, false);
        for (int64_t i = 0; i < S * 15; i++)
            p.W[i] *= sizes[s];
        lli_tally t;
        run(&t, ctx, kernels, &p, 0, 20, CHUNK, false, NULL, NULL, NULL);
        for (int64_t i = 0; i < 20; i++) {
            assert_in_range(t.first_top[i], 0, 4);
            assert_in_range(t.label[i], 0, 4);
            assert_true(s == 3 || !t.overflow[i]);
            if (s < 2) { /* finite logits far apart: certain, and finite */
                assert_true(t.most[i] > 0.05 && t.most[i] <= 1 && isfinite(t.mixed[i]) && isfinite(t.information[i]));
                for (int64_t k = 0; k < 5; k++)
                    assert_true(lli_tally_mean(&t, i, k) >= 0);
            }
        }
        lli_sums_release(&t);
        problem_free(&p);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predict_equals_ref),
        cmocka_unit_test(rows_depend_on_themselves),
        cmocka_unit_test(huge_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
