/* SPDX-License-Identifier: MIT */
/* SGLD: its noise is exactly sqrt(2 lr / N) times the stream's normals, and its stationary law is the posterior (quadrature:
 * tests/oracle/posterior.py). */
#include <math.h>

#include "check.h"
#include "data/dataset.h"
#include "fixture.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "problem.h"
#include "train/chain.h"

enum { NOISE_D = 200, NOISE_K = 100, NOISE_N = 100 };

/* Features of zero leave only noise in the weights: theta = noise * xi, bit for bit. */
static void test_noise_exact(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    float *z = problem_room(NOISE_N * NOISE_D, sizeof *z);
    int64_t y[NOISE_N], N = NOISE_N, ld = lli_kernels_stride(NOISE_D);
    for (int64_t i = 0; i < N; i++)
        y[i] = i;
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &N);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){N, NOISE_D}), &labels, 0));
    lli_model model;
    CHECK_OK(ctx, lli_head_model(ctx, &model, NOISE_K, NOISE_D));
    float *zero = problem_room(model.floats, sizeof *zero), *xi = problem_room(model.floats, sizeof *xi);
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, data, &lli_rule_langevin, 32, 0, false));
    lli_chain_options o = {.optimiser = &lli_optimiser_sgld, .lr = 0.02, .batch_size = 32, .prior_precision = 1, .seed = 99, .member = 4};
    lli_chain_start(chain, &o, zero);
    CHECK_OK(ctx, lli_chain_run(ctx, chain, 1));
    model.kernels->normals(xi, lli_rng_stream(99, LLI_PURPOSE_NOISE, 4, 0), 0, model.floats);
    float scale = (float)sqrt(2 * 0.02 / NOISE_N);
    double square = 0;
    for (int64_t k = 0; k < NOISE_K; k++)
        for (int64_t j = 0; j < NOISE_D; j++) {
            float found = chain->theta[k * ld + j];
            if (found != scale * xi[k * ld + j])
                fail_msg("weight [%d,%d] is %.9g, its noise %.9g", (int)k, (int)j, (double)found, (double)(scale * xi[k * ld + j]));
            square += (double)found * (double)found;
        }
    /* the mean of n squares of variance v has standard deviation v sqrt(2/n) */
    CHECK_NEAR(square / (NOISE_D * NOISE_K) / (2 * 0.02 / NOISE_N), 1, 4 * sqrt(2.0 / (NOISE_D * NOISE_K)));
    lli_chain_free(chain);
    ll_dataset_free(data);
    free(z);
    free(zero);
    free(xi);
    ll_context_free(ctx);
}

/* From one theta on one batch, sgld is sgd plus the noise; the noise of other steps and members is other noise. */
static void test_noise_added(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 40, 30);
    lli_model model;
    CHECK_OK(ctx, lli_head_model(ctx, &model, p.K, p.D));
    int64_t ld = lli_kernels_stride(p.D), count = p.K * (p.D + 1);
    float *start = problem_room(model.floats, sizeof *start), *plain = problem_room(model.floats, sizeof *plain),
          *xi = problem_room(model.floats, sizeof *xi);
    const float *tensors[] = {ll_head_weight_view(p.head).data, ll_head_bias_view(p.head).data};
    model.ops->pack(&model, start, tensors);
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, p.data, &lli_rule_langevin, 16, 0, false));
    for (int64_t member = 0; member < 2; member++) {
        lli_chain_options o = {
            .lr = 0.3, .lr_t0 = 5, .lr_power = 0.55, .batch_size = 16, .prior_precision = 2, .seed = 7, .member = member};
        for (int64_t step = 0; step < 6; step++) {
            for (int noise = 0; noise < 2; noise++) {
                o.optimiser = noise ? &lli_optimiser_sgld : &lli_optimiser_sgd;
                lli_chain_start(chain, &o, start);
                chain->state.step = step;
                CHECK_OK(ctx, lli_chain_run(ctx, chain, step + 1));
                if (!noise)
                    memcpy(plain, chain->theta, (size_t)model.floats * sizeof *plain);
            }
            double scale = sqrt(2 * lli_chain_lr(&o, step) / (double)p.N), square = 0;
            model.kernels->normals(xi, lli_rng_stream(7, LLI_PURPOSE_NOISE, member, step), 0, model.floats);
            for (int64_t k = 0; k < p.K; k++)
                for (int64_t j = 0; j <= p.D; j++) {
                    double added = (double)chain->theta[k * ld + j] - (double)plain[k * ld + j];
                    CHECK_NEAR(added, scale * (double)xi[k * ld + j], 1e-6);
                    square += added * added;
                }
            CHECK_NEAR(square / (double)count / (scale * scale), 1, 4 * sqrt(2.0 / (double)count));
        }
    }
    lli_chain_free(chain);
    free(start);
    free(plain);
    free(xi);
    problem_free(&p);
    ll_context_free(ctx);
}

