/* SPDX-License-Identifier: MIT */
/* Every confidence against the plain loop: weights, masks, ties, saturated probabilities, one member. */
#include "answer_room.h"
#include "check.h"
#include "plain.h"

typedef struct shape {
    int64_t N, S, K, D;
    float scale;
    uint32_t drop16;
    bool weighted;
    float close; /* not 0: members are that much nearer to the first, a power of 2 */
    bool fine;   /* features on a finer grid, so that rows do not tie */
} shape;

static const shape shapes[] = {
    {200, 7, 4, 5, 1, 0, false, 0, false},      {100, 20, 3, 9, 2, 0, true, 0, false},        {64, 2, 10, 17, 1, 0, false, 0, false},
    {33, 5, 2, 1, 4, 0, true, 0, false},        {90, 9, 5, 7, 1, 32768, false, 0, false},     {40, 6, 3, 140, 1, 49152, false, 0, false},
    {300, 12, 5, 8, 16, 0, false, 0, false},    {150, 8, 4, 6, 32, 0, true, 0, false},        {40, 3, 130, 4, 1, 0, false, 0, false},
    {100, 9, 10, 7, 2, 0, true, 0.0625, false}, {100, 30, 5, 8, 16, 0, false, 0.0625, false},
};

typedef struct scene {
    ll_context *ctx;
    ll_ensemble *e;
    float *z;
    int32_t *truth;
    plain naive;
    ll_prediction out;
} scene;

static void scene_init(scene *s, const shape *sh, int64_t row) {
    s->ctx = check_context(1);
    double *weight = problem_room(sh->S, sizeof *weight);
    for (int64_t i = 0; i < sh->S; i++)
        weight[i] = pow(1 + (double)i, -0.55);
    s->e = plain_ensemble(s->ctx, sh->S, sh->K, sh->D, sh->scale, sh->weighted ? weight : NULL, sh->drop16);
    free(weight);
    for (int tensor = 0; tensor < 2 && sh->close > 0; tensor++) {
        int64_t count = tensor ? sh->K : sh->K * sh->D;
        for (int64_t i = count; i < sh->S * count; i++) {
            float *own = &s->e->owned[tensor][i], first = s->e->owned[tensor][i % count];
            *own = first + (*own - first) * sh->close;
        }
    }
    s->z = plain_features(sh->N, sh->D, sh->fine ? 256 : 8);
    s->naive = plain_new(s->e, s->z, sh->N, row);
    s->truth = problem_room(sh->N, sizeof *s->truth);
    for (int64_t i = 0; i < sh->N; i++) { /* wrong where it is unsure, and now and then where it is not */
        int64_t label = s->naive.label[i], other = (int64_t)(check_uniform(31, i) * (double)sh->K);
        bool wrong = check_uniform(30, i) < 0.6 * pow((double)plain_tail(&s->naive, i, label), 0.1);
        s->truth[i] = (int32_t)(wrong ? other : label);
    }
    s->out = answers_new(sh->N, sh->K, sh->S, s->truth);
    ll_predictor *predictor;
    CHECK_OK(s->ctx, ll_predictor_new(&predictor, s->ctx, s->e));
    int64_t before = lli_memory_count(s->ctx);
    CHECK_OK(s->ctx, ll_predictor_run(&s->out, predictor, s->z, sh->N, row));
    assert_int_equal(lli_memory_count(s->ctx), before); /* running allocates nothing */
    assert_string_equal(ll_predictor_message(predictor), "");
    ll_predictor_free(predictor);
}

static void scene_release(scene *s) {
    answers_free(&s->out);
    plain_free(&s->naive);
    ll_ensemble_free(s->e);
    free(s->z);
    free(s->truth);
    ll_context_free(s->ctx);
}

static void near(double found, long double expected, double relative, double absolute, const char *what, int64_t row) {
    if (!(fabsl(found - expected) <= relative * fabsl(expected) + absolute))
        fail_msg("%s of row %d is %.17g, expected %.17Lg", what, (int)row, found, expected);
}

