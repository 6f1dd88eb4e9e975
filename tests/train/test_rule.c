/* SPDX-License-Identifier: MIT */
/* A step is a gradient and a rule. On heads: the gradient against plain sums in f64, the fused steps against gradient and rule, rules with
 * slots against their recurrence, and from a checkpoint to the same bits. */
#include <math.h>

#include "model/head.h"
#include "model/large_head.h"
#include "model/trial.h"
#include "problem.h"
#include "train/chain.h"

enum { STEPS = 5, BATCH = 24, DROP = 19661 };

typedef struct shape {
    int64_t N, D, K;
} shape;

/* Tiny, wide rows, and so many classes that theta is in panels, the last of which is not full. */
static const shape shapes[] = {{60, 6, 3}, {60, 150, 20}, {200, 600, 131}};

typedef struct subject {
    ll_context *ctx;
    problem p;
    lli_model model;
    float *start; /* [floats] */
    float *out;   /* [K,D], [K] */
} subject;

static subject subject_new(const shape *s, int threads) {
    subject t = {.ctx = check_context(threads)};
    t.p = problem_new(t.ctx, s->N, s->D, s->K);
    CHECK_OK(t.ctx, lli_head_model(t.ctx, &t.model, s->K, s->D));
    t.start = problem_room(t.model.floats, sizeof *t.start);
    t.out = problem_room(s->K * (s->D + 1), sizeof *t.out);
    t.model.ops->pack(&t.model, t.start, (const float *const[]){t.p.head->W, t.p.head->b});
    return t;
}

static void subject_free(subject *t) {
    free(t->start);
    free(t->out);
    problem_free(&t->p);
    ll_context_free(t->ctx);
}

static const float *unpacked(subject *t, const float *theta) {
    t->model.ops->unpack(&t->model, (float *const[]){t->out, t->out + t->p.K * t->p.D}, theta);
    return t->out;
}

/* The gradient of the mean of -log p over rows z [n,D], which may be masked, in f64: W [K,D], b [K]. Returns the sum of -log p. */
static double plain_gradient(double *gradient, const float *z, const int32_t *labels, int64_t n, const double *theta, int64_t D,
                             int64_t K) {
    double nll = 0, *p = problem_room(K, sizeof *p);
    memset(gradient, 0, (size_t)(K * (D + 1)) * sizeof *gradient);
    for (int64_t i = 0; i < n; i++) {
        double top = -INFINITY, total = 0;
        for (int64_t k = 0; k < K; k++) {
            p[k] = theta[K * D + k];
            for (int64_t j = 0; j < D; j++)
                p[k] += theta[k * D + j] * (double)z[i * D + j];
            top = fmax(top, p[k]);
        }
        for (int64_t k = 0; k < K; k++)
            total += exp(p[k] - top);
        nll += log(total) + top - p[labels[i]];
        for (int64_t k = 0; k < K; k++) {
            double r = (exp(p[k] - top) / total - (k == labels[i])) / (double)n;
            for (int64_t j = 0; j < D; j++)
                gradient[k * D + j] += r * (double)z[i * D + j];
            gradient[K * D + k] += r;
        }
    }
    free(p);
    return nll;
}

typedef struct pieces {
    float *gradient;
    int64_t floats;
} pieces;

static void collect(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    pieces *all = arg;
    assert_true(first >= part->first && first + count <= part->first + part->count);
    memcpy(all->gradient + first, gradient, (size_t)count * sizeof *gradient);
    all->floats += count;
}

