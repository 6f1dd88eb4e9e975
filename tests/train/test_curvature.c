/* SPDX-License-Identifier: MIT */
/* The Hessian of a head against finite differences of the objective's gradient, its factors against plain loops. */
#include "train/curvature.h"

#include <math.h>

#include "data/dataset.h"
#include "kernels/kernels.h"
#include "linear/linear.h"
#include "model/head.h"
#include "problem.h"
#include "train/solve.h"

enum { N = 150, D = 3, K = 4, M = D + 1, ALL = K * M };

static void weigh(problem *p, float *weights) {
    for (int64_t i = 0; i < N; i++)
        weights[i] = 0.5f + (float)(i % 3);
    p->data->weights = weights;
    p->data->weight_sum = 0;
    for (int64_t i = 0; i < N; i++)
        p->data->weight_sum += (double)weights[i];
}

static double weight_of(const problem *p, int64_t i) {
    return p->data->weights ? (double)p->data->weights[i] : 1;
}

/* p of row i in long double. */
static void softmax(long double *out, const problem *p, const ll_head *head, int64_t i) {
    long double sum = 0;
    for (int k = 0; k < K; k++) {
        long double logit = (long double)head->b[k];
        for (int j = 0; j < D; j++)
            logit += (long double)head->W[k * D + j] * (long double)p->z[i * D + j];
        sum += out[k] = expl(logit);
    }
    for (int k = 0; k < K; k++)
        out[k] /= sum;
}

static double feature(const problem *p, int64_t i, int j) {
    return j < D ? (double)p->z[i * D + j] : 1;
}

/* sum w L_n (x) z z' by plain loops. */
static void plain(long double h[ALL][ALL], const problem *p, const ll_head *head) {
    memset(h, 0, sizeof(long double[ALL][ALL]));
    for (int64_t i = 0; i < N; i++) {
        long double q[K];
        softmax(q, p, head, i);
        for (int a = 0; a < ALL; a++)
            for (int b = 0; b < ALL; b++) {
                long double L = (a / M == b / M ? q[a / M] : 0) - q[a / M] * q[b / M];
                h[a][b] += (long double)(weight_of(p, i) * feature(p, i, a % M) * feature(p, i, b % M)) * L;
            }
    }
}

static void check_all(ll_context *ctx, const problem *p, const ll_head *head) {
    static long double expected[ALL][ALL];
    const lli_curvature_head h = {K, head->W, head->b};
    double *full = calloc(ALL * ALL, sizeof *full), *diagonal = calloc(ALL, sizeof *diagonal), total = 0;
    plain(expected, p, head);
    CHECK_OK(ctx, lli_curvature_full(ctx, full, p->data, &h));
    CHECK_OK(ctx, lli_curvature_diagonal(ctx, diagonal, p->data, &h));
    for (int a = 0; a < ALL; a++)
        for (int b = 0; b < ALL; b++) {
            CHECK_NEAR(full[a * ALL + b], (double)expected[a][b], 1e-4);
            if (a == b)
                CHECK_NEAR(diagonal[a], (double)expected[a][a], 1e-4);
        }
    for (int64_t i = 0; i < N; i++)
        total += weight_of(p, i);
    for (int diagonal_b = 0; diagonal_b < 2; diagonal_b++) {
        lli_curvature c;
        CHECK_OK(ctx, lli_curvature_init(ctx, &c, p->data, &h, diagonal_b));
        for (int a = 0; a < K; a++) /* the bias of every row is 1, so the Hessian of the biases is B, and the last element of A is 1 */
            for (int b = 0; b < K; b++) {
                double B = diagonal_b ? (a == b ? c.b[a] : (double)expected[a * M + D][b * M + D]) : 0;
                for (int i = 0; i < K && !diagonal_b; i++)
                    B += c.b[i] * c.U[i * K + a] * c.U[i * K + b];
                CHECK_NEAR(B, (double)expected[a * M + D][b * M + D], 1e-4);
            }
        for (int a = 0; a < M; a++)
            for (int b = 0; b < M; b++) {
                double A = 0, sum = 0;
                for (int j = 0; j < M; j++)
                    A += c.a[j] * c.V[j * M + a] * c.V[j * M + b];
                for (int64_t i = 0; i < N; i++)
                    sum += weight_of(p, i) * feature(p, i, a) * feature(p, i, b);
                CHECK_NEAR(A, sum / total, 1e-12);
            }
        lli_curvature_release(&c);
    }
    free(full);
    free(diagonal);
}