static void test_every_confidence(void **state) {
    (void)state;
    for (size_t t = 0; t < LLI_COUNT(shapes); t++) {
        const shape *sh = &shapes[t];
        scene s;
        scene_init(&s, sh, 1000);
        for (int64_t i = 0; i < sh->N; i++) {
            int64_t label = s.naive.label[i];
            assert_int_equal(s.out.label[i], label);
            assert_int_equal(s.out.vote[i], plain_vote(&s.naive, i));
            /* exponentials are f32: 1e-7 relative to each probability, or to its tail; weights of votes are kept to 2^-30 */
            double tail = (double)plain_tail(&s.naive, i, label), difference = 5e-7 * tail;
            const double relative[LL_CONFIDENCE_COUNT] = {
                [LL_CONFIDENCE_SR] = 5e-7,     [LL_CONFIDENCE_STD] = 5e-7,     [LL_CONFIDENCE_HQ] = sh->weighted ? 1e-8 : 1e-15,
                [LL_CONFIDENCE_MAXMIN] = 5e-7, [LL_CONFIDENCE_ENTROPY] = 5e-7, [LL_CONFIDENCE_MI] = 3e-5,
                [LL_CONFIDENCE_MARGIN] = 5e-7,
            };
            const double absolute[LL_CONFIDENCE_COUNT] = {[LL_CONFIDENCE_STD] = difference,
                                                          [LL_CONFIDENCE_HQ] = 1e-15,
                                                          [LL_CONFIDENCE_MAXMIN] = difference,
                                                          [LL_CONFIDENCE_MARGIN] = difference};
            near(s.out.sr_tail[i], tail, 5e-7, 0, "sr_tail", i);
            for (int c = 0; c < LL_CONFIDENCE_MSP; c++)
                near(s.out.confidence[c][i], plain_confidence(&s.naive, i, (ll_confidence)c), relative[c], absolute[c],
                     ll_confidence_name((ll_confidence)c), i);
            for (int64_t k = 0; k < sh->K; k++)
                near((double)s.out.probs[i * sh->K + k], plain_mean(&s.naive, i, k, sh->S), 5e-7, 1e-44, "probs", i);
            for (int64_t m = 0; m < sh->S; m++) {
                int64_t top = s.naive.top[i * sh->S + m];
                assert_int_equal(s.out.member_label[i * sh->S + m], top);
                near((double)s.out.member_pmax[i * sh->S + m], s.naive.p[(i * sh->S + m) * sh->K + top], 5e-7, 0, "member_pmax", i);
            }
        }
        scene_release(&s);
    }
}

/* Accuracy, NLL and Brier of the first m members, from scratch for each m. */
static void test_running(void **state) {
    (void)state;
    for (size_t t = 0; t < LLI_COUNT(shapes); t++) {
        const shape *sh = &shapes[t];
        scene s;
        scene_init(&s, sh, 0);
        for (int64_t m = 1; m <= sh->S; m++) {
            long double nll = 0, brier = 0;
            int64_t correct = 0;
            for (int64_t i = 0; i < sh->N; i++) {
                nll -= logl(plain_mean(&s.naive, i, s.truth[i], m));
                correct += plain_label(&s.naive, i, m) == s.truth[i];
                for (int64_t k = 0; k < sh->K; k++) {
                    long double gap = plain_mean(&s.naive, i, k, m) - (k == s.truth[i]);
                    brier += gap * gap;
                }
            }
            assert_int_equal(s.out.running_correct[m - 1], correct);
            near(s.out.running_nll[m - 1], nll, 3e-7, 1e-12, "running NLL", m);
            near(s.out.running_brier[m - 1], brier, 3e-7, 1e-12, "running Brier", m);
        }
        scene_release(&s);
    }
}

