/* SPDX-License-Identifier: MIT */
/* How far constant-step SGD spreads: with independent batches as the Lyapunov equation says (tests/oracle/stationary.py), with reshuffled
 * epochs many times less. */
#include <math.h>

#include "check.h"
#include "data/dataset.h"
#include "fixture.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "problem.h"
#include "train/chain.h"

enum { STEPS = 1000000, BURN_IN = 5000 };

typedef struct spread {
    double mean[2], covariance[3]; /* of (w_1 - w_0, b_1 - b_0): uu, uv, vv */
} spread;

static spread run(ll_context *ctx, const lli_model *model, const ll_dataset *data, const lli_chain_options *o, const float *start) {
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, model, data, &lli_rule_langevin, o->batch_size, 0, false));
    lli_chain_start(chain, o, start);
    CHECK_OK(ctx, lli_chain_run(ctx, chain, BURN_IN));
    int64_t ld = lli_kernels_stride(1);
    double sum[2] = {0}, product[3] = {0};
    for (int64_t step = 1; step <= STEPS; step++) {
        CHECK_OK(ctx, lli_chain_run(ctx, chain, BURN_IN + step));
        const float *theta = chain->theta;
        double u = (double)theta[ld] - (double)theta[0], v = (double)theta[ld + 1] - (double)theta[1];
        sum[0] += u;
        sum[1] += v;
        product[0] += u * u;
        product[1] += u * v;
        product[2] += v * v;
    }
    lli_chain_free(chain);
    spread s = {.mean = {sum[0] / STEPS, sum[1] / STEPS}};
    s.covariance[0] = product[0] / STEPS - s.mean[0] * s.mean[0];
    s.covariance[1] = product[1] / STEPS - s.mean[0] * s.mean[1];
    s.covariance[2] = product[2] / STEPS - s.mean[1] * s.mean[1];
    return s;
}

/* The covariance of differences, from that of theta = (w_0, b_0, w_1, b_1). */
static double of_differences(const double *c, int i, int j) {
    return c[4 * (2 + i) + 2 + j] - c[4 * (2 + i) + j] - c[4 * i + 2 + j] + c[4 * i + j];
}

/* Neighbours resemble each other over 1/(lr h) steps in a direction of curvature h, so a variance over T steps is that of n = T lr h draws:
 * known to sqrt(2/n). The equation is that of small steps: the variance of a step lr is larger by lr h / 2. */
static void check_independent(const spread *s, const double *covariance, const double *map, const double *curvature, double lr) {
    double n = STEPS * lr * curvature[2], allowed = 4 * sqrt(2 / n) + lr * curvature[3] / 2;
    double u = of_differences(covariance, 0, 0), v = of_differences(covariance, 1, 1), uv = of_differences(covariance, 0, 1);
    assert_true(allowed < 0.08);
    CHECK_NEAR(s->covariance[0] / u, 1, allowed);
    CHECK_NEAR(s->covariance[2] / v, 1, allowed);
    CHECK_NEAR(s->covariance[1], uv, allowed * sqrt(u * v));
    for (int i = 0; i < 2; i++) /* a curved likelihood moves the mean by a small share of the spread */
        CHECK_NEAR(s->mean[i], map[2 + i] - map[i], 0.15 * sqrt(i ? v : u));
}

static void test_spread(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    json_t *root = fixture_read("stationary"), *c = fixture_get(root, "spread");
    int64_t N = fixture_integer(c, "N"), *y = problem_room(N, sizeof *y);
    double *z = fixture_reals(c, "features", N), *labels = fixture_reals(c, "labels", N), *map = fixture_reals(c, "map", 4),
           *covariance = fixture_reals(c, "covariance", 16), *curvature = fixture_reals(c, "curvature", 4);
    for (int64_t i = 0; i < N; i++)
        y[i] = (int64_t)labels[i];
    ll_array label_view = ll_array_view(y, LL_DTYPE_I64, 1, &N);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F64, 2, (int64_t[]){N, 1}), &label_view, 0));
    lli_model model;
    CHECK_OK(ctx, lli_head_model(ctx, &model, 2, 1));
    float *start = problem_room(model.floats, sizeof *start);
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 2; j++)
            start[k * lli_kernels_stride(1) + j] = (float)map[2 * k + j];
    lli_chain_options o = {.optimiser = &lli_optimiser_sgd, .lr = fixture_real(c, "lr"), .seed = 5};
    o.prior_precision = fixture_real(c, "tau");
    o.batch_size = fixture_integer(c, "B");
    spread full = run(ctx, &model, data, &o, start);
    o.independent = true;
    spread independent = run(ctx, &model, data, &o, start);
    check_independent(&independent, covariance, map, curvature, o.lr);
    /* with m steps per epoch the walk returns: some lr h m / 3 of the variance is left, h the curvature of the direction */
    for (int i = 0; i < 3; i += 2)
        assert_true(full.covariance[i] < independent.covariance[i] / 4);
    free(z);
    free(y);
    free(labels);
    free(map);
    free(covariance);
    free(curvature);
    free(start);
    ll_dataset_free(data);
    json_decref(root);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
