/* SPDX-License-Identifier: MIT */
/* Hamiltonian Monte Carlo: its draws have the moments of the posterior by quadrature (tests/oracle/posterior.py), weights are repeated
 * rows, the kept state is all of it, and energies that are not finite are rejected. */
#include "train/hamilton.h"

#include <math.h>

#include "data/dataset.h"
#include "fixture.h"
#include "model/head.h"
#include "problem.h"

typedef struct scene {
    ll_context *ctx;
    ll_dataset *data;
    ll_head *map;
    lli_hamilton_space space;
    lli_hamilton *chain;
} scene;

static scene scene_new(ll_context *ctx, ll_dataset *data, double tau) {
    scene s = {.ctx = ctx, .data = data};
    ll_head_solve_options o = ll_head_solve_options_default();
    o.prior_precision = tau;
    CHECK_OK(ctx, ll_head_solve(&s.map, ctx, data, &o));
    return s;
}

/* Once the scene is where it stays. */
static void scene_start(scene *s, double tau, uint64_t seed, int64_t number) {
    const lli_curvature_head map = {s->map->K, s->map->W, s->map->b};
    CHECK_OK(s->ctx, lli_hamilton_space_init(s->ctx, &s->space, s->data, &map, tau));
    CHECK_OK(s->ctx, lli_hamilton_new(&s->chain, s->ctx, &s->space));
    lli_hamilton_start(s->chain, seed, number);
    CHECK_OK(s->ctx, lli_hamilton_arrive(s->ctx, s->chain));
}

static void scene_release(scene *s) {
    lli_hamilton_free(s->chain);
    lli_hamilton_space_release(&s->space);
    ll_head_free(s->map);
}

enum { QUANTITIES = 4, DRAWS = 20000 };

/* 20000 draws, nearly independent: 0.7 % of a standard deviation on a mean, 1 % on a variance. Allowed: 4 % and 6 %. */
static void check_posterior(json_t *root, json_t *expected) {
    ll_context *ctx = check_context(1);
    int64_t N = (int64_t)json_array_size(fixture_get(root, "features")), *y = problem_room(N, sizeof *y);
    double *z = fixture_reals(root, "features", N), *labels = fixture_reals(root, "labels", N), tau = fixture_real(expected, "tau");
    for (int64_t i = 0; i < N; i++)
        y[i] = (int64_t)labels[i];
    ll_array view = ll_array_view(y, LL_DTYPE_I64, 1, &N);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F64, 2, (int64_t[]){N, 1}), &view, 0));
    scene s = scene_new(ctx, data, tau);
    scene_start(&s, tau, 2026, 0);
    double sum[QUANTITIES] = {0}, square[QUANTITIES] = {0}, product = 0;
    for (int i = 0; i < LLI_HAMILTON_WARMUP + DRAWS; i++) {
        CHECK_OK(ctx, lli_hamilton_draw(ctx, s.chain));
        const double *t = s.chain->theta, x[QUANTITIES] = {t[2] - t[0], t[3] - t[1], t[0] + t[2], t[1] + t[3]};
        for (int q = 0; q < QUANTITIES && i >= LLI_HAMILTON_WARMUP; q++) {
            sum[q] += x[q] / DRAWS;
            square[q] += x[q] * x[q] / DRAWS;
        }
        product += i >= LLI_HAMILTON_WARMUP ? x[0] * x[1] / DRAWS : 0;
    }
    double *mean = fixture_reals(expected, "mean", 2), *variance = fixture_reals(expected, "variance", 2),
           prior = fixture_real(expected, "sums_variance");
    for (int q = 0; q < QUANTITIES; q++) {
        double m = q < 2 ? mean[q] : 0, v = q < 2 ? variance[q] : prior;
        CHECK_NEAR(sum[q], m, 0.04 * sqrt(v));
        CHECK_NEAR((square[q] - sum[q] * sum[q]) / v, 1, 0.06);
    }
    CHECK_NEAR(product - sum[0] * sum[1], fixture_real(expected, "covariance"), 0.04 * sqrt(variance[0] * variance[1]));
    CHECK_NEAR(lli_hamilton_acceptance(s.chain->state), 0.9, 0.08);
    free(mean);
    free(variance);
    free(z);
    free(y);
    free(labels);
    scene_release(&s);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_posterior(void **state) {
    (void)state;
    json_t *root = fixture_read("posterior"), *cases = fixture_get(root, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_posterior(root, json_array_get(cases, i));
    json_decref(root);
}

/* A weight of 2 is the row twice: the same draws, up to the rounding of another order of sums. */
static void test_weights(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 90, 3, 3);
    int64_t N = p.N, more = N + N / 3, at = N;
    float *z = problem_room(more * p.D, sizeof *z), *weights = problem_room(N, sizeof *weights);
    int64_t *y = problem_room(more, sizeof *y);
    memcpy(z, p.z, (size_t)(N * p.D) * sizeof *z);
    memcpy(y, p.y, (size_t)N * sizeof *y);
    for (int64_t i = 0; i < N; i++) {
        weights[i] = i % 3 ? 1 : 2;
        if (i % 3 == 0) {
            memcpy(z + at * p.D, p.z + i * p.D, (size_t)p.D * sizeof *z);
            y[at++] = p.y[i];
        }
    }
    assert_int_equal(at, more);
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &more);
    ll_dataset *repeated;
    CHECK_OK(ctx, ll_dataset_new(&repeated, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){more, p.D}), &labels, p.K));
    p.data->weights = weights;
    p.data->weight_sum = (double)more;
    scene a = scene_new(ctx, p.data, 0.5), b = scene_new(ctx, repeated, 0.5);
    memcpy(b.map->W, a.map->W, (size_t)(p.K * p.D) * sizeof(float)); /* the same start, to the bit */
    memcpy(b.map->b, a.map->b, (size_t)p.K * sizeof(float));
    scene_start(&a, 0.5, 3, 1);
    scene_start(&b, 0.5, 3, 1);
    CHECK_NEAR(a.chain->energy, b.chain->energy, 1e-4);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(ctx, lli_hamilton_draw(ctx, a.chain));
        CHECK_OK(ctx, lli_hamilton_draw(ctx, b.chain));
    }
    for (int64_t i = 0; i < p.K * (p.D + 1); i++)
        CHECK_NEAR(a.chain->theta[i], b.chain->theta[i], 1e-3);
    scene_release(&a);
    scene_release(&b);
    p.data->weights = NULL;
    ll_dataset_free(repeated);
    free(z);
    free(y);
    free(weights);
    problem_free(&p);
    ll_context_free(ctx);
}