/* Logits hundreds and thousands apart: weights, masks, members that differ and one alone. Long double holds e^-11000. */
static void test_beyond(void **state) {
    (void)state;
    static const shape far[] = {
        {300, 12, 5, 8, 128, 0, true, 0, true},      {300, 9, 4, 7, 512, 0, false, 0, true}, {200, 6, 5, 40, 256, 32768, false, 0, true},
        {300, 20, 6, 8, 512, 0, true, 0.0625, true}, {300, 1, 5, 8, 512, 0, false, 0, true}, {100, 3, 130, 6, 512, 0, false, 0, true},
    };
    for (size_t t = 0; t < LLI_COUNT(far); t++) {
        const shape *sh = &far[t];
        scene s;
        scene_init(&s, sh, 0);
        int64_t beyond = 0;
        for (int64_t i = 0; i < sh->N; i++) {
            int64_t label = s.naive.label[i];
            long double tail = plain_tail(&s.naive, i, label), second = 0;
            if (s.out.label[i] != label) { /* the same number in f64 */
                near((double)plain_mean(&s.naive, i, s.out.label[i], sh->S), plain_mean(&s.naive, i, label, sh->S), 1e-12, 0, "tie", i);
                continue;
            }
            for (int64_t k = 0; k < sh->K; k++)
                second = k == label ? second : fmaxl(second, plain_mean(&s.naive, i, k, sh->S));
            beyond += tail < 1e-66L;
            near(s.out.sr_logtail[i], logl(tail), 1e-12, 1e-6, "sr_logtail", i);
            near(s.out.margin_logtail[i], logl(tail + second), 1e-12, 1e-6, "margin_logtail", i);
            near(s.out.log_true[i], logl(plain_mean(&s.naive, i, s.truth[i], sh->S)), 1e-12, 1e-6, "log_true", i);
            for (int c = 0; c < LL_CONFIDENCE_MSP; c++) /* numbers of f64, down to its end */
                if (sh->S > 1 && tail < 1e-31L)
                    near(s.out.confidence[c][i], plain_confidence(&s.naive, i, (ll_confidence)c), 1e-9,
                         c == LL_CONFIDENCE_HQ ? 1e-15 : 1e-305, ll_confidence_name((ll_confidence)c), i);
        }
        if (beyond <= sh->N / 50)
            fail_msg("%d of %d rows are beyond", (int)beyond, (int)sh->N);
        for (int64_t m = 1; m <= sh->S; m++) {
            long double nll = 0;
            for (int64_t i = 0; i < sh->N; i++)
                nll -= logl(plain_mean(&s.naive, i, s.truth[i], m));
            near(s.out.running_nll[m - 1], nll, 3e-7, 0, "running NLL", m);
        }
        double nll = 0;
        for (int64_t i = 0; i < sh->N; i++)
            nll -= s.out.log_true[i];
        near(s.out.running_nll[sh->S - 1], nll, 1e-13, 0, "running NLL against log_true", sh->S);
        scene_release(&s);
    }
}

static void test_one_member(void **state) {
    (void)state;
    const shape sh = {50, 1, 4, 5, 1, 0, false, 0, false};
    scene s;
    scene_init(&s, &sh, 0);
    for (int64_t i = 0; i < sh.N; i++)
        for (int c = 0; c < LL_CONFIDENCE_MSP; c++) {
            if (ll_confidence_needs_members((ll_confidence)c))
                assert_true(isnan(s.out.confidence[c][i]));
            else
                near(s.out.confidence[c][i], plain_confidence(&s.naive, i, (ll_confidence)c), 5e-7, 1e-7,
                     ll_confidence_name((ll_confidence)c), i);
        }
    scene_release(&s);
}

/* Classes with one and the same logit tie, in every member and in the mean: the lowest index is the answer. */
static void test_ties(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const int64_t members[] = {1, 2, 3, 7};
    for (size_t t = 0; t < LLI_COUNT(members); t++) {
        enum { N = 400, K = 6, D = 4 };
        int64_t S = members[t];
        ll_ensemble *e = plain_ensemble(ctx, S, K, D, 1, NULL, 0);
        for (int64_t m = 0; m < S; m++) { /* 1 = 4, 2 = 3 = 5 */
            static const int64_t same[K] = {0, 1, 2, 2, 1, 2};
            for (int64_t k = 0; k < K; k++) {
                memcpy(e->owned[0] + (m * K + k) * D, e->owned[0] + (m * K + same[k]) * D, D * sizeof(float));
                e->owned[1][m * K + k] = e->owned[1][m * K + same[k]];
            }
        }
        float *z = plain_features(N, D, 8);
        ll_prediction out = answers_new(N, K, S, NULL);
        ll_predictor *predictor;
        CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
        CHECK_OK(ctx, ll_predictor_run(&out, predictor, z, N, 0));
        int tied = 0;
        for (int64_t i = 0; i < N; i++) {
            assert_in_range(out.label[i], 0, 2);
            assert_in_range(out.vote[i], 0, 2);
            tied += out.label[i] > 0;
            if (out.label[i] > 0)
                assert_true(out.confidence[LL_CONFIDENCE_MARGIN][i] == 0);
            assert_true(out.confidence[LL_CONFIDENCE_MARGIN][i] >= 0);
        }
        assert_true(tied > N / 8);
        ll_predictor_free(predictor);
        ll_ensemble_free(e);
        answers_free(&out);
        free(z);
    }
    ll_context_free(ctx);
}

