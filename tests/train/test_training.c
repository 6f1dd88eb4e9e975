/* SPDX-License-Identifier: MIT */
/* Training of small networks: the score against a plain loop in f64, the epochs and which one is kept against the rule of the manual, the
 * recipe of the options at the ends of their ranges, and how long work takes by a clock that is this test's own. */
#include <math.h>

#include "check.h"
#include "data/dataset.h"
#include "model/network.h"
#include "problem.h"
#include "train/deep_head.h"
#include "train/speed.h"
#include "train/training.h"

double __wrap_lli_clock_seconds(void);

static double now, tick;

double __wrap_lli_clock_seconds(void) {
    now += tick;
    return now;
}

enum { D = 5, UNITS = 4, K = 3 };

typedef struct heard {
    ll_context *ctx;
    char note[1000];
    int notes, reports, cancel_at; /* cancel_at: after so many reports; 0 = never */
    double done, total;
    const char *what;
} heard;

static void on_log(void *user, ll_log_level level, const char *message) {
    heard *h = user;
    h->notes += level == LL_LOG_NOTE;
    snprintf(h->note, sizeof h->note, "%s", message);
}

static void on_progress(void *user, const char *what, double done, double total) {
    heard *h = user;
    if (strcmp(what, "theta*") != 0 && strcmp(what, "work") != 0)
        return; /* data being looked at */
    assert_true(done > h->done && done <= total);
    h->reports++;
    h->what = what;
    h->done = done;
    h->total = total;
    if (h->reports == h->cancel_at)
        ll_context_cancel(h->ctx);
}

static ll_context *hearing(heard *h, int threads) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    options.log = on_log;
    options.progress = on_progress;
    options.user = h;
    *h = (heard){0};
    assert_int_equal(ll_context_new(&h->ctx, &options), LL_OK);
    return h->ctx;
}

/* ---- the score ---- */

/* NLL and accuracy of mlp:4 in f64. Of equal logits the first class is the answer. */
static void plain_score(double *nll, double *accuracy, const lli_model *m, const float *theta, const problem *p) {
    float W0[UNITS * D], b0[UNITS], W1[K * UNITS], b1[K];
    float *tensors[] = {W0, b0, W1, b1};
    m->ops->unpack(m, tensors, theta);
    *nll = *accuracy = 0;
    for (int64_t i = 0; i < p->N; i++) {
        double h[UNITS], a[K], total = 0;
        int best = 0;
        for (int u = 0; u < UNITS; u++) {
            h[u] = (double)b0[u];
            for (int j = 0; j < D; j++)
                h[u] += (double)W0[u * D + j] * (double)p->z[i * D + j];
            h[u] = fmax(h[u], 0);
        }
        for (int k = 0; k < K; k++) {
            a[k] = (double)b1[k];
            for (int u = 0; u < UNITS; u++)
                a[k] += (double)W1[k * UNITS + u] * h[u];
            total += exp(a[k]);
            best = a[k] > a[best] ? k : best;
        }
        *nll += (log(total) - a[p->y[i]]) / (double)p->N;
        *accuracy += (best == p->y[i]) / (double)p->N;
    }
}

