/* SPDX-License-Identifier: MIT */
/* The coordinates of L-BFGS against G itself: U'^-1 (G (U^-1 u)) is u. More features than a band, more classes than a group. */
#include <math.h>

#include "kernels/kernels.h"
#include "problem.h"
#include "train/precondition.h"

enum { N = 150, D = 70, K = 17, ONE = D + 1 };

/* G = (1/w) sum w_i z~ z~' + lambda I in f64, with the floor of lambda. */
static void plain(double G[ONE][ONE], const problem *p, const float *weights, double lambda) {
    double total = 0, trace = 0;
    memset(G, 0, sizeof(double[ONE][ONE]));
    for (int64_t i = 0; i < N; i++) {
        double z[ONE], w = weights ? (double)weights[i] : 1;
        for (int j = 0; j < D; j++)
            z[j] = (double)p->z[i * D + j];
        z[D] = 1;
        total += w;
        for (int j = 0; j < ONE; j++)
            for (int k = 0; k < ONE; k++)
                G[j][k] += w * z[j] * z[k];
    }
    for (int j = 0; j < ONE; j++)
        trace += G[j][j] / total;
    for (int j = 0; j < ONE; j++) {
        for (int k = 0; k < ONE; k++)
            G[j][k] /= total;
        G[j][j] += fmax(lambda, 1e-5 * trace / ONE);
    }
}

static void check_inverse(ll_context *ctx, const problem *p, const float *weights, double lambda, double tolerance) {
    static double G[ONE][ONE];
    int64_t ld = lli_kernels_stride(D);
    double *u = problem_room(K * ld, sizeof *u), *back = problem_room(K * ld, sizeof *back);
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < ONE; j++)
            u[k * ld + j] = check_uniform(7, k * ONE + j) - 0.5;
    double *theta = problem_room(K * ld, sizeof *theta);
    memcpy(theta, u, (size_t)(K * ld) * sizeof *u);
    lli_precondition *c;
    CHECK_OK(ctx, lli_precondition_new(&c, ctx, p->data, K, lambda, NULL));
    CHECK_OK(ctx, lli_precondition_theta(ctx, c, theta));
    plain(G, p, weights, lambda);
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < ONE; j++)
            for (int64_t i = 0; i < ONE; i++)
                back[k * ld + j] += G[j][i] * theta[k * ld + i];
    CHECK_OK(ctx, lli_precondition_gradient(ctx, c, back));
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < ONE; j++)
            CHECK_NEAR(back[k * ld + j], u[k * ld + j], tolerance); /* z is summed in f32, 64 rows at a time */
    lli_precondition_free(c);
    free(u);
    free(back);
    free(theta);
}

static void test_inverse(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, N, D, K);
        check_inverse(ctx, &p, NULL, 0.5, 1e-4);
        check_inverse(ctx, &p, NULL, 0, 1e-4);
        float weights[N];
        for (int64_t i = 0; i < N; i++)
            weights[i] = 0.5f + (float)(i % 4);
        ll_array w = ll_array_view(weights, LL_DTYPE_F32, 1, (int64_t[]){N});
        CHECK_OK(ctx, ll_dataset_weigh(ctx, p.data, &w, NULL));
        check_inverse(ctx, &p, weights, 0.1, 1e-4);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* A feature that repeats another leaves one direction to the floor alone: half of it, or twice, would be seen there. */
static void test_floor(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    for (int64_t i = 0; i < N; i++)
        p.z[i * D + D - 1] = p.z[i * D];
    ll_dataset_free(p.data);
    ll_array labels = ll_array_view(p.y, LL_DTYPE_I64, 1, &p.N);
    CHECK_OK(ctx, ll_dataset_new(&p.data, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &labels, K));
    check_inverse(ctx, &p, NULL, 0, 0.05);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Features whose squares leave f32 in every column but the first are refused: each pivot is looked at. */
static void test_overflow(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    float z[4 * 3] = {1, 0, 1e25f, 2, 0, 1e25f, 3, 0, -1e25f, 4, 0, 1e25f};
    int64_t y[4] = {0, 1, 0, 1};
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, (int64_t[]){4});
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){4, 3}), &labels, 2));
    lli_precondition *c;
    CHECK_FAILS(ctx, LL_ERR_DIVERGED, "too large", lli_precondition_new(&c, ctx, data, 2, 1, NULL));
    assert_null(c);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inverse), cmocka_unit_test(test_floor), cmocka_unit_test(test_overflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