/* Two members that vote for 2 and for 1 with one vote each: the lowest of the two. */
static void test_tied_votes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_ensemble *e = plain_ensemble(ctx, 2, 3, 1, 1, NULL, 0);
    static const float b[2][3] = {{0, 0, 4}, {0, 3, 0}};
    memset(e->owned[0], 0, 6 * sizeof(float));
    memcpy(e->owned[1], b, sizeof b);
    ll_predictor *predictor;
    CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
    int32_t label, vote;
    double hq;
    ll_prediction out = {.label = &label, .vote = &vote, .confidence = {[LL_CONFIDENCE_HQ] = &hq}};
    CHECK_OK(ctx, ll_predictor_run(&out, predictor, &(float){1}, 1, 0));
    assert_int_equal(vote, 1);
    assert_int_equal(label, 2); /* e^4/(e^4+2) + 1/(e^3+2) > e^3/(e^3+2) + 1/(e^4+2) */
    CHECK_NEAR(hq, -log(2), 1e-15);
    ll_predictor_free(predictor);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* ---- votes: the same counts on other classes tie ---- */

enum { CELLS = 400, VOTERS = 100, PARTIES = 10 };

/* The counts of the votes for a row, falling, as text. */
static int by_count(const void *a, const void *b) {
    return *(const int *)b - *(const int *)a;
}

static int by_counts(const void *a, const void *b) {
    return memcmp(a, b, PARTIES * sizeof(int));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_votes(const double *hq, const int (*counts)[PARTIES]) {
    int(*sorted)[PARTIES] = problem_room(CELLS, sizeof *sorted), kinds = 1, values = 1;
    double *h = problem_room(CELLS, sizeof *h);
    memcpy(sorted, counts, CELLS * sizeof *sorted);
    memcpy(h, hq, CELLS * sizeof *h);
    qsort(sorted, CELLS, sizeof *sorted, by_counts);
    qsort(h, CELLS, sizeof *h, by_value);
    for (int i = 1; i < CELLS; i++) {
        kinds += by_counts(sorted[i - 1], sorted[i]) != 0;
        values += h[i - 1] != h[i];
    }
    assert_in_range(kinds, CELLS / 10, CELLS * 2 / 3);
    assert_int_equal(values, kinds);
    free(sorted);
    free(h);
}

/* Row i is 1 at feature i, so that weight [m,k,i] is the logit: member m votes for a class of our choice. The same votes as
 * probabilities. */
static void test_equal_votes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_ensemble *e = plain_ensemble(ctx, VOTERS, PARTIES, CELLS, 1, NULL, 0);
    float *z = problem_room(CELLS * CELLS, sizeof *z), *probs = problem_room(VOTERS * CELLS * PARTIES, sizeof *probs);
    int(*counts)[PARTIES] = problem_room(CELLS, sizeof *counts);
    memset(e->owned[0], 0, VOTERS * PARTIES * CELLS * sizeof(float));
    memset(e->owned[1], 0, VOTERS * PARTIES * sizeof(float));
    for (int64_t i = 0; i < CELLS; i++) {
        int64_t shift = (int64_t)(check_uniform(41, i) * PARTIES), spread = 2 + i % 3;
        z[i * CELLS + i] = 1;
        for (int64_t m = 0; m < VOTERS; m++) {
            double u = check_uniform(42, i * VOTERS + m);
            int64_t k = (shift + (u < 0.9 ? 0 : 1 + (int64_t)((u - 0.9) * 10 * (double)spread))) % PARTIES;
            e->owned[0][(m * PARTIES + k) * CELLS + i] = 1;
            probs[(m * CELLS + i) * PARTIES + k] = 1;
            counts[i][k]++;
        }
        qsort(counts[i], PARTIES, sizeof(int), by_count);
    }
    ll_prediction out = answers_new(CELLS, PARTIES, VOTERS, NULL);
    ll_predictor *predictor;
    CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
    CHECK_OK(ctx, ll_predictor_run(&out, predictor, z, CELLS, 0));
    check_votes(out.confidence[LL_CONFIDENCE_HQ], counts);
    ll_predictions *p;
    CHECK_OK(ctx, ll_predictions_new(&p, ctx, ll_array_view(probs, LL_DTYPE_F32, 3, (int64_t[]){VOTERS, CELLS, PARTIES}), false, NULL));
    check_votes(ll_predictions_view(p)->confidence[LL_CONFIDENCE_HQ], counts);
    ll_predictions_free(p);
    ll_predictor_free(predictor);
    ll_ensemble_free(e);
    answers_free(&out);
    free(z);
    free(probs);
    free(counts);
    ll_context_free(ctx);
}