static void test_score(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, 255, 256, 257, 700};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
        ll_context *ctx = check_context(1 + (int)s % 2);
        problem p = problem_new(ctx, sizes[s], D, K);
        lli_network *network;
        lli_score *score;
        CHECK_OK(ctx, lli_network_new(&network, ctx, "mlp:4", 1, 1, D, K));
        const lli_model *m = lli_network_model(network);
        CHECK_OK(ctx, lli_score_new(&score, ctx, m));
        float *theta = problem_room(m->floats, sizeof *theta);
        for (uint64_t seed = 0; seed < 3; seed++) {
            double nll, accuracy, expected_nll, expected_accuracy;
            lli_network_start(network, theta, seed, 0);
            plain_score(&expected_nll, &expected_accuracy, m, theta, &p);
            CHECK_OK(ctx, lli_score_run(&nll, &accuracy, ctx, score, theta, p.data));
            CHECK_NEAR(nll, expected_nll, 1e-6);
            CHECK_NEAR(accuracy, expected_accuracy, 1e-9);
        }
        memset(theta, 0, (size_t)m->floats * sizeof *theta); /* all classes alike: the first one is the answer */
        double nll, accuracy, first = 0;
        for (int64_t i = 0; i < p.N; i++)
            first += p.y[i] == 0;
        CHECK_OK(ctx, lli_score_run(&nll, &accuracy, ctx, score, theta, p.data));
        CHECK_NEAR(nll, log(K), 1e-6);
        CHECK_NEAR(accuracy, first / (double)p.N, 1e-12);
        for (int64_t i = 0; i < m->floats; i++)
            theta[i] = NAN;
        CHECK_OK(ctx, lli_score_run(&nll, &accuracy, ctx, score, theta, p.data));
        assert_true(isnan(nll));
        CHECK_NEAR(accuracy, 0, 0); /* a logit that is not a number is no answer */
        ll_context_cancel(ctx);
        assert_int_equal(lli_score_run(&nll, &accuracy, ctx, score, theta, p.data), LL_ERR_CANCELLED);
        lli_score_free(score);
        lli_score_free(NULL);
        free(theta);
        lli_network_free(network);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* ---- epochs ---- */

typedef struct scene {
    heard h;
    ll_context *ctx;
    problem p, held;
    lli_network *network;
    const lli_model *model;
    ll_train_options o;
    lli_recipe recipe;
    float *start;
} scene;

static void scene_init(scene *s, int64_t N) {
    *s = (scene){0};
    s->ctx = hearing(&s->h, 1);
    s->p = problem_new(s->ctx, N, D, K);
    s->held = problem_new(s->ctx, 13, D, K);
    s->o = ll_train_options_default("mlp:4");
    s->o.batch_size = 16;
    s->o.epochs = 12;
    CHECK_OK(s->ctx, lli_network_new(&s->network, s->ctx, s->o.net, 1, 1, D, K));
    s->model = lli_network_model(s->network);
    s->start = problem_room(s->model->floats, sizeof *s->start);
    lli_network_start(s->network, s->start, 3, 0);
}

static void scene_free(scene *s) {
    free(s->start);
    lli_network_free(s->network);
    problem_free(&s->p);
    problem_free(&s->held);
    ll_context_free(s->ctx);
}

/* A chain of its own makes the same steps; the scores are those of the plain loop; the manual says which epoch is kept. */
static void check_epochs(scene *s, const char *keep, bool holdout) {
    lli_training *t;
    lli_chain *chain;
    s->o.keep = keep;
    CHECK_OK(s->ctx, lli_recipe_init(s->ctx, &s->recipe, &s->o, s->p.N));
    CHECK_OK(s->ctx, lli_training_new(&t, s->ctx, &s->recipe, s->model, s->p.data, holdout ? s->held.data : NULL));
    CHECK_OK(s->ctx, lli_chain_new(&chain, s->ctx, s->model, s->p.data, s->recipe.optimiser.rule, s->o.batch_size, 0, false));
    bool best_wanted = holdout && strcmp(keep, "best") == 0;
    float *kept = problem_room(s->model->floats, sizeof *kept);
    size_t bytes = (size_t)s->model->floats * sizeof *kept;
    for (int again = 0; again < 2; again++) { /* started again it forgets */
        int64_t best = 0;
        lli_training_start(t, s->start);
        lli_chain_start(chain, &s->recipe.chain, s->start);
        CHECK_NEAR(t->chain->state.first_nll, log(K), 1e-15);
        for (int64_t e = 0; e < s->o.epochs; e++) {
            double nll, accuracy;
            tick = 0.5;
            CHECK_OK(s->ctx, lli_training_epoch(s->ctx, t));
            tick = 0;
            CHECK_OK(s->ctx, lli_chain_run(s->ctx, chain, (e + 1) * s->recipe.steps));
            const ll_epoch *now_done = &t->epochs[e];
            assert_int_equal(t->state.done, e + 1);
            assert_int_equal(now_done->epoch, e + 1);
            CHECK_NEAR(now_done->lr, lli_chain_lr(&s->recipe.chain, e * s->recipe.steps), 0);
            CHECK_NEAR(now_done->nll, chain->last_nll, 0);
            CHECK_NEAR(now_done->seconds, 0.5, 0);
            if (holdout) {
                plain_score(&nll, &accuracy, s->model, chain->theta, &s->held);
                CHECK_NEAR(now_done->held_nll, nll, 1e-5);
                CHECK_NEAR(now_done->held_accuracy, accuracy, 1e-9);
            } else
                assert_true(isnan(now_done->held_nll) && isnan(now_done->held_accuracy));
            const ll_epoch *old = &t->epochs[best];
            bool better = e == 0 || now_done->held_accuracy > old->held_accuracy ||
                          (now_done->held_accuracy == old->held_accuracy && now_done->held_nll < old->held_nll);
            if (better || !best_wanted) {
                best = e;
                memcpy(kept, chain->theta, bytes);
            }
            assert_int_equal(t->state.best, best);
            assert_memory_equal(lli_training_theta(t), kept, bytes);
        }
    }
    free(kept);
    lli_chain_free(chain);
    lli_training_free(t);
}