static void test_plain_loops(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, N, D, K);
        ll_head *saturated = problem_head(ctx, K, D, 6, 200);
        float weights[N];
        check_all(ctx, &p, p.head);
        check_all(ctx, &p, saturated);
        weigh(&p, weights);
        check_all(ctx, &p, p.head);
        p.data->weights = NULL;
        ll_head_free(saturated);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* Column by column: how the gradient of N times the objective moves with one parameter. */
static void test_differences(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    const lli_curvature_head h = {K, p.head->W, p.head->b};
    int64_t ld = lli_kernels_stride(D);
    double full[ALL * ALL], step = 0x1p-6, value;
    double *theta = calloc((size_t)(K * ld), sizeof *theta), *up = calloc((size_t)(K * ld), sizeof *up),
           *down = calloc((size_t)(K * ld), sizeof *down);
    lli_objective *objective;
    CHECK_OK(ctx, lli_objective_new(&objective, ctx, p.data, K, 0));
    CHECK_OK(ctx, lli_curvature_full(ctx, full, p.data, &h));
    for (int k = 0; k < K; k++)
        for (int j = 0; j < M; j++)
            theta[k * ld + j] = (double)(j < D ? p.head->W[k * D + j] : p.head->b[k]);
    for (int a = 0; a < ALL; a++) {
        double *moved = theta + a / M * ld + a % M, before = *moved;
        *moved = before + step;
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, up, theta));
        *moved = before - step;
        CHECK_OK(ctx, lli_objective_run(ctx, objective, &value, down, theta));
        *moved = before;
        for (int b = 0; b < ALL; b++) {
            int64_t at = b / M * ld + b % M;
            CHECK_NEAR(full[a * ALL + b], N * (up[at] - down[at]) / (2 * step), 0.01);
        }
    }
    lli_objective_free(objective);
    free(theta);
    free(up);
    free(down);
    problem_free(&p);
    ll_context_free(ctx);
}

/* <g, to_theta(y)> = <to_white(g), y>: one map is the transpose of the other; and with root 1 it keeps lengths. */
static void test_coordinates(void **state) {
    (void)state;
    static double work[LLI_LINEAR_WORK] __attribute__((aligned(64)));
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    const lli_curvature_head h = {K, p.head->W, p.head->b};
    for (int diagonal_b = 0; diagonal_b < 2; diagonal_b++) {
        lli_curvature c;
        double y[ALL], g[ALL], root[ALL], one[ALL], theta[ALL], white[ALL], spare[ALL], left = 0, right = 0, length = 0, kept = 0;
        CHECK_OK(ctx, lli_curvature_init(ctx, &c, p.data, &h, diagonal_b));
        for (int i = 0; i < ALL; i++) {
            y[i] = (double)problem_number(7, i);
            g[i] = (double)problem_number(8, i);
            root[i] = 1.5 + (double)problem_number(9, i);
            one[i] = 1;
        }
        lli_curvature_to_theta(&c, theta, y, root, spare, work);
        lli_curvature_to_white(&c, white, g, root, spare, work);
        for (int i = 0; i < ALL; i++) {
            left += g[i] * theta[i];
            right += white[i] * y[i];
        }
        CHECK_NEAR(left, right, 1e-12);
        for (int i = 0; i < ALL; i++)
            white[i] = y[i] * root[i];
        lli_curvature_to_theta(&c, white, white, one, spare, work); /* in place */
        for (int i = 0; i < ALL; i++)
            CHECK_NEAR(white[i], theta[i], 1e-12);
        lli_curvature_to_theta(&c, theta, y, one, spare, work);
        for (int i = 0; i < ALL; i++) {
            length += y[i] * y[i];
            kept += theta[i] * theta[i];
        }
        CHECK_NEAR(kept, length, 1e-12);
        lli_curvature_release(&c);
    }
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_loops),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