static void check_gradient(const shape *s, uint32_t drop16) {
    subject t = subject_new(s, 1);
    const lli_model *m = &t.model;
    int64_t rows[BATCH], ld = lli_kernels_stride(s->D), count = s->K * (s->D + 1);
    int32_t labels[BATCH];
    float *z = problem_room(BATCH * ld, sizeof *z), *dense = problem_room(BATCH * s->D, sizeof *dense);
    for (int64_t i = 0; i < BATCH; i++) {
        rows[i] = (i * 37 + 5) % s->N;
        labels[i] = (int32_t)t.p.y[rows[i]];
    }
    const lli_step step = {.rows = rows, .labels = labels, .n = BATCH, .lr = 0.1, .drop16 = drop16, .seed = 3, .member = 2, .step = 9};
    m->kernels->gather(z, t.p.data->rows.features, false, rows, 0, BATCH, s->D, ld);
    if (drop16)
        m->kernels->mask(z, z, &(lli_mask){lli_rng_stream(3, LLI_PURPOSE_TRAIN_MASK, 2, 9), 0, drop16}, 0, BATCH, s->D, ld);
    for (int64_t i = 0; i < BATCH; i++)
        memcpy(dense + i * s->D, z + i * ld, (size_t)s->D * sizeof *dense);
    double *theta = problem_room(count, sizeof *theta), *expected = problem_room(count, sizeof *expected), nll;
    for (int64_t i = 0; i < count; i++)
        theta[i] = (double)(i < s->K * s->D ? t.p.head->W[i] : t.p.head->b[i - s->K * s->D]);
    float *work;
    CHECK_OK(t.ctx, lli_memory_new(t.ctx, &work, m->ops->descend_floats(m, BATCH, 1), sizeof *work));
    pieces all = {.gradient = problem_room(m->floats, sizeof(float))};
    CHECK_OK(t.ctx, m->ops->descend(&nll, t.ctx, m, collect, &all, t.start, work, &t.p.data->rows, &step));
    CHECK_NEAR(nll, plain_gradient(expected, dense, labels, BATCH, theta, s->D, s->K), 1e-4);
    assert_true(all.floats >= count && all.floats <= m->floats);
    const float *found = unpacked(&t, all.gradient);
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        CHECK_NEAR((double)found[i], expected[i], 2e-6);
        largest = fmax(largest, fabs(expected[i]));
    }
    assert_true(largest > 0.01);
    lli_memory_free(work);
    free(all.gradient);
    free(theta);
    free(expected);
    free(z);
    free(dense);
    subject_free(&t);
}

static void gradient_is_that_of_the_mean(void **state) {
    (void)state;
    for (size_t i = 0; i < LLI_COUNT(shapes); i++) {
        check_gradient(&shapes[i], 0);
        check_gradient(&shapes[i], DROP);
    }
}

static lli_chain *chain_new(subject *t, const lli_chain_options *o) {
    lli_chain *chain;
    CHECK_OK(t->ctx, lli_chain_new(&chain, t->ctx, &t->model, t->p.data, o->optimiser->rule, o->batch_size, 0, false));
    lli_chain_start(chain, o, t->start);
    return chain;
}

/* Padding of theta is zero, and stays zero. */
static void check_padding(subject *t, const float *theta) {
    int64_t count = 0, known = 0;
    for (int64_t i = 0; i < t->model.floats; i++)
        count += theta[i] != 0;
    const float *tensors = unpacked(t, theta);
    for (int64_t i = 0; i < t->p.K * (t->p.D + 1); i++)
        known += tensors[i] != 0;
    assert_int_equal(count, known);
}

static void check_fused(const shape *s, const lli_optimiser *optimiser, uint32_t drop16) {
    subject t = subject_new(s, 1);
    lli_rule rule = *optimiser->rule;
    lli_optimiser apart = *optimiser;
    assert_true(rule.fused);
    rule.fused = false;
    apart.rule = &rule;
    lli_chain_options o = {.optimiser = optimiser, .lr = 0.05, .batch_size = BATCH, .prior_precision = 3, .drop16 = drop16, .seed = 7};
    lli_chain *fused = chain_new(&t, &o);
    o.optimiser = &apart;
    lli_chain *plain = chain_new(&t, &o);
    for (int64_t step = 1; step <= STEPS; step++) {
        CHECK_OK(t.ctx, lli_chain_run(t.ctx, fused, step));
        CHECK_OK(t.ctx, lli_chain_run(t.ctx, plain, step));
        for (int64_t i = 0; i < t.model.floats; i++)
            CHECK_NEAR((double)fused->theta[i], (double)plain->theta[i], 1e-6 * (1 + fabs((double)plain->theta[i])));
        CHECK_NEAR(fused->state.epoch_nll, plain->state.epoch_nll, 1e-4 * plain->state.epoch_nll);
    }
    check_padding(&t, plain->theta);
    lli_chain_free(fused);
    lli_chain_free(plain);
    subject_free(&t);
}