typedef struct moments {
    double n, sum[4], square[4], product; /* of u, v, and the two sums */
} moments;

static void observe(moments *m, const float *theta, int64_t ld) {
    const double x[4] = {(double)theta[ld] - (double)theta[0], (double)theta[ld + 1] - (double)theta[1],
                         (double)theta[0] + (double)theta[ld], (double)theta[1] + (double)theta[ld + 1]};
    m->n++;
    for (int i = 0; i < 4; i++) {
        m->sum[i] += x[i];
        m->square[i] += x[i] * x[i];
    }
    m->product += x[0] * x[1];
}

static double mean(const moments *m, int i) {
    return m->sum[i] / m->n;
}

static double variance(const moments *m, int i) {
    return m->square[i] / m->n - mean(m, i) * mean(m, i);
}

/* A step eps = lr/N makes the variance of a direction of curvature h too large by eps h / 2, here below 3 %; neighbours of the chain
 * resemble each other over 1/(eps tau) steps, so 500000 of them are worth some 4000 draws: 1.6 % of a standard deviation on a mean and
 * 2.3 % on a variance. Allowed: 6 % and 10 %. Noise or prior off by a factor of two is off by 50 %. */
static void check_posterior(json_t *root, json_t *expected, int64_t B) {
    ll_context *ctx = check_context(1);
    int64_t N = (int64_t)json_array_size(fixture_get(root, "features")), *y = problem_room(N, sizeof *y);
    double *z = fixture_reals(root, "features", N), *labels = fixture_reals(root, "labels", N);
    for (int64_t i = 0; i < N; i++)
        y[i] = (int64_t)labels[i];
    ll_array label_view = ll_array_view(y, LL_DTYPE_I64, 1, &N);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F64, 2, (int64_t[]){N, 1}), &label_view, 0));
    lli_model model;
    CHECK_OK(ctx, lli_head_model(ctx, &model, 2, 1));
    float *start = problem_room(model.floats, sizeof *start);
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, data, &lli_rule_langevin, B, 0, false));
    double tau = fixture_real(expected, "tau"), eps = 0.016 / tau;
    lli_chain_options o = {.optimiser = &lli_optimiser_sgld, .lr = eps * (double)N, .batch_size = B, .prior_precision = tau, .seed = 2026};
    lli_chain_start(chain, &o, start);
    CHECK_OK(ctx, lli_chain_run(ctx, chain, 1000));
    moments m = {0};
    for (int64_t step = 1001; step <= 501000; step++) {
        CHECK_OK(ctx, lli_chain_run(ctx, chain, step));
        observe(&m, chain->theta, lli_kernels_stride(1));
    }
    double *means = fixture_reals(expected, "mean", 2), *variances = fixture_reals(expected, "variance", 2),
           prior = fixture_real(expected, "sums_variance");
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(mean(&m, i), means[i], 0.06 * sqrt(variances[i]));
        CHECK_NEAR(variance(&m, i) / variances[i], 1, 0.1);
        CHECK_NEAR(mean(&m, i + 2), 0, 0.06 * sqrt(prior));
        CHECK_NEAR(variance(&m, i + 2) / prior, 1, 0.1);
    }
    double covariance = m.product / m.n - mean(&m, 0) * mean(&m, 1);
    CHECK_NEAR(covariance, fixture_real(expected, "covariance"), 0.06 * sqrt(variances[0] * variances[1]));
    free(means);
    free(variances);
    free(z);
    free(y);
    free(labels);
    free(start);
    lli_chain_free(chain);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_posterior(void **state) {
    (void)state;
    json_t *root = fixture_read("posterior"), *cases = fixture_get(root, "cases");
    check_posterior(root, json_array_get(cases, 0), 12); /* all rows in each step: no noise but its own */
    check_posterior(root, json_array_get(cases, 1), 12);
    check_posterior(root, json_array_get(cases, 0), 6); /* batches add noise of order eps */
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_exact),
        cmocka_unit_test(test_noise_added),
        cmocka_unit_test(test_posterior),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