static void test_epochs(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 100);
    check_epochs(&s, "last", true);
    check_epochs(&s, "last", false);
    check_epochs(&s, "best", true);
    s.o.lr = 0.3; /* goes up and down */
    check_epochs(&s, "best", true);
    s.o.lr = 1e-30; /* nothing moves: of equals the first is kept */
    check_epochs(&s, "best", true);
    lli_training *t;
    CHECK_OK(s.ctx, lli_recipe_init(s.ctx, &s.recipe, &s.o, s.p.N));
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(s.ctx, n);
        ll_status status = lli_training_new(&t, s.ctx, &s.recipe, s.model, s.p.data, s.held.data);
        if (status == LL_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(t);
    }
    lli_training_start(t, s.start);
    ll_context_cancel(s.ctx);
    assert_int_equal(lli_training_epoch(s.ctx, t), LL_ERR_CANCELLED);
    assert_int_equal(t->state.done, 0);
    lli_training_free(t);
    lli_training_free(NULL);
    scene_free(&s);
}

/* The first epoch of a new network is held against ln K: more than three times that is divergence. */
static void test_first_epoch(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 16);
    s.o.lr = 1e-30;
    CHECK_OK(s.ctx, lli_recipe_init(s.ctx, &s.recipe, &s.o, s.p.N));
    lli_training *t;
    CHECK_OK(s.ctx, lli_training_new(&t, s.ctx, &s.recipe, s.model, s.p.data, NULL));
    for (int above = 0; above < 2; above++) {
        float W0[UNITS * D] = {0}, b0[UNITS] = {0}, W1[K * UNITS] = {0}, b1[K] = {0}, *tensors[] = {W0, b0, W1, b1};
        double ones = 0; /* rows of class 0, whose logit alone is a: the mean is log(e^a + 2) - a * share */
        for (int64_t i = 0; i < s.p.N; i++)
            ones += s.p.y[i] == 0;
        double share = ones / (double)s.p.N, low = 0, high = 100;
        for (int i = 0; i < 60; i++) {
            double a = (low + high) / 2;
            *(log(exp(a) + 2) - a * share > 3 * log(K) ? &high : &low) = a;
        }
        b1[0] = (float)(low + (above ? 0.01 : -0.01));
        s.model->ops->pack(s.model, s.start, (const float *const *)tensors);
        lli_training_start(t, s.start);
        assert_int_equal(lli_training_epoch(s.ctx, t), above ? LL_ERR_DIVERGED : LL_OK);
    }
    lli_training_free(t);
    scene_free(&s);
}