/* ---- saturated: a quarter of the rows has sr = 1.0f ---- */

typedef struct point {
    long double unsure; /* minus the confidence, without cancellation */
    bool wrong;
} point;

static int by_unsure(const void *a, const void *b) {
    long double x = ((const point *)a)->unsure, y = ((const point *)b)->unsure;
    return (x > y) - (x < y);
}

static double plain_aurc(point *points, int64_t n) {
    qsort(points, (size_t)n, sizeof *points, by_unsure);
    double sum = 0;
    int64_t errors = 0;
    for (int64_t i = 0; i < n;) {
        int64_t end = i;
        for (; end < n && points[end].unsure == points[i].unsure; end++)
            errors += points[end].wrong;
        sum += (double)(end - i) * (double)errors / (double)end;
        i = end;
    }
    return sum / (double)n;
}

/* What rounding alone decides is a tie: votes, and maxmin and margin next to 1, which f64 holds to 1e-16. */
static long double settled(long double unsure, ll_confidence c) {
    if (c == LL_CONFIDENCE_HQ)
        return roundl(unsure * 1e12L);
    if (c == LL_CONFIDENCE_MAXMIN || c == LL_CONFIDENCE_MARGIN)
        return fabsl(fabsl(unsure) - 1) < 1e-11L ? roundl(unsure) : unsure;
    return unsure;
}

/* AURC of every confidence against the plain loop. */
static void check_ranking(const scene *s, const shape *sh) {
    point *expected = problem_room(sh->N, sizeof *expected), *found = problem_room(sh->N, sizeof *found);
    for (int c = 0; c < LL_CONFIDENCE_MSP; c++) {
        for (int64_t i = 0; i < sh->N; i++) {
            bool wrong = s->naive.label[i] != s->truth[i], sr = c == LL_CONFIDENCE_SR;
            long double unsure = sr ? plain_tail(&s->naive, i, s->out.label[i]) : -plain_confidence(&s->naive, i, (ll_confidence)c);
            expected[i] = (point){settled(unsure, (ll_confidence)c), wrong};
            found[i] = (point){settled(sr ? s->out.sr_tail[i] : -s->out.confidence[c][i], (ll_confidence)c), wrong};
        }
        double wanted = plain_aurc(expected, sh->N), aurc = plain_aurc(found, sh->N);
        assert_true(wanted > 0);
        if (fabs(aurc / wanted - 1) > 5e-4) /* two sure points that agree to the rounding of a level may change places */
            fail_msg("AURC(%s) is %.9g, expected %.9g", ll_confidence_name((ll_confidence)c), aurc, wanted);
    }
    free(expected);
    free(found);
}

static void check_saturated(float scale, double least) {
    enum { N = 3000, S = 20, K = 5, D = 16 };
    const shape sh = {N, S, K, D, scale, 0, false, 0, true};
    scene s;
    scene_init(&s, &sh, 0);
    int64_t ones = 0;
    double smallest = 1;
    for (int64_t i = 0; i < N; i++) {
        ones += (float)s.out.confidence[LL_CONFIDENCE_SR][i] == 1.0f;
        smallest = fmin(smallest, s.out.sr_tail[i]);
    }
    assert_true(ones >= N / 4);
    assert_true(smallest < least && smallest > 0);
    check_ranking(&s, &sh);
    /* what f32 confidences would have made of it */
    point *exact = problem_room(N, sizeof *exact), *rounded = problem_room(N, sizeof *rounded);
    for (int64_t i = 0; i < N; i++) {
        bool wrong = s.naive.label[i] != s.truth[i];
        exact[i] = (point){plain_tail(&s.naive, i, s.out.label[i]), wrong};
        rounded[i] = (point){1 - (long double)(float)s.out.confidence[LL_CONFIDENCE_SR][i], wrong};
    }
    assert_true(fabs(plain_aurc(rounded, N) / plain_aurc(exact, N) - 1) > 1e-3);
    free(exact);
    free(rounded);
    scene_release(&s);
}

static void test_saturated(void **state) {
    (void)state;
    static const struct {
        float scale;
        double least;
    } cases[] = {{56, 1e-25}, {64, 1e-25}, {96, 1e-50}};
    for (size_t t = 0; t < LLI_COUNT(cases); t += (size_t)check_step(3))
        check_saturated(cases[t].scale, cases[t].least);
}