/* The fused steps are gradient and rule, to 1e-6: the noise has the same normals, one sum is rounded once more. */
static void fused_steps_are_gradient_and_rule(void **state) {
    (void)state;
    for (size_t i = 0; i < LLI_COUNT(shapes); i++) {
        check_fused(&shapes[i], &lli_optimiser_sgd, 0);
        check_fused(&shapes[i], &lli_optimiser_sgld, 0);
        check_fused(&shapes[i], &lli_optimiser_sgd, DROP);
    }
}

/* Of networks: theta + lr (- gradient - decay theta) + noise xi; the bias decays too, xi is the normal of the element's place. */
static void networks_follow_the_gradient(void **state) {
    (void)state;
    trial t = trial_new("mlp:33,20", 1, 1, 50, 10, 40, 1);
    const lli_model *m = t.model;
    float *before = trial_array(&t, m->floats, sizeof(float)), *xi = trial_array(&t, m->floats, sizeof(float));
    memcpy(before, t.theta, (size_t)m->floats * sizeof *before);
    t.step.decay = 0.03;
    t.step.noise = 0.01;
    double expected = trial_gradient(&t), nll;
    CHECK_OK(t.ctx, lli_optimiser_step(&nll, t.ctx, &lli_optimiser_sgld, m, t.theta, NULL, t.work, &t.rows, &t.step));
    assert_true(nll == expected);
    m->kernels->normals(xi, lli_rng_stream(t.step.seed, LLI_PURPOSE_NOISE, t.step.member, t.step.step), 0, m->floats);
    for (int p = 0; p < m->parts; p++)
        for (int64_t i = m->part[p].first; i < m->part[p].first + m->part[p].count; i++)
            CHECK_NEAR((double)t.theta[i], (1 - 0.003) * (double)before[i] - 0.1 * (double)t.gradient[i] + 0.01 * (double)xi[i], 1e-6);
    lli_memory_free(before);
    lli_memory_free(xi);
    trial_free(&t);
}

/* u <- m u + g + tau/N theta; theta <- theta - lr u, with the gradient of all rows, in f64. */
static void check_momentum(const shape *s) {
    subject t = subject_new(s, 1);
    int64_t count = s->K * (s->D + 1);
    double *theta = problem_room(count, sizeof *theta), *u = problem_room(count, sizeof *u), *g = problem_room(count, sizeof *g);
    int32_t *labels = problem_room(s->N, sizeof *labels);
    for (int64_t i = 0; i < s->N; i++)
        labels[i] = (int32_t)t.p.y[i];
    for (int64_t i = 0; i < count; i++)
        theta[i] = (double)(i < s->K * s->D ? t.p.head->W[i] : t.p.head->b[i - s->K * s->D]);
    lli_optimiser heavy = lli_optimiser_default(&lli_rule_sgd);
    heavy.momentum = 0.8;
    const lli_chain_options o = {.optimiser = &heavy, .lr = 0.02, .batch_size = s->N, .prior_precision = 30, .seed = 7};
    lli_chain *chain = chain_new(&t, &o);
    for (int64_t step = 1; step <= STEPS; step++) {
        CHECK_OK(t.ctx, lli_chain_run(t.ctx, chain, step));
        plain_gradient(g, t.p.z, labels, s->N, theta, s->D, s->K);
        for (int64_t i = 0; i < count; i++) {
            u[i] = 0.8 * u[i] + g[i] + 30 / (double)s->N * theta[i];
            theta[i] -= 0.02 * u[i];
        }
        const float *found = unpacked(&t, chain->theta);
        for (int64_t i = 0; i < count; i++)
            CHECK_NEAR((double)found[i], theta[i], 2e-6);
        check_padding(&t, chain->theta);
        check_padding(&t, chain->theta + t.model.floats);
    }
    lli_chain_free(chain);
    free(theta);
    free(u);
    free(g);
    free(labels);
    subject_free(&t);
}