/* All epochs in one go: the steps of a chain from the network's own start, counted, told at the end. */
static void test_deep_head(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 100);
    s.o.seed = 11;
    CHECK_OK(s.ctx, lli_recipe_init(s.ctx, &s.recipe, &s.o, s.p.N));
    float *theta = problem_room(s.model->floats, sizeof *theta);
    tick = 1; /* so that no report comes too soon after the last */
    CHECK_OK(s.ctx, lli_deep_head_train(s.ctx, theta, s.network, &s.recipe, &s.recipe.chain, s.p.data));
    CHECK_NEAR(s.h.done, 12 * 7, 0); /* seven batches of 16 in 100 rows */
    CHECK_NEAR(s.h.total, 12 * 7, 0);
    assert_int_equal(s.h.reports, 12 * 7);
    assert_string_equal(s.h.what, "theta*");
    assert_int_equal(s.h.notes, 1);
    lli_chain *chain;
    CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, s.model, s.p.data, s.recipe.optimiser.rule, 16, 0, false));
    lli_network_start(s.network, s.start, 11, 0);
    lli_chain_start(chain, &s.recipe.chain, s.start);
    CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, 12 * 7));
    assert_memory_equal(theta, chain->theta, (size_t)s.model->floats * sizeof *theta);
    char words[200];
    snprintf(words, sizeof words, "theta* of mlp:4: 12 epochs of Adam, mean training NLL %.4g in the last", chain->last_nll);
    assert_string_equal(s.h.note, words);
    lli_chain_free(chain);
    s.h.done = s.h.reports = 0;
    s.h.cancel_at = 5;
    assert_int_equal(lli_deep_head_train(s.ctx, theta, s.network, &s.recipe, &s.recipe.chain, s.p.data), LL_ERR_CANCELLED);
    assert_int_equal(s.h.reports, 5); /* heard at once */
    assert_int_equal(s.h.notes, 1);
    assert_memory_equal(theta, s.start, (size_t)s.model->floats * sizeof *theta); /* what it started from */
    tick = 0;
    free(theta);
    scene_free(&s);
}

/* Of long runs there are some 256 reports, of large steps one for each. */
static void test_reports(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 100);
    CHECK_OK(s.ctx, lli_recipe_init(s.ctx, &s.recipe, &s.o, s.p.N));
    int64_t work = 1 + 4194304 / (16 * s.model->floats); /* steps of some four million multiply-adds */
    const struct {
        int64_t total, until;
        int reports;
    } cases[] = {{255, 255, 255}, {256, 256, 128}, {511, 511, 256}, {512, 512, 171}, {1 << 30, work, 1}, {1 << 30, work + 1, 2}};
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        lli_chain *chain;
        lli_meter meter;
        CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, s.model, s.p.data, s.recipe.optimiser.rule, 16, 0, false));
        lli_meter_init(&meter, "work", cases[i].total);
        chain->meter = &meter;
        lli_chain_start(chain, &s.recipe.chain, s.start);
        s.h.done = s.h.reports = 0;
        tick = 1;
        CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, cases[i].until));
        tick = 0;
        assert_int_equal(s.h.reports, cases[i].reports);
        CHECK_NEAR(s.h.done, (double)cases[i].until, 0);
        lli_chain_free(chain);
    }
    scene_free(&s);
}

/* ---- speed ---- */

/* One step apart, then 1, 2, 4 ... until a tenth of a second has gone: seconds for a row. */
static void test_speed(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 20);
    static const struct {
        double tick;
        int64_t batch_size, steps;
        double spent;
    } cases[] = {{0.04, 16, 7, 0.12}, {0.125, 16, 1, 0.125}, {0.06, 50, 3, 0.12}, {0.03, 8, 15, 0.12}};
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        double seconds;
        now = 0;
        tick = cases[i].tick;
        CHECK_OK(s.ctx, lli_speed_model(&seconds, s.ctx, s.model, s.start, s.p.data, cases[i].batch_size));
        double rows = (double)(cases[i].steps * LLI_MIN(cases[i].batch_size, s.p.N));
        CHECK_NEAR(seconds, cases[i].spent / rows, 1e-12);
        now = 0;
        CHECK_OK(s.ctx, lli_speed_head(&seconds, s.ctx, D, K, 4096 * cases[i].batch_size));
        CHECK_NEAR(seconds, cases[i].spent / (double)(cases[i].steps * 2048), 1e-12);
        tick = 0;
    }
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),     cmocka_unit_test(test_epochs),  cmocka_unit_test(test_first_epoch),
        cmocka_unit_test(test_deep_head), cmocka_unit_test(test_reports), cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