/* What is kept makes another chain go on to the same bits; other numbers and seeds make other chains. */
static void test_kept(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 200, 4, 3);
    int64_t count = p.K * (p.D + 1), kept = lli_hamilton_kept(p.K, p.D);
    scene s = scene_new(ctx, p.data, 1);
    scene_start(&s, 1, 9, 0);
    lli_hamilton *other;
    CHECK_OK(ctx, lli_hamilton_new(&other, ctx, &s.space));
    for (int at = 0; at < 210; at += 30) { /* in the warm-up and behind it */
        lli_hamilton_start(other, 9, 0);
        memcpy(other->kept, s.chain->kept, (size_t)kept * sizeof(double));
        CHECK_OK(ctx, lli_hamilton_arrive(ctx, other));
        for (int i = 0; i < 30; i++) {
            CHECK_OK(ctx, lli_hamilton_draw(ctx, s.chain));
            CHECK_OK(ctx, lli_hamilton_draw(ctx, other));
        }
        assert_memory_equal(other->kept, s.chain->kept, (size_t)kept * sizeof(double));
        assert_memory_equal(other->theta, s.chain->theta, (size_t)count * sizeof(double));
    }
    for (int changed = 0; changed < 2; changed++) {
        lli_hamilton_start(other, changed ? 9 : 10, changed ? 1 : 0);
        CHECK_OK(ctx, lli_hamilton_arrive(ctx, other));
        for (int i = 0; i < 210; i++)
            CHECK_OK(ctx, lli_hamilton_draw(ctx, other));
        for (int64_t i = 0; i < count; i++)
            assert_true(other->theta[i] != s.chain->theta[i]);
    }
    lli_hamilton_free(other);
    scene_release(&s);
    problem_free(&p);
    ll_context_free(ctx);
}

/* A step far too large: the energy leaves the finite numbers, nothing is accepted, and the chain stays where it was. */
static void test_rejects(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 4, 3);
    scene s = scene_new(ctx, p.data, 1);
    scene_start(&s, 1, 5, 0);
    static const double steps[] = {1e3, 1e30, 1e200};
    for (size_t i = 0; i < LLI_COUNT(steps); i++) {
        double before = s.chain->energy;
        s.chain->state->log_step = log(steps[i]);
        CHECK_OK(ctx, lli_hamilton_draw(ctx, s.chain));
        CHECK_NEAR(s.chain->energy, before, 0);
        for (int64_t j = 0; j < p.K * (p.D + 1); j++) {
            CHECK_NEAR(s.chain->y[j], 0, 0);
            CHECK_NEAR(s.chain->theta[j], s.space.map[j], 1e-12);
        }
    }
    for (int i = 0; i < LLI_HAMILTON_WARMUP + 50; i++) /* and the warm-up recovers */
        CHECK_OK(ctx, lli_hamilton_draw(ctx, s.chain));
    assert_true(lli_hamilton_acceptance(s.chain->state) > 0.7);
    scene_release(&s);
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posterior),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_rejects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