static void momentum_moves_a_head(void **state) {
    (void)state;
    for (size_t i = 0; i < LLI_COUNT(shapes); i++)
        check_momentum(&shapes[i]);
}

/* theta, the slots and the state are all there is: restored in the middle of an epoch, on other threads, a chain has the same bits. */
static void check_restored(const shape *s, const lli_rule *rule) {
    enum { CUT = 4, END = 11 };
    lli_optimiser optimiser = lli_optimiser_default(rule);
    const lli_chain_options o = {.optimiser = &optimiser, .lr = 0.01, .batch_size = BATCH, .prior_precision = 1, .seed = 7};
    subject t = subject_new(s, 1), other = subject_new(s, 3);
    lli_chain *whole = chain_new(&t, &o), *first = chain_new(&t, &o), *again = chain_new(&other, &o);
    size_t bytes = (size_t)lli_chain_floats(whole) * sizeof(float);
    assert_int_equal(lli_chain_floats(whole), (1 + rule->slots) * t.model.floats);
    int64_t before = lli_memory_count(t.ctx);
    CHECK_OK(t.ctx, lli_chain_run(t.ctx, whole, END));
    assert_int_equal(lli_memory_count(t.ctx), before);
    CHECK_OK(t.ctx, lli_chain_run(t.ctx, first, CUT));
    memcpy(again->theta, first->theta, bytes);
    again->state = first->state;
    CHECK_OK(other.ctx, lli_chain_run(other.ctx, again, END));
    assert_memory_equal(again->theta, whole->theta, bytes);
    /* the slots matter: without them it goes elsewhere */
    memcpy(again->theta, first->theta, (size_t)t.model.floats * sizeof(float));
    memset(again->theta + t.model.floats, 0, bytes - (size_t)t.model.floats * sizeof(float));
    again->state = first->state;
    again->epoch = -1;
    CHECK_OK(other.ctx, lli_chain_run(other.ctx, again, END));
    assert_memory_not_equal(again->theta, whole->theta, bytes);
    lli_chain_free(whole);
    lli_chain_free(first);
    lli_chain_free(again);
    subject_free(&t);
    subject_free(&other);
}

static void slots_are_the_whole_state(void **state) {
    (void)state;
    for (size_t i = 0; i < LLI_COUNT(shapes); i++) {
        check_restored(&shapes[i], &lli_rule_adam);
        check_restored(&shapes[i], &lli_rule_nesterov);
    }
}

/* A step of many rows on many classes is shared by threads: the same bits. */
static void threads_share_a_gradient(void **state) {
    (void)state;
    static const shape wide = {800, 1000, 130};
    lli_optimiser nesterov = lli_optimiser_default(&lli_rule_nesterov);
    const lli_chain_options o = {.optimiser = &nesterov, .lr = 0.01, .batch_size = 400, .prior_precision = 1, .seed = 7};
    float *one = NULL;
    size_t bytes = 0;
    for (int threads = 1; threads <= 3; threads++) {
        subject t = subject_new(&wide, threads);
        assert_true(!t.model.kernels->large || t.model.ops == &lli_large_head_ops);
        lli_chain *chain = chain_new(&t, &o);
        CHECK_OK(t.ctx, lli_chain_run(t.ctx, chain, 3));
        if (!one) {
            bytes = (size_t)lli_chain_floats(chain) * sizeof *one;
            one = problem_room(lli_chain_floats(chain), sizeof *one);
            memcpy(one, chain->theta, bytes);
        }
        assert_memory_equal(chain->theta, one, bytes);
        lli_chain_free(chain);
        subject_free(&t);
    }
    free(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_the_mean), cmocka_unit_test(fused_steps_are_gradient_and_rule),
        cmocka_unit_test(networks_follow_the_gradient), cmocka_unit_test(momentum_moves_a_head),
        cmocka_unit_test(slots_are_the_whole_state),    cmocka_unit_test(threads_share_a_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