/* Members as near to each other as those of a chain with a small step. */
static void test_close(void **state) {
    (void)state;
    static const shape close[] = {{3000, 12, 10, 16, 8, 0, false, 0x1p-5f, true},
                                  {3000, 12, 5, 16, 32, 0, false, 0x1p-8f, true},
                                  {1000, 100, 10, 16, 16, 0, false, 0x1p-6f, true}};
    for (size_t t = 0; t < LLI_COUNT(close); t += (size_t)check_step(3)) {
        scene s;
        scene_init(&s, &close[t], 0);
        check_ranking(&s, &close[t]);
        for (int64_t i = 0; i < close[t].N; i++)
            near(s.out.confidence[LL_CONFIDENCE_MI][i], plain_confidence(&s.naive, i, LL_CONFIDENCE_MI), 1e-4, 0, "mi", i);
        scene_release(&s);
    }
}

/* Finite features and weights whose products are not: on either side, and where the two sides cancel. */
static void test_overflow(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const float rows[][2] = {{1e37f, 0}, {3e38f, 0}, {-3e38f, 0}, {3e38f, 3e38f}};
    for (int64_t members = 1; members <= 3; members += 2) {
        ll_ensemble *e = plain_ensemble(ctx, members, 3, 2, 1, NULL, 0);
        memset(e->owned[0], 0, (size_t)(members * 6) * sizeof(float));
        memcpy(e->owned[0] + (members - 1) * 6, (const float[]){0, 0, 1, 0, 8, -8}, 6 * sizeof(float)); /* the last member alone */
        ll_predictor *predictor;
        CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
        int32_t label;
        ll_prediction out = {.label = &label};
        for (size_t i = 0; i < LLI_COUNT(rows); i++) {
            ll_status status = ll_predictor_run(&out, predictor, rows[i], 1, 40 + (int64_t)i);
            assert_int_equal(status, i == 0 ? LL_OK : LL_ERR_DATA);
            if (i > 0) {
                char words[40];
                snprintf(words, sizeof words, "the logits of row %d are beyond", 40 + (int)i);
                assert_non_null(strstr(ll_predictor_message(predictor), words));
            }
        }
        ll_predictor_free(predictor);
        ll_ensemble_free(e);
    }
    ll_context_free(ctx);
}

/* The same for members that someone else made: logits [S,N,K] in f32. */
static void test_saturated_logits(void **state) {
    (void)state;
    enum { N = 1000, S = 5, K = 4, D = 6 };
    const shape sh = {N, S, K, D, 16, 0, false, 0, false};
    scene s;
    scene_init(&s, &sh, 0);
    float *logits = problem_room(S * N * K, sizeof *logits);
    for (int64_t m = 0; m < S; m++)
        for (int64_t i = 0; i < N; i++)
            for (int64_t k = 0; k < K; k++) {
                float *out = logits + (m * N + i) * K + k;
                *out = s.e->tensor[1][m * K + k];
                for (int64_t j = 0; j < D; j++)
                    *out += s.e->tensor[0][(m * K + k) * D + j] * s.z[i * D + j];
            }
    ll_predictions *p;
    CHECK_OK(s.ctx, ll_predictions_new(&p, s.ctx, ll_array_view(logits, LL_DTYPE_F32, 3, (int64_t[]){S, N, K}), true, NULL));
    ll_outcome v = *ll_predictions_view(p);
    for (int64_t i = 0; i < N; i++) {
        assert_int_equal(v.label[i], s.out.label[i]);
        near(v.sr_tail[i], plain_tail(&s.naive, i, v.label[i]), 1e-10, 0, "sr_tail", i);
        near(v.confidence[LL_CONFIDENCE_STD][i], plain_confidence(&s.naive, i, LL_CONFIDENCE_STD), 1e-9, 0, "std", i);
        near(v.confidence[LL_CONFIDENCE_ENTROPY][i], plain_confidence(&s.naive, i, LL_CONFIDENCE_ENTROPY), 1e-9, 0, "entropy", i);
    }
    ll_predictions_free(p);
    free(logits);
    scene_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_confidence), cmocka_unit_test(test_running),
        cmocka_unit_test(test_one_member),       cmocka_unit_test(test_ties),
        cmocka_unit_test(test_tied_votes),       cmocka_unit_test(test_equal_votes),
        cmocka_unit_test(test_saturated),        cmocka_unit_test(test_close),
        cmocka_unit_test(test_overflow),         cmocka_unit_test(test_saturated_logits),
        cmocka_unit_test(test_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
